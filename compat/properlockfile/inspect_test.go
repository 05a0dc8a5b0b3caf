package properlockfile_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/seed-c461eb89/nodelock/compat/nodeerror"
	"github.com/seed-c461eb89/nodelock/compat/properlockfile"
)

func TestInspectTellsFreeHeldAndStale(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "a")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	path := file + ".lock"
	o := properlockfile.InspectOptions{Stale: time.Minute}
	look := func(exists, stale bool) properlockfile.State {
		t.Helper()
		s, err := properlockfile.Inspect(file, o)
		if err != nil || s.Exists != exists || s.Stale != stale || s.Path != path {
			t.Fatalf("Inspect = %+v, %v; want Exists %v, Stale %v, Path %q", s, err, exists, stale, path)
		}
		return s
	}
	look(false, false)

	lease, err := properlockfile.NewMutex(file, properlockfile.MutexOptions{}).Lock(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if s := look(true, false); s.Holder != 0 && s.Holder != os.Getpid() {
		t.Errorf("Holder = %d, want 0 or %d", s.Holder, os.Getpid())
	}
	if err := lease.Release(); err != nil {
		t.Fatal(err)
	}

	if err := os.Mkdir(path, 0o777); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	s := look(true, true)
	if s.Age < time.Hour-time.Minute || s.Age > time.Hour+time.Minute {
		t.Errorf("Age = %v, want about an hour", s.Age)
	}
	if s.Holder != 0 {
		t.Errorf("Holder = %d for a lock without a note, want 0", s.Holder)
	}
	if after, err := os.Stat(path); err != nil || !after.ModTime().Equal(s.Renewed) {
		t.Errorf("after Inspect: %v, %v; want it as it was", after, err)
	}
}

func TestInspectRefusesWhatIsNoLock(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	path := file + ".lock"
	if err := os.WriteFile(path, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	o := properlockfile.InspectOptions{Stale: time.Minute}
	if s, err := properlockfile.Inspect(file, o); !errors.Is(err, properlockfile.ErrNotLock) || s.Exists {
		t.Errorf("Inspect = %+v, %v; want ErrNotLock", s, err)
	}
	o.Stale = -1
	if _, err := properlockfile.Inspect(file, o); !errors.Is(err, nodeerror.ErrOutOfRange) {
		t.Errorf("Inspect with Stale -1: %v, want ErrOutOfRange", err)
	}
	if _, err := properlockfile.Inspect("", properlockfile.InspectOptions{}); !errors.Is(err, nodeerror.ErrInvalidArgument) {
		t.Errorf("Inspect of no path: %v, want ErrInvalidArgument", err)
	}
}
