package properlockfile

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-c461eb89/nodelock/internal/clock"
	"github.com/seed-c461eb89/nodelock/internal/exithook"
	"github.com/seed-c461eb89/nodelock/internal/filesystem"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A lease that has ended, in whichever way, does nothing to a later lock of the same file:
// not by a release, and not by a heartbeat.
func TestEndedLeaseSparesALaterLock(t *testing.T) {
	const notReleased = "its place is taken"
	for _, contract := range []Contract{V4, V1} {
		for name, end := range map[string]func(e *Engine, l *Lease){
			"released":   func(_ *Engine, l *Lease) { must(t, l.Release()) },
			"unlocked":   func(e *Engine, l *Lease) { must(t, e.Unlock(l.File(), &Options{Contract: contract})) },
			"cleaned up": func(e *Engine, l *Lease) { e.Clean(context.Background()) },
			"lost":       func(e *Engine, l *Lease) { l.compromise(ErrCompromised); must(t, os.Remove(l.Path())) },
			"released in the place of another": func(e *Engine, l *Lease) {
				must(t, os.Remove(l.Path()))
				_, err := e.LockSync(l.File(), &Options{Contract: contract})
				must(t, err)
				must(t, l.Release())
			},
			notReleased: func(e *Engine, l *Lease) {
				must(t, os.Remove(l.Path()))
				second, err := e.LockSync(l.File(), &Options{Contract: contract})
				must(t, err)
				must(t, second.Release())
				if err := l.Release(); err != error(ErrNotAcquired) {
					t.Error(err)
				}
			},
		} {
			w := newManual()
			e := New(filesystem.OS{}, w, exithook.None{})
			file := touch(t, t.TempDir(), "f")
			first, err := e.LockSync(file, &Options{Contract: contract})
			must(t, err)
			end(e, first)
			second, err := e.LockSync(file, &Options{Contract: contract})
			must(t, err)
			before, err := os.Stat(second.Path())
			must(t, err)
			for range 2 {
				w.timers[0].call() // it was stopped too late
				if err := first.Release(); !errors.Is(err, ErrReleased) && err != error(ErrNotAcquired) {
					t.Errorf("%v, %s: Release: %v", contract, name, err)
				}
				if name == notReleased {
					continue // to Node it may still be released
				}
				if err := first.NodeRelease(); err != error(ErrReleased) {
					t.Errorf("%v, %s: NodeRelease: %v", contract, name, err)
				}
			}
			after, err := os.Stat(second.Path())
			if err != nil || !os.SameFile(before, after) || !before.ModTime().Equal(after.ModTime()) {
				t.Errorf("%v, %s: the second lock is harmed: %v", contract, name, err)
			}
			if second.Err() != nil || !second.armed {
				t.Errorf("%v, %s: the second lock has ended: %v", contract, name, second.Err())
			}
			must(t, second.Release())
		}
	}
}

// A heartbeat that is about to touch the directory when the lock is released, in whichever
// way, has touched it before the directory is removed.
func TestReleaseWaitsForATouch(t *testing.T) {
	for _, contract := range []Contract{V4, V1} {
		for name, release := range map[string]func(e *Engine, l *Lease) error{
			"Release": func(_ *Engine, l *Lease) error { return l.Release() },
			"Unlock":  func(e *Engine, l *Lease) error { return e.Unlock(l.File(), &Options{Contract: contract}) },
		} {
			synctest.Test(t, func(t *testing.T) {
				proceed := make(chan struct{})
				own := &osFS{}
				own.fault = func(call string, n int) error {
					if call == "utimes" && (contract == V1 || n > 1) {
						<-proceed
					}
					return nil
				}
				e := New(filesystem.OS{}, clock.System{}, exithook.None{})
				file := touch(t, t.TempDir(), "f")
				l, err := e.Lock(t.Context(), file, &Options{FS: own, Contract: contract})
				must(t, err)
				// The heartbeat hangs in its touch.
				time.Sleep(6 * time.Second)
				released := make(chan error, 1)
				go func() { released <- release(e, l) }()
				time.Sleep(time.Second)
				if !isThere(l.Path()) || len(released) > 0 {
					t.Errorf("%v: %s has not waited", contract, name)
				}
				close(proceed)
				must(t, <-released)
				if isThere(l.Path()) {
					t.Error("the lock is there")
				}
			})
		}
	}
}

// A release that is tried again spares the lock of a participant that has taken it over.
func TestReleaseAgain(t *testing.T) {
	for _, contract := range []Contract{V4, V1} {
		for name, meanwhile := range map[string]struct {
			do    func(path string)
			spare bool
		}{
			"nothing": {func(string) {}, false},
			"removed": {func(path string) { must(t, os.Remove(path)) }, false},
			"taken over": {func(path string) {
				must(t, os.Remove(path))
				must(t, os.Mkdir(path, 0o777))
				must(t, os.Chtimes(path, time.Now(), time.Now().Add(time.Minute)))
			}, true},
		} {
			own := &osFS{fault: onlyCall("rmdir", func() error { return syscall.EPERM })}
			e := New(filesystem.OS{}, newManual(), exithook.None{})
			l, err := e.LockSync(touch(t, t.TempDir(), "f"), &Options{FS: own, Contract: contract})
			must(t, err)
			for range 2 {
				if err := l.Release(); !errors.Is(err, fs.ErrPermission) {
					t.Errorf("%v, %s: %v", contract, name, err)
				}
			}
			meanwhile.do(l.Path())
			own.fault = nil
			must(t, l.Release())
			if isThere(l.Path()) != meanwhile.spare {
				t.Errorf("%v, %s: the directory is there: %v", contract, name, !meanwhile.spare)
			}
			if err := l.Release(); err != error(ErrReleased) {
				t.Error(err)
			}
		}
	}
}

// The error of a release after a loss is Node's, and says how the lock was lost.
func TestReleaseAfterALoss(t *testing.T) {
	w := newManual()
	e := New(filesystem.OS{}, w, exithook.None{})
	l, err := e.LockSync(touch(t, t.TempDir(), "f"), &Options{})
	must(t, err)
	must(t, os.Remove(l.Path()))
	w.fire(0)
	<-l.Done()
	if cause := context.Cause(l.Context()); cause != l.Err() || !errors.Is(cause, ErrCompromised) {
		t.Errorf("the cause is %v, Err is %v", cause, l.Err())
	}
	for range 2 {
		err := l.Release()
		if err == nil || err.Error() != ErrReleased.Message || !errors.Is(err, ErrReleased) || !errors.Is(err, ErrCompromised) {
			t.Errorf("Release: %v", err)
		}
	}
}

// The mutex is free whenever a call of the system is made.
func TestNoMutexDuringCalls(t *testing.T) {
	for _, contract := range []Contract{V4, V1} {
		w := newManual()
		e := New(filesystem.OS{}, w, exithook.None{})
		own := &osFS{fault: func(call string, _ int) error {
			if !e.mutex.TryLock() {
				t.Errorf("%s: the mutex is held", call)
				return nil
			}
			e.mutex.Unlock()
			return nil
		}}
		o := &Options{FS: own, Contract: contract}
		file := touch(t, t.TempDir(), "f")
		l, err := e.Lock(context.Background(), file, o)
		must(t, err)
		w.fire(0)
		must(t, l.Release())
		_, err = e.LockSync(file, o)
		must(t, err)
		must(t, e.Unlock(file, o))
		_, err = e.Check(file, o)
		must(t, err)
		_, err = e.LockSync(file, o)
		must(t, err)
		e.Clean(context.Background())
	}
}
