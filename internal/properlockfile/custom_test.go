package properlockfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/seed-c461eb89/nodelock/compat/nodeerror"
	"github.com/seed-c461eb89/nodelock/internal/callerror"
	"github.com/seed-c461eb89/nodelock/internal/clock"
	"github.com/seed-c461eb89/nodelock/internal/exithook"
	"github.com/seed-c461eb89/nodelock/internal/filesystem"
	"github.com/seed-c461eb89/nodelock/internal/retry"
)

// An osFS is made of functions of os. Calls that fault names do what it says instead
// of, or after, what they are for.
type osFS struct {
	mutex sync.Mutex
	calls []string
	fault func(call string, n int) error // n counts the calls of this name, from 1
	after bool
	nils  bool // Stat and Realpath return nothing
}

func (f *osFS) call(name string, do func() error) error {
	f.mutex.Lock()
	f.calls = append(f.calls, name)
	n := 0
	for _, c := range f.calls {
		if c == name {
			n++
		}
	}
	f.mutex.Unlock()
	if f.fault == nil {
		return do()
	}
	if !f.after {
		if err := f.fault(name, n); err != nil {
			return err
		}
		return do()
	}
	if err := do(); err != nil {
		return err
	}
	return f.fault(name, n)
}

func (f *osFS) Mkdir(name string, perm fs.FileMode) error {
	return f.call("mkdir", func() error { return os.Mkdir(name, perm) })
}

func (f *osFS) Rmdir(name string) error {
	return f.call("rmdir", func() error { return os.Remove(name) })
}

func (f *osFS) Utimes(name string, atime, mtime time.Time) error {
	return f.call("utimes", func() error { return os.Chtimes(name, atime, mtime) })
}

func (f *osFS) Stat(name string) (info fs.FileInfo, err error) {
	err = f.call("stat", func() (err error) {
		if !f.nils {
			info, err = os.Stat(name)
		}
		return err
	})
	return info, err
}

func (f *osFS) Realpath(name string) (path string, err error) {
	err = f.call("realpath", func() (err error) {
		if !f.nils {
			path, err = filepath.EvalSymlinks(name)
		}
		return err
	})
	return path, err
}

// A timedClock is the system's and counts the timers that are set.
type timedClock struct {
	quickClock
	mutex  sync.Mutex
	timers map[*timed]bool
}

type timed struct {
	clock.Timer
	clock *timedClock
}

func (c *timedClock) AfterFunc(d time.Duration, f func()) clock.Timer {
	t := &timed{clock: c}
	c.set(t, true)
	t.Timer = c.quickClock.AfterFunc(d, func() { c.set(t, false); f() })
	return t
}

func (c *timedClock) set(t *timed, on bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.timers == nil {
		c.timers = map[*timed]bool{}
	}
	if on {
		c.timers[t] = true
	} else {
		delete(c.timers, t)
	}
}

func (c *timedClock) pending() int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return len(c.timers)
}

func (t *timed) Stop() bool               { t.clock.set(t, false); return t.Timer.Stop() }
func (t *timed) Reset(d time.Duration)    { t.clock.set(t, true); t.Timer.Reset(d) }
func holding(e *Engine) int               { return len(e.held[V4]) + len(e.held[V1]) }
func isThere(path string) bool            { _, err := os.Lstat(path); return err == nil }
func panics(call string, err error) error { panic(fmt.Sprintf("%s: %v", call, err)) }
func newTimed() (*Engine, *timedClock) {
	c := &timedClock{}
	return New(filesystem.OS{}, c, exithook.None{}), c
}
func onlyCall(call string, do func() error) func(string, int) error {
	return func(name string, _ int) error {
		if name == call {
			return do()
		}
		return nil
	}
}

// Whatever fails in an FS, and in whichever way: the call returns an error that says so,
// and there is neither lock nor timer.
func TestFailingFS(t *testing.T) {
	broken := errors.New("broken")
	for _, call := range []string{"realpath", "mkdir", "utimes", "stat"} {
		for _, after := range []bool{false, true} {
			for _, how := range []struct {
				name string
				fail func() error
				text string
			}{
				{"an error", func() error { return broken }, "broken"},
				{"a panic", func() error { return panics(call, broken) }, "the FS panicked, "},
				{"a nil pointer", func() error { var p *os.PathError; return errors.New(p.Op) }, "nil pointer"},
				{"an error that panics", func() error { var p *os.PathError; return p }, "nil pointer"},
			} {
				t.Run(fmt.Sprintf("%s, %s, after %t", call, how.name, after), func(t *testing.T) {
					file := touch(t, t.TempDir(), "f")
					e, c := newTimed()
					own := &osFS{after: after, fault: onlyCall(call, how.fail)}
					for _, lock := range []func() (*Lease, error){
						func() (*Lease, error) { return e.Lock(context.Background(), file, &Options{FS: own}) },
						func() (*Lease, error) { return e.LockSync(file, &Options{FS: own}) },
					} {
						_ = os.Remove(file + ".lock")
						l, err := lock()
						if l != nil || err == nil || !strings.Contains(err.Error(), how.text) {
							t.Errorf("%v, %v", l, err)
						}
					}
					// Only a mkdir that lies leaves what nobody can know of.
					if lies := call == "mkdir" && after; isThere(file+".lock") != lies {
						t.Errorf("the lock is there: %t, want %t", !lies, lies)
					}
					if holding(e) > 0 || c.pending() > 0 {
						t.Errorf("%d locks, %d timers", holding(e), c.pending())
					}
				})
			}
		}
	}
}

func TestFSThatReturnsNothing(t *testing.T) {
	file := touch(t, t.TempDir(), "f")
	e, c := newTimed()
	for noRealpath, what := range map[bool]string{false: "a path", true: "a FileInfo"} {
		o := &Options{FS: &osFS{nils: true}, NoRealpath: noRealpath}
		if _, err := e.Lock(context.Background(), file, o); err == nil || !strings.Contains(err.Error(), "the FS returned neither "+what) {
			t.Errorf("Lock: %v", err)
		}
		if held, err := e.Check(file, o); held || err == nil {
			t.Errorf("Check: %t, %v", held, err)
		}
	}
	if isThere(file+".lock") || c.pending() > 0 {
		t.Error("a lock or a timer is left")
	}
}

// A heartbeat survives an FS that panics, tries again, and gives up past the threshold.
func TestHeartbeatOfPanickingFS(t *testing.T) {
	for _, contract := range []Contract{V4, V1} {
		file := touch(t, t.TempDir(), "f")
		e, c := newTimed()
		var wall wallClock
		e.clock = &wall
		wall.Clock = c
		call := map[Contract]string{V4: "stat", V1: "utimes"}[contract]
		own := &osFS{fault: func(name string, n int) error {
			if name == call && n > 1 {
				return panics(name, fs.ErrInvalid)
			}
			return nil
		}}
		lost := make(chan error, 1)
		l, err := e.Lock(context.Background(), file, &Options{FS: own, Contract: contract, OnCompromised: func(err error) { lost <- err }})
		if err != nil {
			t.Fatal(err)
		}
		count := func() int {
			own.mutex.Lock()
			defer own.mutex.Unlock()
			return len(own.calls)
		}
		for began := count(); count() < began+5; time.Sleep(time.Millisecond) {
		}
		if err := l.Err(); err != nil {
			t.Fatal(err)
		}
		wall.ahead(11 * time.Second)
		err = <-lost
		if !errors.Is(err, ErrCompromised) || !strings.Contains(err.Error(), "the FS panicked, ") || !errors.Is(err, l.Err()) {
			t.Errorf("lost: %v; Err: %v", err, l.Err())
		}
		if <-l.Done(); c.pending() > 0 || holding(e) > 0 {
			t.Errorf("%d timers, %d locks", c.pending(), holding(e))
		}
		if err := l.Release(); !errors.Is(err, ErrReleased) {
			t.Errorf("Release: %v", err)
		}
	}
}

// A wallClock can be set.
type wallClock struct {
	clock.Clock
	mutex sync.Mutex
	by    time.Duration
}

func (c *wallClock) Now() time.Time {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return time.Now().Add(c.by)
}

func (c *wallClock) ahead(by time.Duration) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.by += by
}

// A release that cannot remove the directory reports it, whatever kind of failure it is.
func TestReleaseOfFailingFS(t *testing.T) {
	file := touch(t, t.TempDir(), "f")
	e, c := newTimed()
	own := &osFS{fault: onlyCall("rmdir", func() error { panic("rmdir") })}
	l, err := e.LockSync(file, &Options{FS: own})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Release(); err == nil || !strings.Contains(err.Error(), "panicked") {
		t.Errorf("Release: %v", err)
	}
	if err := l.NodeRelease(); !errors.Is(err, ErrReleased) {
		t.Errorf("Node's release again: %v", err)
	}
	if c.pending() > 0 || holding(e) > 0 {
		t.Errorf("%d timers, %d locks", c.pending(), holding(e))
	}
	other, err := e.LockSync(file, &Options{FS: own, Stale: time.Nanosecond})
	if other != nil || !errors.Is(err, ErrLocked) {
		t.Errorf("%v, %v", other, err)
	}
	own.fault = nil
	if err := l.Release(); err != nil || isThere(l.Path()) {
		t.Errorf("Release again: %v, still there: %t", err, isThere(l.Path()))
	}
	if err := l.Release(); err != error(ErrReleased) {
		t.Errorf("Release once more: %v", err)
	}
}

// Errors of any kind are what Node would make of them.
func TestErrorsOfFS(t *testing.T) {
	for _, c := range []struct {
		err  error
		code string
		text string
	}{
		{&fs.PathError{Op: "open", Path: "x", Err: syscall.EACCES}, "EACCES", "EACCES: permission denied, mkdir 'p'"},
		{fmt.Errorf("wrapped: %w", &os.SyscallError{Syscall: "mkdir", Err: syscall.ENOSPC}), "ENOSPC", "ENOSPC: no space left on device, mkdir 'p'"},
		{syscall.EEXIST, "EEXIST", "EEXIST: file already exists, mkdir 'p'"},
		{fs.ErrExist, "EEXIST", "EEXIST: file already exists, mkdir 'p'"},
		{fmt.Errorf("no: %w", fs.ErrNotExist), "ENOENT", "ENOENT: no such file or directory, mkdir 'p'"},
		{fs.ErrPermission, "EACCES", "EACCES: permission denied, mkdir 'p'"},
		{callerror.Linux("EIO", "read", "q", ""), "EIO", "EIO: i/o error, read 'q'"},
		{fmt.Errorf("mine: %w", &nodeerror.Error{Code: "EMINE", Message: "m"}), "EMINE", "mine: m"},
		{errors.New("plain"), "", "plain"},
	} {
		err := described("mkdir", "p", c.err)
		if nodeerror.Code(err) != c.code || err.Error() != c.text || !errors.Is(err, c.err) {
			t.Errorf("%v: code %q, text %q", c.err, nodeerror.Code(err), err)
		}
	}
	if described("mkdir", "p", nil) != nil {
		t.Error("nil is an error")
	}
}

// An FS is remembered, among a number of them. One that cannot be compared is not.
func TestPrecisionOfFS(t *testing.T) {
	var p precisions
	first := &osFS{}
	known := p.of(first)
	known.set(seconds)
	if known.set(milliseconds); p.of(first).get() != seconds {
		t.Error("not remembered, or not for good")
	}
	for range maxRemembered - 1 {
		p.of(&osFS{})
	}
	if p.of(first) != known {
		t.Error("forgotten too early")
	}
	for range 10 * maxRemembered {
		if p.of(&osFS{}); len(p.others) > maxRemembered {
			t.Fatalf("%d are remembered", len(p.others))
		}
	}
	if p.of(first).get() != unknown {
		t.Error("not forgotten")
	}
	p.of(nil).set(seconds)
	if p.of(nil).get() != seconds {
		t.Error("the system's is not remembered")
	}
	if known := p.of(incomparable{}); known != nil {
		t.Error("remembered what cannot be compared")
	}
	(*knownPrecision)(nil).set(seconds)
	if (*knownPrecision)(nil).get() != unknown {
		t.Error("nothing is known")
	}

	file := touch(t, t.TempDir(), "f")
	e, _ := newTimed()
	own := &incomparable{osFS: &osFS{}}
	for range 2 {
		l, err := e.Lock(context.Background(), file, &Options{FS: *own})
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Release(); err != nil {
			t.Fatal(err)
		}
	}
	probed := []string{"realpath", "mkdir", "utimes", "stat", "rmdir"}
	if diff := cmp.Diff(slices.Concat(probed, probed), own.calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

type incomparable struct {
	*osFS
	_ []int
}

// The heartbeat of a lock that another one armed goes by that one's options: by its FS
// too (P2).
func TestHeartbeatGoesByAnothersOptions(t *testing.T) {
	for _, contract := range []Contract{V4, V1} {
		w := newManual()
		e := New(filesystem.OS{}, w, exithook.None{})
		file := touch(t, t.TempDir(), "f")
		first, second := &osFS{}, &osFS{}
		lock := func(o Options) *Lease {
			o.Contract = contract
			l, err := e.Lock(context.Background(), file, &o)
			if err != nil {
				t.Fatal(err)
			}
			return l
		}
		a := lock(Options{FS: first, LockfilePath: file + ".a"})
		if contract == V1 {
			if err := os.Remove(a.Path()); err != nil {
				t.Fatal(err)
			}
		}
		b := lock(Options{FS: second, LockfilePath: file + ".b", Stale: 4 * time.Second})
		// Both heartbeats have begun when the first ends.
		second.fault = func(string, int) error {
			if second.fault = nil; contract == V4 {
				second.calls = nil
			}
			w.fire(0)
			return nil
		}
		w.fire(1)
		first.calls, second.calls = nil, nil
		w.fire(1)
		want := map[Contract][]string{V4: {"stat", "utimes"}, V1: {"utimes"}}[contract]
		if diff := cmp.Diff(want, first.calls); diff != "" || len(second.calls) > 0 {
			t.Errorf("%v: second %v, first (-want +got):\n%s", contract, second.calls, diff)
		}
		if got := w.timers[1].after; got != 5*time.Second {
			t.Errorf("%v: the next heartbeat follows after %v", contract, got)
		}
		if err := b.Release(); err != nil {
			t.Error(err)
		}
	}
}

// A manual clock's timers fire when they are told to.
type manual struct {
	quickClock
	timers []*manualTimer
}

type manualTimer struct {
	after time.Duration
	set   bool
	call  func()
}

func newManual() *manual { return &manual{} }

func (m *manual) AfterFunc(d time.Duration, f func()) clock.Timer {
	t := &manualTimer{after: d, set: true, call: f}
	m.timers = append(m.timers, t)
	return t
}

func (m *manual) fire(i int) {
	if t := m.timers[i]; t.set {
		t.set = false
		t.call()
	}
}

func (t *manualTimer) Stop() bool            { was := t.set; t.set = false; return was }
func (t *manualTimer) Reset(d time.Duration) { t.after, t.set = d, true }

// A timer that fires although it was stopped, because it was too late, changes nothing.
func TestTimerStoppedTooLate(t *testing.T) {
	w := newManual()
	e := New(filesystem.OS{}, w, exithook.None{})
	own := &osFS{}
	l, err := e.LockSync(touch(t, t.TempDir(), "f"), &Options{FS: own})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	own.calls = nil
	w.timers[0].call()
	if len(own.calls) > 0 {
		t.Errorf("calls %v", own.calls)
	}
}

// Answers beside an error mean nothing, and are no.
func TestCheckFails(t *testing.T) {
	file := touch(t, t.TempDir(), "f")
	e, _ := newTimed()
	bad := &Options{FS: &osFS{fault: onlyCall("stat", func() error { return syscall.EIO })}}
	for what, check := range map[string]func() (bool, error){
		"stat":      func() (bool, error) { return e.Check(file, bad) },
		"realpath":  func() (bool, error) { return e.Check(file+"no", &Options{}) },
		"retries":   func() (bool, error) { return e.CheckSync(file, &Options{Retries: retry.Options{Count: 1}}) },
		"null byte": func() (bool, error) { return e.Check("a\x00b", &Options{}) },
		"no realpath, null byte": func() (bool, error) {
			return e.Check("a\x00b", &Options{NoRealpath: true})
		},
	} {
		if held, err := check(); held || err == nil {
			t.Errorf("%s: %t, %v", what, held, err)
		}
	}
}

// A lock whose release ended another one has ended itself, although Node does not count
// it as released (P15, P16).
func TestReleaseOfForgottenLock(t *testing.T) {
	e, c := newTimed()
	file := touch(t, t.TempDir(), "f")
	lock := func(path string) *Lease {
		l, err := e.LockSync(file, &Options{LockfilePath: file + path})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	first, second := lock(".a"), lock(".b")
	if err := first.Release(); err != nil {
		t.Fatal(err)
	}
	for _, l := range []*Lease{first, second} {
		<-l.Done()
		if l.Err() != error(ErrReleased) {
			t.Errorf("%s: Err %v", l.Path(), l.Err())
		}
	}
	if err := first.NodeRelease(); err != error(ErrNotAcquired) {
		t.Errorf("released again by Node's function: %v", err)
	}
	if err := first.Release(); err != error(ErrReleased) {
		t.Errorf("released again: %v", err)
	}
	if err := second.Release(); err != error(ErrReleased) {
		t.Errorf("the other is released: %v", err)
	}
	if c.pending() > 0 || holding(e) > 0 {
		t.Errorf("%d timers, %d locks", c.pending(), holding(e))
	}
}
