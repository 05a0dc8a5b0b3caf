package properlockfile

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// The mirror and the Mutex keep each other out, and a release of the mirror, which looks
// at nothing, is noticed.
func TestMutexAndMirror(t *testing.T) {
	t.Chdir(t.TempDir())
	must(t, os.WriteFile("a", nil, 0o666))
	must(t, os.Symlink("a", "l"))
	m := NewMutex("l", MutexOptions{Update: time.Second, Poll: 10 * time.Millisecond})
	l, err := m.Lock(t.Context())
	must(t, err)
	if l.Reclaimed() {
		t.Error("reclaimed")
	}
	if _, err := os.Lstat("a.lock"); err != nil {
		t.Error(err)
	}
	if _, err := LockSync("a", Options{}); !errors.Is(err, ErrLocked) {
		t.Error(err)
	}
	if _, err := NewMutex("a", MutexOptions{}).TryLock(t.Context()); !errors.Is(err, ErrLocked) {
		t.Error(err)
	}
	must(t, l.Release())
	if cause := context.Cause(l.Context()); !errors.Is(cause, ErrReleased) {
		t.Error(cause)
	}
	lease, err := LockSync("a", Options{})
	must(t, err)
	// The error says which file was to be locked, whatever its lock is called.
	for _, m := range []*Mutex{m, NewMutex("l", MutexOptions{LockfilePath: "a.lock"})} {
		_, err = m.TryLock(t.Context())
		var e *Error
		if !errors.Is(err, ErrLocked) || !errors.As(err, &e) || e.File != lease.File() || e.Path != lease.Path() {
			t.Errorf("%#v", err)
		}
		if !strings.HasPrefix(err.Error(), "Lock file is already being held: '"+lease.Path()+"' renewed ") {
			t.Error(err)
		}
	}
	must(t, lease.Release())

	l, err = m.Lock(t.Context())
	must(t, err)
	must(t, os.Remove("a.lock"))
	<-l.Done()
	if cause := context.Cause(l.Context()); !errors.Is(cause, ErrCompromised) || !errors.Is(l.Release(), ErrCompromised) {
		t.Error(cause)
	}
}

func TestMutexTakesOver(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, row := range []struct {
		path string
		o    MutexOptions
	}{
		{"a.lock", MutexOptions{NoRealpath: true}},
		{"elsewhere", MutexOptions{NoRealpath: true, LockfilePath: "elsewhere"}},
	} {
		must(t, os.Mkdir(row.path, 0o777))
		then := time.Now().Add(-9 * time.Second)
		must(t, os.Chtimes(row.path, then, then))
		m := NewMutex("a", row.o)
		if _, err := m.TryLock(t.Context()); !errors.Is(err, ErrLocked) {
			t.Error(err)
		}
		then = then.Add(-2 * time.Second)
		must(t, os.Chtimes(row.path, then, then))
		l, err := m.TryLock(t.Context())
		must(t, err)
		if !l.Reclaimed() {
			t.Error("not reclaimed")
		}
		must(t, l.Release())
		if names, err := os.ReadDir("."); err != nil || len(names) != 0 {
			t.Error(names, err)
		}
	}
}

func TestCleanupOfMutexes(t *testing.T) {
	t.Chdir(t.TempDir())
	o := MutexOptions{NoRealpath: true}
	ours, err := NewMutex("ours", o).Lock(t.Context())
	must(t, err)
	replaced, err := NewMutex("replaced", o).Lock(t.Context())
	must(t, err)
	must(t, os.Remove("replaced.lock"))
	must(t, os.Mkdir("replaced.lock", 0o777))
	Cleanup()
	if !errors.Is(context.Cause(ours.Context()), ErrReleased) {
		t.Error("the context goes on")
	}
	if names, err := os.ReadDir("."); err != nil || len(names) != 1 || names[0].Name() != "replaced.lock" {
		t.Error(names, err)
	}
	if err := ours.Release(); !errors.Is(err, ErrReleased) {
		t.Error(err)
	}
	if err := replaced.Release(); !errors.Is(err, ErrCompromised) {
		t.Error(err)
	}
}
