package properlockfile

import (
	"context"
	"errors"
	"os"
	"runtime"
	"testing"
	"time"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// quiet has a test wait at its end until the exit hook, which lingers, is gone: other
// tests count goroutines.
func quiet(t *testing.T) {
	t.Cleanup(func() {
		for still, before := 0, 0; still < 40; still++ {
			time.Sleep(10 * time.Millisecond)
			if now := runtime.NumGoroutine(); now != before {
				still, before = 0, now
			}
		}
	})
}

// The mirror and the Mutex keep each other out, and a release of the mirror, which looks
// at nothing, is noticed.
func TestMutexAndMirror(t *testing.T) {
	quiet(t)
	t.Chdir(t.TempDir())
	must(t, os.WriteFile("a", nil, 0o666))
	must(t, os.Symlink("a", "l"))
	m := NewMutex("l", MutexOptions{Update: time.Second, Poll: 10 * time.Millisecond})
	held, unlock, err := m.Lock(t.Context())
	must(t, err)
	if m.Reclaimed() {
		t.Error("reclaimed")
	}
	if _, err := os.Lstat("a.lock"); err != nil {
		t.Error(err)
	}
	if _, err := LockSync("a", Options{}); !errors.Is(err, ErrLocked) {
		t.Error(err)
	}
	if _, _, err := NewMutex("a", MutexOptions{}).TryLock(t.Context()); !errors.Is(err, ErrLocked) {
		t.Error(err)
	}
	must(t, unlock())
	if !errors.Is(context.Cause(held), ErrReleased) {
		t.Error(context.Cause(held))
	}
	lease, err := LockSync("a", Options{})
	must(t, err)
	_, _, err = m.TryLock(t.Context())
	var e *Error
	if !errors.Is(err, ErrLocked) || !errors.As(err, &e) || e.File != lease.File() {
		t.Errorf("%#v", err)
	}
	must(t, lease.Release())

	held, unlock, err = m.Lock(t.Context())
	must(t, err)
	must(t, os.Remove("a.lock"))
	<-held.Done()
	if !errors.Is(context.Cause(held), ErrCompromised) || !errors.Is(unlock(), ErrCompromised) {
		t.Error(context.Cause(held))
	}
}

func TestMutexTakesOver(t *testing.T) {
	quiet(t)
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
		if _, _, err := m.TryLock(t.Context()); !errors.Is(err, ErrLocked) {
			t.Error(err)
		}
		then = then.Add(-2 * time.Second)
		must(t, os.Chtimes(row.path, then, then))
		_, unlock, err := m.TryLock(t.Context())
		must(t, err)
		if !m.Reclaimed() {
			t.Error("not reclaimed")
		}
		must(t, unlock())
		if names, err := os.ReadDir("."); err != nil || len(names) != 0 {
			t.Error(names, err)
		}
	}
}

func TestCleanupOfMutexes(t *testing.T) {
	quiet(t)
	t.Chdir(t.TempDir())
	o := MutexOptions{NoRealpath: true}
	held, unlock, err := NewMutex("ours", o).Lock(t.Context())
	must(t, err)
	_, unlockOther, err := NewMutex("replaced", o).Lock(t.Context())
	must(t, err)
	must(t, os.Remove("replaced.lock"))
	must(t, os.Mkdir("replaced.lock", 0o777))
	Cleanup()
	if held.Err() == nil {
		t.Error("the context goes on")
	}
	if names, err := os.ReadDir("."); err != nil || len(names) != 1 || names[0].Name() != "replaced.lock" {
		t.Error(names, err)
	}
	must(t, unlock())
	if err := unlockOther(); !errors.Is(err, ErrCompromised) {
		t.Error(err)
	}
}
