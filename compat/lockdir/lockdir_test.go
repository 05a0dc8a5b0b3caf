package lockdir_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/seed-c461eb89/nodelock/compat/lockdir"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// newDirectory returns a lock in a directory of its own.
func newDirectory(t *testing.T, o lockdir.Options) *lockdir.Lock {
	t.Helper()
	lock, err := lockdir.NewDirectory(filepath.Join(t.TempDir(), "a.lockdir"), "a", o)
	must(t, err)
	return lock
}

func acquire(t *testing.T, lock *lockdir.Lock) *lockdir.Lease {
	t.Helper()
	lease, err := lock.Acquire(context.Background())
	must(t, err)
	return lease
}

func nothingLeft(t *testing.T, dir string) {
	t.Helper()
	left, err := os.ReadDir(dir)
	must(t, err)
	if len(left) > 0 {
		t.Errorf("%s was left", left[0].Name())
	}
}

// The whole of it on the system's files: where the lock is, what is in it, and that it
// goes.
func TestVault(t *testing.T) {
	vault := t.TempDir()
	must(t, os.Mkdir(filepath.Join(vault, "notes"), 0o777))
	note := filepath.Join(vault, "notes", "topic.md")
	lock, err := lockdir.New(vault, note, lockdir.Options{})
	must(t, err)
	real, err := filepath.EvalSymlinks(vault)
	must(t, err)
	want := filepath.Join(real, ".palee", "locks", "3bfdc2136ecb82e4fa1b805100d48ee9baafea2243c04eaa96ed6f45531dcf8b.lockdir")
	if lock.Dir() != want {
		t.Errorf("the lock is %s, want %s", lock.Dir(), want)
	}
	began := time.Now()
	lease := acquire(t, lock)
	if !regexp.MustCompile(`^L-\d{8}T\d{6}-[0-9a-f]{8}$`).MatchString(lease.ID()) {
		t.Errorf("the id is %s", lease.ID())
	}
	record := filepath.Join(want, lease.ID()+".json")
	text, err := os.ReadFile(record)
	must(t, err)
	var fields struct {
		LockID    string    `json:"lock_id"`
		Target    string    `json:"target"`
		Pid       int       `json:"pid"`
		Hostname  string    `json:"hostname"`
		CreatedAt time.Time `json:"created_at"`
	}
	must(t, json.Unmarshal(text, &fields))
	name, err := os.Hostname()
	must(t, err)
	if fields.LockID != lease.ID() || fields.Target != note || fields.Pid != os.Getpid() || fields.Hostname != name {
		t.Errorf("the record is %s", text)
	}
	if age := fields.CreatedAt.Sub(began); age < -time.Second || age > time.Minute {
		t.Errorf("created_at is %v, the call was at %v", fields.CreatedAt, began)
	}
	if strings.HasSuffix(string(text), "\n") {
		t.Error("the record ends in a newline")
	}
	if err := lease.Verify(context.Background()); err != nil || lease.Err() != nil {
		t.Errorf("verify: %v, %v", err, lease.Err())
	}
	if _, err := lock.Acquire(context.Background()); !errors.Is(err, lockdir.ErrHeld) || lockdir.ExitCode(err) != 4 {
		t.Errorf("a second acquisition: %v", err)
	}
	must(t, lease.Release())
	nothingLeft(t, filepath.Dir(want))
	select {
	case <-lease.Done():
	default:
		t.Error("Done is not closed")
	}
	if err := lease.Release(); err != lockdir.ErrReleased || lease.Err() != lockdir.ErrReleased {
		t.Errorf("released twice: %v, %v", err, lease.Err())
	}
	if err := lease.Verify(context.Background()); err != lockdir.ErrReleased {
		t.Errorf("verify after release: %v", err)
	}
}

// What New refuses creates nothing.
func TestRefused(t *testing.T) {
	vault := t.TempDir()
	for _, test := range []struct {
		name, vault, target string
		options             lockdir.Options
		code                string
	}{
		{"no target", vault, "", lockdir.Options{}, "ERR_INVALID_ARG_VALUE"},
		{"no vault", "", "a", lockdir.Options{}, "ERR_INVALID_ARG_VALUE"},
		{"a NUL in the target", vault, "a\x00b", lockdir.Options{}, "ERR_INVALID_ARG_VALUE"},
		{"a NUL in the vault", vault + "\x00", "a", lockdir.Options{}, "ERR_INVALID_ARG_VALUE"},
		{"a target that is not UTF-8", vault, filepath.Join(vault, "caf\xe9.md"), lockdir.Options{}, "EILSEQ"},
		{"an option out of range", vault, "a", lockdir.Options{Stale: time.Second}, "ERR_OUT_OF_RANGE"},
	} {
		_, err := lockdir.New(test.vault, test.target, test.options)
		var e *lockdir.Error
		if !errors.As(err, &e) || e.Code != test.code {
			t.Errorf("%s: %v, want %s", test.name, err, test.code)
		}
		if text := err.Error(); !utf8.ValidString(text) || strings.Contains(text, "\x00") {
			t.Errorf("%s: the text is not escaped: %q", test.name, err)
		}
	}
	if _, err := lockdir.NewDirectory(vault, "a", lockdir.Options{}); err == nil {
		t.Error("a directory with another name was taken")
	}
	nothingLeft(t, vault)
}

// A call that waits stops at once when its context ends, and leaves nothing behind.
func TestCancelled(t *testing.T) {
	cause := errors.New("enough")
	ended, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	lock := newDirectory(t, lockdir.Options{})
	for _, call := range []func(context.Context) (*lockdir.Lease, error){lock.Acquire, lock.AcquireWait} {
		if _, err := call(ended); err != cause {
			t.Errorf("a context that has ended: %v", err)
		}
	}
	nothingLeft(t, filepath.Dir(lock.Dir()))

	lease := acquire(t, lock)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(context.Background())
		var err error
		done := false
		go func() {
			_, err = lock.AcquireWait(ctx)
			done = true
		}()
		time.Sleep(10 * time.Second) // of the bubble's time
		synctest.Wait()
		if done {
			t.Fatalf("it did not wait: %v", err)
		}
		before := time.Now()
		cancel(cause)
		synctest.Wait()
		if !done || !errors.Is(err, cause) || time.Since(before) != 0 {
			t.Errorf("after the end of the context: %v, %v, after %v", done, err, time.Since(before))
		}
		// The last conflict is in it.
		if !errors.Is(err, lockdir.ErrLocked) || !errors.Is(err, lockdir.ErrHeld) || lockdir.ExitCode(err) != 4 {
			t.Errorf("%v: exit code %d", err, lockdir.ExitCode(err))
		}
		pattern := fmt.Sprintf(`^Lock conflict: .* is locked by PID %d, renewed \S+ in the future, waited 10s: enough$`, os.Getpid())
		if !regexp.MustCompile(pattern).MatchString(err.Error()) {
			t.Errorf("%v; want %s", err, pattern)
		}
	})
	must(t, lease.Release())
	nothingLeft(t, filepath.Dir(lock.Dir()))
}

// A lock that is held is a timer and no goroutine.
func TestHeldLocksHaveNoGoroutine(t *testing.T) {
	before := runtime.NumGoroutine()
	dir := t.TempDir()
	var leases []*lockdir.Lease
	for _, name := range []string{"a", "b", "c", "d"} {
		lock, err := lockdir.NewDirectory(filepath.Join(dir, name+".lockdir"), name, lockdir.Options{})
		must(t, err)
		leases = append(leases, acquire(t, lock))
	}
	if after := runtime.NumGoroutine(); after > before {
		t.Errorf("%d goroutines, and %d before", after, before)
	}
	for _, lease := range leases {
		must(t, lease.Release())
	}
}

// Many goroutines of one process contend as processes do.
func TestGoroutinesContend(t *testing.T) {
	const goroutines, rounds = 8, 10
	lock := newDirectory(t, lockdir.Options{
		Backoff: time.Millisecond, WaitLimit: 3 * time.Millisecond,
		// On Windows a directory that somebody has open may stay a little, and look incoming.
		Incoming: 100 * time.Millisecond,
	})
	counter := 0 // the race detector looks after it as well
	var wait sync.WaitGroup
	for range goroutines {
		wait.Go(func() {
			for range rounds {
				lease, err := lock.AcquireWait(context.Background())
				if err != nil {
					t.Error(err)
					return
				}
				counter++
				if err := lease.Release(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	if counter != goroutines*rounds {
		t.Errorf("counted %d", counter)
	}
	nothingLeft(t, filepath.Dir(lock.Dir()))
}

// A heartbeat and a loss, in real time and with short times.
func TestHeartbeatAndLoss(t *testing.T) {
	lock := newDirectory(t, lockdir.Options{
		Heartbeat: 5 * time.Millisecond, Stale: time.Minute, PutBack: 10 * time.Millisecond,
	})
	lease := acquire(t, lock)
	record := filepath.Join(lock.Dir(), lease.ID()+".json")
	text, err := os.ReadFile(record)
	must(t, err)
	long := time.Now().Add(-time.Hour)
	must(t, os.Chtimes(record, long, long))
	// W6: somebody keeps every processor busy meanwhile.
	var stop atomic.Bool
	for range runtime.GOMAXPROCS(0) {
		go func() {
			for !stop.Load() {
			}
		}()
	}
	defer stop.Store(true)
	deadline := time.Now().Add(30 * time.Second)
	for {
		info, err := os.Stat(record)
		must(t, err)
		if time.Since(info.ModTime()) < time.Minute {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("no heartbeat for 30 s")
		}
		runtime.Gosched()
	}
	if after, err := os.ReadFile(record); err != nil || string(after) != string(text) {
		t.Errorf("a heartbeat has changed the record: %q, %v", after, err)
	}
	must(t, os.Remove(record))
	select {
	case <-lease.Done():
	case <-time.After(30 * time.Second):
		t.Fatal("the loss was not noticed for 30 s")
	}
	if lease.Err() != lockdir.ErrCompromised || lockdir.ExitCode(lease.Err()) != 5 {
		t.Errorf("Err: %v", lease.Err())
	}
	if err := lease.Release(); err != lockdir.ErrCompromised {
		t.Errorf("release of a lost lock: %v", err)
	}
	if _, err := os.Stat(lock.Dir()); err != nil {
		t.Errorf("release of a lost lock has removed the directory: %v", err)
	}
}

// Errors of the system come through, and match io/fs's.
func TestSystemErrors(t *testing.T) {
	lock, err := lockdir.NewDirectory(filepath.Join(t.TempDir(), "none", "a.lockdir"), "a", lockdir.Options{})
	must(t, err)
	_, err = lock.Acquire(context.Background())
	if !errors.Is(err, fs.ErrNotExist) || lockdir.ExitCode(err) != 5 || !strings.HasPrefix(err.Error(), "ENOENT: no such file or directory, mkdir '") {
		t.Errorf("a missing parent: %v", err)
	}
}
