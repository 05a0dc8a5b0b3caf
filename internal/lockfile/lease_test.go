package lockfile

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/seed-c461eb89/nodelock/internal/callerror"
	"github.com/seed-c461eb89/nodelock/internal/clock"
	"github.com/seed-c461eb89/nodelock/internal/exithook"
	"github.com/seed-c461eb89/nodelock/internal/filesystem"
)

// sections is a registry that counts what is begun and ended.
type sections struct {
	begun, ended int
	entered      exithook.Cleaner
}

func (s *sections) Begin(c exithook.Cleaner)         { s.begun++; s.entered = c }
func (s *sections) TryBegin(c exithook.Cleaner) bool { s.Begin(c); return true }
func (s *sections) End()                             { s.ended++ }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A lock is made between Begin and End, and has been entered by then: when it is made, and
// when it is won by takeover. It is removed between them too.
func TestSections(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.lock")
	registry := &sections{}
	during := func(string) {
		if registry.begun != registry.ended+1 {
			t.Errorf("a lock is made outside: %d begun, %d ended", registry.begun, registry.ended)
		}
	}
	files := hookedFiles{afterCreate: during}
	e := New(&files, clock.System{}, registry, Mtime)
	l, err := e.LockSync(path, &Options{})
	must(t, err)
	if registry.entered != e || registry.begun != 1 || registry.ended != 1 {
		t.Errorf("%+v", registry)
	}
	files.beforeUnlink = func() { during("") }
	must(t, l.Release())
	files.beforeUnlink = nil // those of a takeover need no section
	create(t, path, time.Hour)
	_, err = e.Lock(t.Context(), path, &Options{Stale: time.Minute})
	must(t, err)
	must(t, e.Unlock(path))
	// The release, the lock that failed, path.STALE, the link, and the unlock.
	if registry.begun != 6 || registry.ended != 6 {
		t.Errorf("%+v", registry)
	}
}

// A clean-up removes what is tracked in the order in which it was made (L23), and the
// leases end.
func TestClean(t *testing.T) {
	dir := t.TempDir()
	var removed []string
	e := New(unlinkedFiles{unlink: func(path string) error {
		removed = append(removed, filepath.Base(path))
		return filesystem.OS{}.Unlink(path)
	}}, clock.System{}, exithook.None{}, Ctime)
	var leases []*Lease
	want := "d b a c"
	for _, name := range []string{"d", "b", "x", "a", "c"} {
		l, err := e.LockSync(filepath.Join(dir, name), &Options{})
		must(t, err)
		leases = append(leases, l)
	}
	must(t, leases[2].Release())
	removed = nil
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	e.Clean(ended)
	if removed != nil {
		t.Errorf("a clean-up that is over removes %q", removed)
	}
	e.Clean(t.Context())
	if got := names(t, dir); got != "" || join(removed) != want {
		t.Errorf("left %q; removed %q, want %q", got, join(removed), want)
	}
	for _, l := range leases {
		if l.Err() != error(ErrReleased) {
			t.Errorf("%s: %v", l.Path(), l.Err())
		}
	}
	if len(e.leases) != 0 {
		t.Error("leases are left in memory")
	}
}

func join(names []string) (text string) {
	for i, name := range names {
		if i > 0 {
			text += " "
		}
		text += name
	}
	return text
}

type unlinkedFiles struct {
	filesystem.OS
	unlink func(path string) error
}

func (f unlinkedFiles) Unlink(path string) error { return f.unlink(path) }

// A release that fails can be tried again, and a clean-up tries it too.
func TestReleaseFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.lock")
	broken := true
	e := New(unlinkedFiles{unlink: func(path string) error {
		if broken {
			return callerror.Linux("EPERM", "unlink", path, "")
		}
		return filesystem.OS{}.Unlink(path)
	}}, clock.System{}, exithook.None{}, Ctime)
	for _, mend := range []func(*Lease){
		func(l *Lease) { must(t, l.Release()) },
		func(*Lease) { e.Clean(t.Context()) },
	} {
		broken = true
		l, err := e.LockSync(path, &Options{})
		must(t, err)
		for range 2 {
			if err := l.Release(); !errors.Is(err, os.ErrPermission) {
				t.Error(err)
			}
			if l.Err() != error(ErrReleased) {
				t.Error("the holder is not told")
			}
		}
		broken = false
		mend(l)
		if _, err := os.Lstat(path); err == nil {
			t.Error("the lock is still there")
		}
		if err := l.Release(); err != error(ErrReleased) {
			t.Error(err)
		}
	}
}

// A lease that has ended, in whichever way, does nothing to a later lock of the same path.
func TestEndedLeaseSparesALaterLock(t *testing.T) {
	for name, end := range map[string]func(e *Engine, l *Lease){
		"released":         func(_ *Engine, l *Lease) { must(t, l.Release()) },
		"unlocked":         func(e *Engine, l *Lease) { must(t, e.Unlock(l.Path())) },
		"unlocked in sync": func(e *Engine, l *Lease) { e.UnlockSync(l.Path()) },
		"cleaned up":       func(e *Engine, l *Lease) { e.Clean(t.Context()) },
		"removed by hand":  func(e *Engine, l *Lease) { must(t, os.Remove(l.Path())) },
		"taken over":       func(e *Engine, l *Lease) {},
	} {
		for _, sync := range []bool{true, false} {
			e := New(filesystem.OS{}, clock.System{}, exithook.None{}, Ctime)
			path := filepath.Join(t.TempDir(), "a.lock")
			first, err := e.LockSync(path, &Options{})
			must(t, err)
			end(e, first)
			var second *Lease
			if o := (Options{Stale: -time.Hour}); sync {
				second, err = e.LockSync(path, &o)
			} else {
				second, err = e.Lock(t.Context(), path, &o)
			}
			must(t, err)
			if want := name == "taken over"; second.Reclaimed() != want {
				t.Errorf("%s: reclaimed: %v", name, !want)
			}
			if first.Err() == nil {
				t.Errorf("%s: the first lease has not ended", name)
			}
			if err := first.Release(); err == nil {
				t.Errorf("%s: released once more", name)
			}
			if _, err := os.Lstat(path); err != nil || second.Err() != nil {
				t.Errorf("%s: the second lock is harmed: %v, %v", name, err, second.Err())
			}
			must(t, second.Release())
		}
	}
}

// The mutex is free whenever a call of the system is made.
func TestNoMutexDuringCalls(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.lock")
	var e *Engine
	free := func() {
		t.Helper()
		if !e.mutex.TryLock() {
			t.Error("the mutex is held during a call")
			return
		}
		e.mutex.Unlock()
	}
	e = New(hookedFiles{OS: filesystem.OS{}, afterCreate: func(string) { free() }, beforeUnlink: free}, clock.System{}, exithook.None{}, Ctime)
	l, err := e.Lock(t.Context(), path, &Options{})
	must(t, err)
	must(t, l.Release())
	_, err = e.LockSync(path, &Options{})
	must(t, err)
	e.Clean(t.Context())
}
