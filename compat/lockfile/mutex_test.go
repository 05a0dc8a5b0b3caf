package lockfile

import (
	"context"
	"errors"
	"io/fs"
	"os"
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
	held, unlock, err := m.Lock(t.Context())
	must(t, err)
	if m.Reclaimed() {
		t.Error("reclaimed")
	}
	time.Sleep(400 * time.Millisecond)
	stale := Options{Stale: 200 * time.Millisecond}
	if locked, err := Check(path, stale); !locked || err != nil {
		t.Errorf("%v, %v: the heartbeat keeps no lock fresh", locked, err)
	}
	if err := Lock(t.Context(), path, stale); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	must(t, held.Err())
	must(t, unlock())
	must(t, LockSync(path, Options{}))
	if _, _, err := m.TryLock(t.Context()); !errors.Is(err, fs.ErrExist) || err.Error() != "EEXIST: file already exists, open '"+path+"'" {
		t.Error(err)
	}
	// The mirror's lock has no heartbeat.
	held, unlock, err = m.Lock(t.Context())
	must(t, err)
	if !m.Reclaimed() {
		t.Error("not reclaimed")
	}
	// And its unlock looks at nothing.
	must(t, Unlock(path))
	<-held.Done()
	if !errors.Is(context.Cause(held), ErrCompromised) || !errors.Is(unlock(), ErrCompromised) {
		t.Error(context.Cause(held))
	}
}

func TestMutexWithoutStale(t *testing.T) {
	path := t.TempDir() + "/a.lock"
	must(t, LockSync(path, Options{}))
	for _, stale := range []time.Duration{0, -time.Second} {
		ctx, cancel := context.WithTimeout(t.Context(), 250*time.Millisecond)
		defer cancel()
		if _, _, err := NewMutex(path, MutexOptions{Stale: stale}).Lock(ctx); err != context.DeadlineExceeded {
			t.Error(err)
		}
	}
	must(t, Unlock(path))
}

func TestCleanupOfMutexes(t *testing.T) {
	t.Chdir(t.TempDir())
	held, unlock, err := NewMutex("ours", MutexOptions{}).Lock(t.Context())
	must(t, err)
	_, unlockOther, err := NewMutex("replaced", MutexOptions{}).Lock(t.Context())
	must(t, err)
	must(t, os.Remove("replaced"))
	must(t, LockSync("replaced", Options{}))
	must(t, os.Mkdir("elsewhere", 0o777))
	t.Chdir("elsewhere")
	mutexes.Clean()
	if held.Err() == nil {
		t.Error("the context goes on")
	}
	if _, err := os.Lstat("../ours"); err == nil {
		t.Error("the lock is left")
	}
	if _, err := os.Lstat("../replaced"); err != nil {
		t.Error("another's lock is removed")
	}
	must(t, unlock())
	if err := unlockOther(); !errors.Is(err, ErrCompromised) {
		t.Error(err)
	}
	must(t, Unlock("../replaced"))
}

func BenchmarkMirror(b *testing.B) {
	path := b.TempDir() + "/a.lock"
	b.ReportAllocs()
	for b.Loop() {
		must(b, Lock(b.Context(), path, Options{}))
		must(b, Unlock(path))
	}
}

func BenchmarkMutex(b *testing.B) {
	m := NewMutex(b.TempDir()+"/a.lock", MutexOptions{Stale: time.Minute})
	b.ReportAllocs()
	for b.Loop() {
		_, unlock, err := m.TryLock(b.Context())
		must(b, err)
		must(b, unlock())
	}
}
