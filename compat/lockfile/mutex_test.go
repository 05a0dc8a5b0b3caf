package lockfile

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// The mirror and the Mutex keep each other out, and see each other's lock grow old or not.
func TestMutexAndMirror(t *testing.T) {
	path := t.TempDir() + "/a.lock"
	m := NewMutex(path, MutexOptions{Stale: 200 * time.Millisecond, Update: 50 * time.Millisecond, Poll: 10 * time.Millisecond})
	l, err := m.Lock(t.Context())
	must(t, err)
	if l.Reclaimed() {
		t.Error("reclaimed")
	}
	time.Sleep(400 * time.Millisecond)
	stale := Options{Stale: 200 * time.Millisecond}
	if locked, err := Check(path, stale); !locked || err != nil {
		t.Errorf("%v, %v: the heartbeat keeps no lock fresh", locked, err)
	}
	if _, err := Lock(t.Context(), path, stale); !errors.Is(err, ErrLocked) {
		t.Error(err)
	}
	must(t, l.Err())
	must(t, l.Release())
	_, err = LockSync(path, Options{})
	must(t, err)
	if _, err := m.TryLock(t.Context()); !errors.Is(err, ErrLocked) || !errors.Is(err, fs.ErrExist) ||
		!strings.HasPrefix(err.Error(), "EEXIST: file already exists, open '"+path+"': renewed ") {
		t.Error(err)
	}
	// The mirror's lock has no heartbeat.
	l, err = m.Lock(t.Context())
	must(t, err)
	if !l.Reclaimed() {
		t.Error("not reclaimed")
	}
	// And its unlock looks at nothing.
	must(t, Unlock(path))
	<-l.Done()
	if cause := context.Cause(l.Context()); !errors.Is(cause, ErrCompromised) || !errors.Is(l.Release(), ErrCompromised) {
		t.Error(cause)
	}
}

func TestMutexWithoutStale(t *testing.T) {
	path := t.TempDir() + "/a.lock"
	_, err := LockSync(path, Options{})
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 250*time.Millisecond)
	defer cancel()
	if _, err := NewMutex(path, MutexOptions{}).Lock(ctx); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, ErrLocked) {
		t.Error(err)
	}
	must(t, Unlock(path))
}

// A Mutex goes by the file time that its options say, whatever the process has chosen.
func TestMutexFiletime(t *testing.T) {
	path := t.TempDir() + "/a.lock"
	_, err := LockSync(path, Options{})
	must(t, err)
	must(t, os.Chtimes(path, time.Time{}, time.Now().Add(-time.Hour)))
	if _, err := NewMutex(path, MutexOptions{Stale: time.Minute, Filetime: Ctime}).TryLock(t.Context()); !errors.Is(err, ErrLocked) {
		t.Error(err)
	}
	l, err := NewMutex(path, MutexOptions{Stale: time.Minute, Filetime: Mtime}).TryLock(t.Context())
	must(t, err)
	must(t, l.Release())
}

func TestCleanupOfMutexes(t *testing.T) {
	t.Chdir(t.TempDir())
	ours, err := NewMutex("ours", MutexOptions{}).Lock(t.Context())
	must(t, err)
	replaced, err := NewMutex("replaced", MutexOptions{}).Lock(t.Context())
	must(t, err)
	must(t, os.Remove("replaced"))
	_, err = os.Create("replaced") // as another process does
	must(t, err)
	must(t, os.Mkdir("elsewhere", 0o777))
	t.Chdir("elsewhere")
	Cleanup()
	if !errors.Is(context.Cause(ours.Context()), ErrReleased) {
		t.Error("the context goes on")
	}
	if _, err := os.Lstat("../ours"); err == nil {
		t.Error("the lock is left")
	}
	if _, err := os.Lstat("../replaced"); err != nil {
		t.Error("another's lock is removed")
	}
	if err := ours.Release(); !errors.Is(err, ErrReleased) {
		t.Error(err)
	}
	if err := replaced.Release(); !errors.Is(err, ErrCompromised) {
		t.Error(err)
	}
}

func BenchmarkMirror(b *testing.B) {
	path := b.TempDir() + "/a.lock"
	b.ReportAllocs()
	for b.Loop() {
		_, err := Lock(b.Context(), path, Options{})
		must(b, err)
		must(b, Unlock(path))
	}
}

func BenchmarkMutex(b *testing.B) {
	m := NewMutex(b.TempDir()+"/a.lock", MutexOptions{Stale: time.Minute})
	b.ReportAllocs()
	for b.Loop() {
		l, err := m.TryLock(b.Context())
		must(b, err)
		must(b, l.Release())
	}
}
