package mutex

import (
	"context"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/seed-c461eb89/nodelock/internal/clock"
	"github.com/seed-c461eb89/nodelock/internal/exithook"
	"github.com/seed-c461eb89/nodelock/internal/sim"
	"github.com/seed-c461eb89/nodelock/internal/watch"
)

// sections is a registry that counts what is begun and ended, and stops calls that come
// after it was closed.
type sections struct {
	begun, ended int
	closed       bool
	stopped      chan struct{}
}

func (s *sections) Begin(c exithook.Cleaner) {
	if !s.TryBegin(c) {
		close(s.stopped)
		runtime.Goexit()
	}
}

func (s *sections) TryBegin(exithook.Cleaner) bool {
	if !s.closed {
		s.begun++
	}
	return !s.closed
}

func (s *sections) End() { s.ended++ }

// A lock is made between Begin and End, and can be removed from then on.
func TestSections(t *testing.T) {
	each(t, func(t *testing.T, target Target, path string, makeLock func() error) {
		makeStale(t, path, makeLock)
		registry := &sections{}
		files := interpose(func(c *sim.Call) error {
			switch c.Op {
			case sim.OpenDirectory, sim.Reach, sim.TryGuard:
				return nil
			case sim.Fstat:
				if registry.begun == 0 {
					return nil // of the directory
				}
			}
			if registry.begun == registry.ended {
				t.Errorf("%s is made outside", c.Op.Name())
			}
			return nil
		})
		e := New(files, clock.System{}, registry, watch.None{})
		l, err := e.Mutex(target, quick).TryLock(t.Context())
		must(t, err)
		files.before = nil
		if registry.begun != 1 || registry.ended != 1 {
			t.Errorf("%+v", registry)
		}
		e.Clean(t.Context())
		only(t, path)
		if err := l.Release(); err != error(ErrReleased) {
			t.Error(err)
		}
		empty(t, e)
	})
}

// A call that the clean-up of the process stops has not got the guard, which the clean-up
// needs.
func TestStoppedByACleanUp(t *testing.T) {
	each(t, func(t *testing.T, target Target, path string, _ func() error) {
		registry := &sections{stopped: make(chan struct{})}
		e := New(interpose(nil), clock.System{}, registry, watch.None{})
		l, err := e.Mutex(target, quick).TryLock(t.Context())
		must(t, err)
		registry.closed = true
		go func() {
			_, _ = e.Mutex(protocols[0].target(path+"2"), quick).TryLock(context.Background())
			t.Error("the call returns")
		}()
		<-registry.stopped
		began := time.Now()
		e.Clean(t.Context())
		only(t, path)
		if took := time.Since(began); took >= cleanPatience {
			t.Errorf("the clean-up takes %v", took)
		}
		if l.Err() != error(ErrReleased) {
			t.Errorf("Err is %v", l.Err())
		}
		for _, d := range e.directories {
			e.close(d) // the call that was stopped has it open
		}
	})
}

// A loss gives the turn away: another caller of this process can take the lock.
func TestLossGivesTheTurnAway(t *testing.T) {
	each(t, func(t *testing.T, target Target, path string, _ func() error) {
		e := participant(nil)
		l, err := e.Mutex(target, quick).Lock(t.Context())
		must(t, err)
		must(t, os.Remove(path))
		next, err := e.Mutex(target, quick).Lock(t.Context())
		must(t, err)
		coded(t, l.Err(), "ECOMPROMISED")
		coded(t, l.Release(), "ECOMPROMISED")
		must(t, next.Err())
		must(t, next.Release())
		empty(t, e)
	})
}

// The mutex is free whenever a call of the system is made.
func TestNoMutexDuringCalls(t *testing.T) {
	each(t, func(t *testing.T, target Target, path string, makeLock func() error) {
		files := interpose(nil)
		e := participant(files)
		files.before = func(c *sim.Call) error {
			if !e.mutex.TryLock() {
				t.Errorf("%s: the mutex is held", c.Op.Name())
				return nil
			}
			e.mutex.Unlock()
			return nil
		}
		makeStale(t, path, makeLock)
		o := quick
		o.Update, o.Settle = time.Hour, time.Millisecond
		for _, end := range []func(l *Lease){
			func(l *Lease) { must(t, l.Release()) },
			func(l *Lease) { l.beat(); e.Clean(t.Context()) },
		} {
			l, err := e.Mutex(target, o).TryLock(t.Context())
			must(t, err)
			end(l)
		}
		only(t, path)
	})
}
