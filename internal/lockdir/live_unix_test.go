//go:build unix

package lockdir_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed-c461eb89/nodelock/internal/clock"
	"github.com/seed-c461eb89/nodelock/internal/exithook"
	"github.com/seed-c461eb89/nodelock/internal/host"
	"github.com/seed-c461eb89/nodelock/internal/lockdir"
	"github.com/seed-c461eb89/nodelock/internal/sim"
)

// The tests here use real processes, which are this test binary again.

// childVariable has what a child is to do, as JSON.
const childVariable = "NODELOCK_LOCKDIR_CHILD"

type task struct {
	Do     string
	Dir    string
	Plain  bool // as if the filesystem could not rename without replacing
	KillAt int  // the call after which the child kills itself; 0: before the first
	Rounds int
	Guard  string
	Count  string
}

func TestMain(m *testing.M) {
	text, ok := os.LookupEnv(childVariable)
	if !ok {
		os.Exit(m.Run())
	}
	var t task
	err := json.Unmarshal([]byte(text), &t)
	if err == nil {
		err = map[string]func(task) error{"hold": hold, "contend": contend, "measure": measure}[t.Do](t)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(lockdir.ExitCode(err))
	}
	os.Exit(0)
}

func child(t task) *exec.Cmd {
	text, err := json.Marshal(t)
	if err != nil {
		panic(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"="+string(text))
	return cmd
}

// calls is the system's filesystem with a hook after every call.
type calls struct {
	plain bool
	after func()
}

func (c calls) do(call sim.Call) sim.Answer {
	if c.after != nil && call.Op != sim.Resolve && call.Op != sim.Realpath {
		defer c.after()
	}
	if c.plain && call.Op == sim.RenameNoReplace {
		return sim.Answer{Code: "EINVAL"}
	}
	return sim.Real(call)
}

func (c calls) lock(dir string, o lockdir.Options) (*lockdir.Lock, error) {
	return lockdir.New(sim.System{Do: c.do}, clock.System{}, host.System{}, lockdir.System(), exithook.None{}).Directory(dir, "target", o)
}

// hold takes the lock and gives it back, and kills itself on the way.
func hold(t task) error {
	left := t.KillAt
	kill := func() {
		if left == 0 {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // until it arrives
		}
		left--
	}
	kill()
	lock, err := calls{plain: t.Plain, after: kill}.lock(t.Dir, lockdir.Options{})
	if err != nil {
		return err
	}
	lease, err := lock.Acquire(context.Background())
	if err != nil {
		return err
	}
	return lease.Release()
}

// deadRecord is a record of a process that is gone.
func deadRecord(t *testing.T) []byte {
	t.Helper()
	cmd := child(task{Do: "hold", Dir: filepath.Join(t.TempDir(), "a.lockdir"), KillAt: 1000})
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	name, err := host.System{}.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]any{"pid": cmd.Process.Pid, "hostname": name})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// A holder is killed after each call that it makes, and before the first. Whoever comes
// next has the lock in the time that the contract gives: at once, or 5 s after the last
// change if the directory is empty or has a quarantine in it, or after 120 s if the record
// does not say whose it is. Nothing of the dead holder stays.
func TestKilledAtEveryStep(t *testing.T) {
	record := deadRecord(t)
	var waiting []killed
	for _, plain := range []bool{false, true} {
		for _, takeover := range []bool{false, true} {
			steps := countCalls(t, plain, takeover, record)
			if steps < 10 {
				t.Fatalf("only %d calls", steps)
			}
			for n := range steps + 1 {
				k := killed{dir: prepare(t, takeover, record)}
				k.name = fmt.Sprintf("plain=%v, takeover=%v, call %d of %d", plain, takeover, n, steps)
				cmd := child(task{Do: "hold", Dir: k.dir, Plain: plain, KillAt: n})
				output, err := cmd.CombinedOutput()
				if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !status.Signaled() {
					t.Fatalf("%s: the holder was not killed: %v: %s", k.name, err, output)
				}
				if !k.recovers(t) {
					waiting = append(waiting, k)
				}
			}
		}
	}
	t.Logf("%d have to be waited for", len(waiting))
	if len(waiting) == 0 {
		t.Error("no directory was left empty, or with a quarantine in it")
	}
	if testing.Short() {
		return // they are under way to 5 s
	}
	for _, k := range waiting {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		lease, err := k.lock.AcquireWait(ctx)
		cancel()
		if err != nil {
			t.Fatalf("%s: nobody could take the lock any more: %v", k.name, err)
		}
		if young := time.Until(k.over); young > 0 {
			t.Errorf("%s: it was taken %v too early", k.name, young)
		}
		k.isFine(t, lease)
	}
	// All of the windows were open at the same time, so that the last one was over long
	// before now if the time was not used up by waiting for something else.
	last := waiting[len(waiting)-1]
	if late := time.Since(last.over); late > 20*time.Second {
		t.Errorf("the last one was taken %v late", late)
	}
}

// killed is what a holder has left behind.
type killed struct {
	name, dir string
	lock      *lockdir.Lock
	over      time.Time // when the incoming window is
}

// recovers takes the lock if that can be done at once, and reports whether it could.
func (k *killed) recovers(t *testing.T) bool {
	t.Helper()
	var err error
	k.lock, err = calls{}.lock(k.dir, lockdir.Options{})
	must(t, err)
	incoming := false
	if names, err := os.ReadDir(k.dir); err == nil {
		incoming = len(names) == 0
		for _, name := range names {
			incoming = incoming || strings.HasSuffix(name.Name(), ".json.quarantine")
			if info, err := name.Info(); err == nil && info.Size() == 0 && strings.HasSuffix(name.Name(), ".json") {
				k.outlive(t, filepath.Join(k.dir, name.Name()))
			}
		}
		info, err := os.Stat(k.dir)
		must(t, err)
		k.over = info.ModTime().Add(5 * time.Second)
	}
	lease, err := k.lock.Acquire(context.Background())
	switch {
	case !incoming:
		if err != nil {
			t.Fatalf("%s: the next one could not have the lock: %v", k.name, err)
		}
		k.isFine(t, lease)
		return true
	case err == nil && time.Now().After(k.over):
		k.isFine(t, lease) // this machine has much else to do
		return true
	case !errors.Is(err, lockdir.ErrIncoming):
		t.Fatalf("%s: a directory that looks incoming: %v", k.name, err)
	}
	return false
}

// isFine looks at the lock that was taken after all, and at what is left after it.
func (k *killed) isFine(t *testing.T, lease *lockdir.Lease) {
	t.Helper()
	must(t, lease.Verify(context.Background()))
	must(t, lease.Release())
	// A staging directory without a record is known to be abandoned when it is old.
	beside, err := filepath.Glob(k.dir + ".*")
	must(t, err)
	long := time.Now().Add(-121 * time.Second)
	for _, path := range beside {
		inside, err := filepath.Glob(filepath.Join(path, "*"))
		must(t, err)
		for _, path := range append(inside, path) {
			must(t, os.Chtimes(path, long, long))
		}
	}
	_, err = calls{}.lock(k.dir, lockdir.Options{})
	must(t, err)
	left, err := os.ReadDir(filepath.Dir(k.dir))
	must(t, err)
	if len(left) > 0 {
		t.Errorf("%s: %s was left", k.name, left[0].Name())
	}
}

// outlive finds that a record that says nothing is held, and makes it as old as it must
// become.
func (k *killed) outlive(t *testing.T, record string) {
	t.Helper()
	for _, age := range []time.Duration{0, 110 * time.Second} {
		at := time.Now().Add(-age)
		must(t, os.Chtimes(record, at, at))
		if _, err := k.lock.Acquire(context.Background()); !errors.Is(err, lockdir.ErrHeld) {
			t.Errorf("%s: a record that says nothing, %v old: %v", k.name, age, err)
		}
	}
	at := time.Now().Add(-121 * time.Second)
	must(t, os.Chtimes(record, at, at))
}

// prepare makes a directory for a takeover, one with a dead record and residue in it.
func prepare(t *testing.T, takeover bool, record []byte) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "a.lockdir")
	if takeover {
		must(t, os.Mkdir(dir, 0o777))
		must(t, os.WriteFile(filepath.Join(dir, "L-1.json"), record, 0o666))
		must(t, os.WriteFile(filepath.Join(dir, "residue"), nil, 0o666))
	}
	return dir
}

func countCalls(t *testing.T, plain, takeover bool, record []byte) int {
	t.Helper()
	n := 0
	lock, err := calls{plain: plain, after: func() { n++ }}.lock(prepare(t, takeover, record), lockdir.Options{})
	must(t, err)
	lease, err := lock.Acquire(context.Background())
	must(t, err)
	must(t, lease.Release())
	return n
}

// contend takes the lock again and again, and looks whether it is alone.
func contend(t task) error {
	lock, err := calls{plain: t.Plain}.lock(t.Dir, lockdir.Options{
		// Short, so that much happens.
		Backoff: time.Millisecond, BackoffLimit: 4 * time.Millisecond, WaitLimit: 4 * time.Millisecond,
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	for i := range t.Rounds {
		lease, err := lock.AcquireWait(ctx)
		if err != nil {
			return err
		}
		guard, err := os.OpenFile(t.Guard, os.O_CREATE|os.O_EXCL, 0o666)
		if err != nil {
			return fmt.Errorf("two hold the lock: %w", err)
		}
		guard.Close()
		if i%4 == 0 {
			if err := lease.Verify(ctx); err != nil {
				return err
			}
		}
		text, err := os.ReadFile(t.Count)
		if err != nil {
			return err
		}
		count, err := strconv.Atoi(string(text))
		if err != nil {
			return err
		}
		if err := os.WriteFile(t.Count, []byte(strconv.Itoa(count+1)), 0o666); err != nil {
			return err
		}
		if err := os.Remove(t.Guard); err != nil {
			return err
		}
		if err := lease.Release(); err != nil {
			return err
		}
	}
	return nil
}

// Several processes, half of which cannot rename without replacing, take one lock.
func TestProcessesContend(t *testing.T) {
	const processes, rounds = 6, 40
	scratch := t.TempDir()
	work := task{Do: "contend", Dir: filepath.Join(scratch, "a.lockdir"), Rounds: rounds,
		Guard: filepath.Join(scratch, "guard"), Count: filepath.Join(scratch, "count")}
	must(t, os.WriteFile(work.Count, []byte("0"), 0o666))
	var children []*exec.Cmd
	outputs := make([]bytes.Buffer, processes)
	for i := range processes {
		work.Plain = i%2 == 1
		cmd := child(work)
		cmd.Stderr = &outputs[i]
		must(t, cmd.Start())
		children = append(children, cmd)
	}
	for i, cmd := range children {
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: %s", err, &outputs[i])
		}
	}
	count, err := os.ReadFile(work.Count)
	must(t, err)
	if want := strconv.Itoa(processes * rounds); string(count) != want {
		t.Errorf("counted %s, want %s: something was lost", count, want)
	}
	must(t, os.Remove(work.Count))
	left, err := os.ReadDir(scratch)
	must(t, err)
	if len(left) > 0 {
		t.Errorf("%s was left", left[0].Name())
	}
}

// A cost is what an acquisition took.
type cost struct {
	Elapsed, CPU time.Duration
	Error        string
	Code         int
}

// measure makes one acquisition and tells what it cost.
func measure(t task) error {
	lock, err := calls{}.lock(t.Dir, lockdir.Options{})
	if err != nil {
		return err
	}
	began, before := time.Now(), cpu()
	_, err = lock.Acquire(context.Background())
	c := cost{Elapsed: time.Since(began), CPU: cpu() - before, Code: lockdir.ExitCode(err)}
	if err != nil {
		c.Error = err.Error()
	}
	return json.NewEncoder(os.Stdout).Encode(c)
}

func cpu() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func costOf(t *testing.T, dir string) cost {
	t.Helper()
	output, err := child(task{Do: "measure", Dir: dir}).Output()
	if err != nil {
		t.Fatal(err)
	}
	var c cost
	must(t, json.Unmarshal(output, &c))
	t.Logf("%v, of which %v CPU: %s", c.Elapsed.Round(time.Millisecond), c.CPU.Round(10*time.Microsecond), c.Error)
	if c.CPU >= 50*time.Millisecond {
		t.Errorf("it took %v of CPU", c.CPU)
	}
	if c.Code != 4 {
		t.Errorf("exit code %d", c.Code)
	}
	return c
}

// A directory in the lock directory: PALEE before ADR-0036 span forever.
func TestCostOfADirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a.lockdir")
	must(t, os.MkdirAll(filepath.Join(dir, "sub", "deeper"), 0o777))
	long := time.Now().Add(-time.Hour)
	must(t, os.Chtimes(dir, long, long))
	c := costOf(t, dir)
	if !strings.HasSuffix(c.Error, ": sub") {
		t.Errorf("the directory is not named: %s", c.Error)
	}
	if c.Elapsed > 5*time.Second {
		t.Errorf("it took %v, and there is nothing to wait for", c.Elapsed)
	}
	if _, err := os.Stat(filepath.Join(dir, "sub", "deeper")); err != nil {
		t.Errorf("something was removed: %v", err)
	}
}

// A file that cannot be removed: five pauses, 950 ms nominally.
func TestCostOfAFileThatStays(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a.lockdir")
	must(t, os.Mkdir(dir, 0o777))
	file := filepath.Join(dir, "stays")
	must(t, os.WriteFile(file, nil, 0o666))
	protect(t, dir, file)
	c := costOf(t, dir)
	if !strings.HasSuffix(c.Error, "would not empty after 5 retries; still present: stays") {
		t.Errorf("the text: %s", c.Error)
	}
	if c.Elapsed < 820*time.Millisecond || c.Elapsed > 10*time.Second {
		t.Errorf("it took %v, and the pauses are 862 ms at the least and 1,035 ms at the most", c.Elapsed)
	}
}

// protect makes a file that this user cannot remove.
func protect(t *testing.T, dir, file string) {
	t.Helper()
	if os.Getuid() == 0 {
		restore, err := makeImmutable(file)
		if err != nil {
			t.Skipf("root can remove everything on %s: %v", runtime.GOOS, err)
		}
		t.Cleanup(func() { must(t, restore()) })
		return
	}
	must(t, os.Chmod(dir, 0o555))
	t.Cleanup(func() { must(t, os.Chmod(dir, 0o777)) })
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
