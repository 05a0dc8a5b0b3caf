package lockfile_test

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-c461eb89/nodelock/compat/lockfile"
	"github.com/seed-c461eb89/nodelock/compat/nodeerror"
)

// functions are all that take a path, by name. They return the error.
var functions = map[string]func(path string) error{
	"Lock": func(path string) error {
		_, err := lockfile.Lock(context.Background(), path, lockfile.Options{})
		return err
	},
	"LockSync": func(path string) error {
		_, err := lockfile.LockSync(path, lockfile.Options{})
		return err
	},
	"Unlock": lockfile.Unlock,
	"Check": func(path string) error {
		_, err := lockfile.Check(path, lockfile.Options{})
		return err
	},
	"CheckSync": func(path string) error {
		_, err := lockfile.CheckSync(path, lockfile.Options{Stale: time.Second})
		return err
	},
}

// syscalls are the calls that the functions fail in.
var syscalls = map[string]string{
	"Lock": "open", "LockSync": "open", "Unlock": "unlink", "Check": "open", "CheckSync": "open",
}

// TestBadPath gives every function paths that cannot be: the error is Node's and Go's,
// and nothing is created or left open.
func TestBadPath(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, path, code string
		is               error
		missing          bool // which is an answer, and no error, to all but the locks
	}{
		{"empty", "", "ENOENT", fs.ErrNotExist, true},
		{"missing parent", filepath.Join(dir, "no", "a.lock"), "ENOENT", fs.ErrNotExist, true},
		{"parent is a file", filepath.Join(file, "a.lock"), "ENOTDIR", nil, false},
		{"long name", filepath.Join(dir, strings.Repeat("x", 256)), "ENAMETOOLONG", nil, false},
		{"long path", dir + strings.Repeat("/x", 4096), "ENAMETOOLONG", nil, false},
		{"NUL", filepath.Join(dir, "a\x00b"), "ERR_INVALID_ARG_VALUE", nil, false},
	}
	if runtime.GOOS == "windows" {
		// Windows reports these as names that are not there.
		for i := range tests[:5] {
			tests[i].code, tests[i].missing, tests[i].is = "ENOENT", true, fs.ErrNotExist
		}
	}
	for _, test := range tests {
		for name, call := range functions {
			t.Run(test.name+"/"+name, func(t *testing.T) {
				before := openDescriptors(t)
				err := call(test.path)
				if test.missing && !strings.HasPrefix(name, "Lock") {
					if err != nil {
						t.Errorf("err = %v", err)
					}
					return
				}
				var e *lockfile.Error
				if !errors.As(err, &e) {
					t.Fatalf("err = %v, which is no *Error", err)
				}
				if e.Code != test.code || e.Path != test.path {
					t.Errorf("code %s, path %q", e.Code, e.Path)
				}
				if test.code != "ERR_INVALID_ARG_VALUE" && e.Syscall != syscalls[name] {
					t.Errorf("syscall %q", e.Syscall)
				}
				if test.is != nil && !errors.Is(err, test.is) {
					t.Errorf("%v is not %v", err, test.is)
				}
				var pathErr *fs.PathError
				if !errors.As(err, &pathErr) || pathErr.Path != test.path {
					t.Errorf("no PathError in %v", err)
				}
				if strings.ContainsRune(err.Error(), 0) {
					t.Errorf("a NUL reaches the text: %q", err)
				}
				if after := openDescriptors(t); after != before {
					t.Errorf("%d descriptors open, before %d", after, before)
				}
			})
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("something was created: %v %v", entries, err)
	}
}

// openDescriptors counts them where the system tells.
func openDescriptors(t *testing.T) int {
	t.Helper()
	if runtime.GOOS != "linux" {
		return 0
	}
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// TestDurations gives the options their extremes.
func TestDurations(t *testing.T) {
	const never = time.Duration(math.MaxInt64)
	tests := []struct {
		name    string
		options lockfile.Options
		age     time.Duration // of a lock that is held, by mtime
		code    string        // "" is success
	}{
		{"negative wait", lockfile.Options{Wait: -1}, 0, "EEXIST"},
		{"negative retries", lockfile.Options{Retries: math.MinInt}, 0, "EEXIST"},
		{"negative poll period", lockfile.Options{Wait: 3 * time.Millisecond, PollPeriod: math.MinInt64}, 0, "EEXIST"},
		{"negative retry wait", lockfile.Options{Retries: 1, RetryWait: math.MinInt64}, 0, "EEXIST"},
		{"negative stale", lockfile.Options{Stale: -time.Hour}, 0, ""},
		{"most negative stale", lockfile.Options{Stale: math.MinInt64}, 0, ""},
		{"greatest stale", lockfile.Options{Stale: never}, 24 * time.Hour, "EEXIST"},
		{"future", lockfile.Options{Stale: time.Millisecond}, -time.Hour, "EEXIST"},
	}
	lockfile.SetFiletime(lockfile.Mtime)
	defer lockfile.SetFiletime(lockfile.Ctime)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := held(t, test.age)
			_, err := lockfile.Lock(t.Context(), path, test.options)
			if code(err) != test.code {
				t.Errorf("err = %v, not %q", err, test.code)
			}
			lockfile.UnlockSync(path)
			lockfile.UnlockSync(path + ".STALE")
		})
	}
	t.Run("greatest wait", func(t *testing.T) {
		for _, options := range []lockfile.Options{
			{Wait: never}, {Wait: never, PollPeriod: never}, {Retries: math.MaxInt, RetryWait: never},
		} {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			if _, err := lockfile.Lock(ctx, held(t, 0), options); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%+v: err = %v", options, err)
			}
			cancel()
		}
	})
}

// The largest threshold of LockSync is not rounded up beyond all durations (L20).
func TestLockSyncGreatestStale(t *testing.T) {
	for _, stale := range []time.Duration{math.MaxInt64, math.MaxInt64 - 1, math.MaxInt64 - time.Second/2} {
		path := held(t, 0)
		whole := time.Now().Truncate(time.Second)
		if err := os.Chtimes(path, whole, whole); err != nil {
			t.Fatal(err)
		}
		if _, err := lockfile.LockSync(path, lockfile.Options{Stale: stale, Filetime: lockfile.Mtime}); !errors.Is(err, lockfile.ErrLocked) {
			t.Errorf("%v: %v", stale, err)
		}
	}
}

// A number of milliseconds that was not converted is refused by every function, and the
// text says how to write it.
func TestUnconvertedMilliseconds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.lock")
	for name, o := range map[string]lockfile.Options{
		"Wait": {Wait: 2000}, "PollPeriod": {PollPeriod: 100}, "Stale": {Stale: 60000}, "RetryWait": {RetryWait: 999999},
	} {
		shared := lockfile.Share(o)
		for _, call := range []func() error{
			func() error { _, err := lockfile.Lock(t.Context(), path, o); return err },
			func() error { _, err := lockfile.LockSync(path, o); return err },
			func() error { _, err := lockfile.Check(path, o); return err },
			func() error { _, err := lockfile.CheckSync(path, o); return err },
			func() error { _, err := shared.Lock(t.Context(), path); return err },
			func() error { _, err := shared.LockSync(path); return err },
			func() error { _, err := shared.Check(path); return err },
			func() error { _, err := shared.CheckSync(path); return err },
		} {
			err := call()
			if !errors.Is(err, nodeerror.ErrOutOfRange) || !strings.Contains(err.Error(), strconv.Quote(name)) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	_, err := lockfile.Lock(t.Context(), path, lockfile.Options{Stale: 60000})
	if text := "60000 milliseconds are written 60000 * time.Millisecond"; !strings.Contains(err.Error(), text) {
		t.Errorf("%v; want %s", err, text)
	}
	if _, err := lockfile.Check(path, lockfile.Options{Filetime: 3}); !errors.Is(err, nodeerror.ErrOutOfRange) {
		t.Error(err)
	}
	if _, err := os.Lstat(path); err == nil {
		t.Error("something was created")
	}
}

// Each call can have a file time of its own (L22).
func TestFiletimeOfACall(t *testing.T) {
	path := held(t, time.Hour) // by mtime: the ctime is now
	for filetime, want := range map[lockfile.Filetime]bool{lockfile.Ctime: true, lockfile.Mtime: false} {
		o := lockfile.Options{Stale: time.Minute, Filetime: filetime}
		if locked, err := lockfile.Check(path, o); err != nil || locked != want {
			t.Errorf("Check by %d: %v, %v", filetime, locked, err)
		}
	}
	if lockfile.CurrentFiletime() != lockfile.Ctime && runtime.GOOS != "windows" {
		t.Error("the process's file time has changed")
	}
}

// held makes a lock file of an age.
func held(t testing.TB, age time.Duration) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.lock")
	if err := os.WriteFile(path, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	then := time.Now().Add(-age)
	if err := os.Chtimes(path, then, then); err != nil {
		t.Fatal(err)
	}
	return path
}

func code(err error) string {
	var e *lockfile.Error
	if errors.As(err, &e) {
		return e.Code
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

func TestSyncWait(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.lock")
	for _, options := range []lockfile.Options{{Wait: time.Second}, {Wait: -1}, {RetryWait: time.Second}} {
		if _, err := lockfile.LockSync(path, options); !errors.Is(err, lockfile.ErrSyncWait) {
			t.Errorf("LockSync %+v: err = %v", options, err)
		}
	}
	if _, err := lockfile.CheckSync(path, lockfile.Options{Wait: time.Second}); !errors.Is(err, lockfile.ErrSyncWait) {
		t.Errorf("CheckSync: err = %v", err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("something was created: %v", err)
	}
}

// An options object that is shared keeps what calls write into it; one that is passed
// by value does not.
func TestSharedOptions(t *testing.T) {
	path := held(t, 0)
	shared := lockfile.Share(lockfile.Options{Retries: 2})
	if _, err := shared.Lock(t.Context(), path); code(err) != "EEXIST" {
		t.Fatal(err)
	}
	if after := shared.Options(); after != (lockfile.Options{}) {
		t.Errorf("Lock left %+v", after)
	}
	shared = lockfile.Share(lockfile.Options{Retries: 2})
	if _, err := shared.LockSync(path); code(err) != "EEXIST" {
		t.Fatal(err)
	}
	if after := shared.Options(); after != (lockfile.Options{}) {
		t.Errorf("LockSync left %+v", after)
	}
	if locked, err := shared.Check(path); !locked || err != nil {
		t.Errorf("Check: %v %v", locked, err)
	}
	if locked, err := shared.CheckSync(path); !locked || err != nil {
		t.Errorf("CheckSync: %v %v", locked, err)
	}
	options := lockfile.Options{Retries: 2}
	before := options
	if _, err := lockfile.Lock(t.Context(), path, options); code(err) != "EEXIST" || options != before {
		t.Errorf("Lock changed its caller's options to %+v (%v)", options, err)
	}
}

// TestContention has goroutines of one process exclude each other (L26), while the
// file time is switched under them (L22).
func TestContention(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.lock")
	defaultFiletime := lockfile.CurrentFiletime()
	defer lockfile.SetFiletime(defaultFiletime)
	var (
		wait   sync.WaitGroup
		inside atomic.Int32
		count  int
	)
	const goroutines, rounds = 8, 25
	for range goroutines {
		wait.Go(func() {
			for i := range rounds {
				options := lockfile.Options{Wait: time.Minute, PollPeriod: time.Millisecond, Stale: time.Hour}
				l, err := lockfile.Lock(t.Context(), path, options)
				if err != nil {
					t.Error(err)
					return
				}
				if inside.Add(1) != 1 {
					t.Error("two inside")
				}
				count++
				lockfile.SetFiletime(lockfile.Ctime + lockfile.Filetime(i%2))
				inside.Add(-1)
				if err := l.Release(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	if count != goroutines*rounds {
		t.Errorf("%d rounds, not %d", count, goroutines*rounds)
	}
}

// A Lock that waits costs no goroutine but its caller's.
func TestWaitingCost(t *testing.T) {
	path := held(t, 0)
	ctx, cancel := context.WithCancel(t.Context())
	const waiting = 100
	before := runtime.NumGoroutine()
	var wait sync.WaitGroup
	for range waiting {
		wait.Go(func() {
			_, err := lockfile.Lock(ctx, path, lockfile.Options{Wait: time.Hour, PollPeriod: time.Hour})
			if !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		if strings.Count(string(stacks), "clock.System.Wait") >= waiting {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("they do not come to wait")
		}
	}
	if now := runtime.NumGoroutine(); now > before+waiting {
		t.Errorf("%d goroutines more for %d that wait", now-before, waiting)
	}
	cancel()
	wait.Wait()
}
