package mutex

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-c461eb89/nodelock/compat/nodeerror"
	"github.com/seed-c461eb89/nodelock/internal/clock"
	"github.com/seed-c461eb89/nodelock/internal/exithook"
	"github.com/seed-c461eb89/nodelock/internal/filesystem"
	"github.com/seed-c461eb89/nodelock/internal/watch"
)

// participant returns an engine, which is what a process has. Calls that replace those
// of the system are in files.
func participant(files Filesystem) *Engine {
	if files == nil {
		files = filesystem.OS{}
	}
	return New(files, clock.System{}, exithook.None{}, watch.None{})
}

var quick = Options{Stale: 2 * time.Second, Update: 50 * time.Millisecond, Poll: 2 * time.Millisecond}

// protocols are the two, with a function that makes a lock as a Node program does.
var protocols = []struct {
	name   string
	target func(path string) Target
	make   func(path string) error
}{
	{"lockfile", func(path string) Target { return Lockfile(path, func() bool { return false }) }, func(path string) error {
		return os.WriteFile(path, nil, 0o666)
	}},
	{"properlockfile", func(path string) Target {
		return ProperLockfile(filepath.Dir(path), path, false)
	}, func(path string) error { return os.Mkdir(path, 0o777) }},
}

func each(t *testing.T, f func(t *testing.T, p Target, path string, makeLock func() error)) {
	for _, p := range protocols {
		t.Run(p.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.lock")
			before, goroutines := descriptors(t), runtime.NumGoroutine()
			f(t, p.target(path), path, func() error { return p.make(path) })
			if after := descriptors(t); after != before {
				t.Errorf("%d descriptors are open, %d were", after, before)
			}
			// Contexts' and timers' goroutines may be about to end.
			for range 100 {
				if runtime.NumGoroutine() <= goroutines {
					return
				}
				time.Sleep(time.Millisecond)
			}
			t.Errorf("there are %d goroutines; were %d", runtime.NumGoroutine(), goroutines)
		})
	}
}

// descriptors returns how many this process has open.
func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(entries)
}

// makeStale makes a lock whose holder is dead.
func makeStale(t *testing.T, path string, makeLock func() error) {
	t.Helper()
	must(t, makeLock())
	age(t, path, time.Hour)
}

func age(t *testing.T, path string, by time.Duration) {
	t.Helper()
	then := time.Now().Add(-by)
	must(t, os.Chtimes(path, then, then))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func coded(t *testing.T, err error, code string) {
	t.Helper()
	if nodeerror.Code(err) != code {
		t.Errorf("%v; want %s", err, code)
	}
}

// only checks what there is beside the lock.
func only(t *testing.T, path string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	must(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if len(names) != len(want) {
		t.Errorf("there is %q; want %q", names, want)
		return
	}
	for i := range want {
		if names[i] != want[i] {
			t.Errorf("there is %q; want %q", names, want)
		}
	}
}

// empty checks that an engine has nothing in memory.
func empty(t *testing.T, e *Engine) {
	t.Helper()
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if len(e.directories) != 0 || len(e.held) != 0 {
		t.Errorf("%d directories and %d locks are left in memory", len(e.directories), len(e.held))
	}
}

func TestLockAndRelease(t *testing.T) {
	each(t, func(t *testing.T, target Target, path string, _ func() error) {
		e := participant(nil)
		m := e.Mutex(target, quick)
		other := participant(nil)
		l, err := m.Lock(t.Context())
		must(t, err)
		if l.Reclaimed() || !l.Guarded() {
			t.Errorf("reclaimed %v, guarded %v", l.Reclaimed(), l.Guarded())
		}
		only(t, path, "x.lock")
		for _, engine := range []*Engine{e, other} {
			_, err = engine.Mutex(target, quick).TryLock(t.Context())
			if nodeerror.Code(err) != target.held(path).Code || !strings.Contains(err.Error(), path) {
				t.Errorf("TryLock: %v", err)
			}
		}
		// Heartbeats.
		stat, err := os.Stat(path)
		must(t, err)
		time.Sleep(150 * time.Millisecond)
		later, err := os.Stat(path)
		must(t, err)
		if !later.ModTime().After(stat.ModTime()) {
			t.Error("no heartbeat")
		}
		must(t, l.Err())
		must(t, l.Release())
		if err := l.Release(); err != error(ErrReleased) {
			t.Errorf("released again: %v", err)
		}
		coded(t, context.Cause(l.Context()), "ERELEASED")
		only(t, path)
		empty(t, e)
		l, err = other.Mutex(target, quick).TryLock(t.Context())
		must(t, err)
		must(t, l.Release())
	})
}

func TestTakeover(t *testing.T) {
	each(t, func(t *testing.T, target Target, path string, makeLock func() error) {
		makeStale(t, path, makeLock)
		o := quick
		o.Settle = time.Millisecond
		e := participant(nil)
		m := e.Mutex(target, o)
		l, err := m.TryLock(t.Context())
		must(t, err)
		if !l.Reclaimed() {
			t.Error("not reclaimed")
		}
		only(t, path, "x.lock")
		must(t, l.Release())
		only(t, path)

		o.Stale = 0
		makeStale(t, path, makeLock)
		if _, err := e.Mutex(target, o).TryLock(t.Context()); err == nil {
			t.Error("taken over without a threshold")
		}
		must(t, os.Remove(path))
		l, err = m.TryLock(t.Context())
		must(t, err)
		if l.Reclaimed() {
			t.Error("reclaimed")
		}
		must(t, l.Release())
	})
}

// A lock that is removed, replaced or touched by others is lost, and what is there is
// left alone.
func TestLost(t *testing.T) {
	each(t, func(t *testing.T, target Target, path string, makeLock func() error) {
		for name, lose := range map[string]func(){
			"removed":  func() { must(t, os.Remove(path)) },
			"replaced": func() { must(t, os.Remove(path)); must(t, makeLock()) },
			"touched":  func() { age(t, path, time.Minute) }, // a directory only
		} {
			if name == "touched" && !target.adopted() {
				continue
			}
			for _, how := range []string{"heartbeat", "release"} {
				o := quick
				if how == "release" {
					o.Update = time.Hour
				}
				e := participant(nil)
				l, err := e.Mutex(target, o).Lock(t.Context())
				must(t, err)
				lose()
				stat, statErr := os.Stat(path)
				if how == "heartbeat" {
					select {
					case <-l.Done():
					case <-time.After(5 * time.Second):
						t.Errorf("%s: the holder is not told", name)
					}
				}
				for range 2 {
					coded(t, l.Release(), "ECOMPROMISED")
				}
				if cause := context.Cause(l.Context()); !errors.Is(cause, ErrCompromised) || cause != l.Err() {
					t.Errorf("%s: %v", name, cause)
				}
				if statErr != nil {
					only(t, path)
					continue
				}
				after, err := os.Stat(path)
				if err != nil || !os.SameFile(stat, after) || !after.ModTime().Equal(stat.ModTime()) {
					t.Errorf("%s, %s: what is at the path is not left alone: %v", name, how, err)
				}
				must(t, os.Remove(path))
				empty(t, e)
			}
		}
	})
}

// A wait ends with the context: the error matches its cause, and a lock that is held. A
// context that has ended before leaves everything alone.
func TestCancelled(t *testing.T) {
	each(t, func(t *testing.T, target Target, path string, _ func() error) {
		why := errors.New("why")
		e := participant(nil)
		other := participant(nil)
		l, err := e.Mutex(target, quick).Lock(t.Context())
		must(t, err)
		for _, engine := range []*Engine{e, other} {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(30*time.Millisecond, func() { cancel(why) })
			_, err := engine.Mutex(target, quick).Lock(ctx)
			coded(t, err, target.held(path).Code)
			if !errors.Is(err, why) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), ", waited ") {
				t.Errorf("%v; want %v", err, why)
			}
			if _, err := engine.Mutex(target, quick).Lock(ctx); err != why {
				t.Errorf("%v; want %v", err, why)
			}
		}
		must(t, l.Release())
		only(t, path)
		empty(t, e)
		empty(t, other)
	})
}

// Options.Wait ends a wait, and not what is done under the lock.
func TestWait(t *testing.T) {
	each(t, func(t *testing.T, target Target, path string, _ func() error) {
		e, other := participant(nil), participant(nil)
		o := quick
		o.Wait = 30 * time.Millisecond
		l, err := e.Mutex(target, o).Lock(t.Context())
		must(t, err)
		for _, engine := range []*Engine{e, other} {
			began := time.Now()
			_, err := engine.Mutex(target, o).Lock(t.Context())
			coded(t, err, target.held(path).Code)
			if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("a context has ended: %v", err)
			}
			if waited := time.Since(began); waited < o.Wait {
				t.Errorf("waited %v", waited)
			}
		}
		must(t, l.Context().Err())
		must(t, l.Release())
		empty(t, e)
		empty(t, other)
	})
}

func TestFirstComeFirstServed(t *testing.T) {
	each(t, func(t *testing.T, target Target, path string, _ func() error) {
		e := participant(nil)
		l, err := e.Mutex(target, quick).Lock(t.Context())
		must(t, err)
		const n = 20
		served := make(chan int, n)
		var group sync.WaitGroup
		for i := range n {
			group.Go(func() {
				l, err := e.Mutex(target, quick).Lock(t.Context())
				if err != nil {
					t.Error(err)
				}
				served <- i
				if err := l.Release(); err != nil {
					t.Error(err)
				}
			})
			for waiting := 0; waiting <= i; {
				time.Sleep(100 * time.Microsecond)
				e.mutex.Lock()
				for _, d := range e.directories {
					waiting = len(d.turns["x.lock"].waiting)
				}
				e.mutex.Unlock()
			}
		}
		must(t, l.Release())
		for i := range n {
			if got := <-served; got != i {
				t.Errorf("%d is served as number %d", got, i)
			}
		}
		group.Wait()
		empty(t, e)
	})
}

// Many engines, which are many processes to each other, and one stale lock after the
// other: one takes it over, and no other holds it at the same time.
func TestStormInProcess(t *testing.T) {
	each(t, func(t *testing.T, target Target, path string, makeLock func() error) {
		for range 30 {
			makeStale(t, path, makeLock)
			var inside, reclaimed atomic.Int32
			var group sync.WaitGroup
			for range 8 {
				group.Go(func() {
					e := participant(nil)
					l, err := e.Mutex(target, quick).Lock(t.Context())
					if err != nil {
						t.Error(err)
						return
					}
					if inside.Add(1) != 1 {
						t.Error("two owners")
					}
					if l.Reclaimed() {
						reclaimed.Add(1)
					}
					inside.Add(-1)
					if err := l.Release(); err != nil {
						t.Error(err)
					}
				})
			}
			group.Wait()
			if n := reclaimed.Load(); n != 1 {
				t.Errorf("%d have reclaimed one lock", n)
			}
			only(t, path)
		}
	})
}
