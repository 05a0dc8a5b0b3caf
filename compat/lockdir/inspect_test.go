package lockdir_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/seed-c461eb89/nodelock/compat/lockdir"
	"github.com/seed-c461eb89/nodelock/compat/nodeerror"
)

func TestInspectTellsFreeHeldAndStale(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a.lockdir")
	look := func(want lockdir.State) lockdir.State {
		t.Helper()
		s, err := lockdir.Inspect(dir, lockdir.Options{})
		if err != nil || s.Exists != want.Exists || s.Stale != want.Stale || s.Incoming != want.Incoming ||
			!slices.Equal(s.Others, want.Others) || len(s.Records) != len(want.Records) {
			t.Fatalf("Inspect = %+v, %v; want %+v", s, err, want)
		}
		return s
	}
	look(lockdir.State{})

	lock, err := lockdir.NewDirectory(dir, "a file", lockdir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	lease, err := lock.Acquire(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	s := look(lockdir.State{Exists: true, Records: make([]lockdir.Record, 1)})
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	r := s.Records[0]
	if r.Pid != os.Getpid() || r.Hostname != host || r.Target != "a file" || r.CreatedAt == "" || r.Name != lease.ID()+".json" || r.Gone || r.Stale {
		t.Errorf("record %+v, want this process's", r)
	}
	if err := lease.Release(); err != nil {
		t.Fatal(err)
	}

	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	look(lockdir.State{Exists: true, Incoming: true})
	record := filepath.Join(dir, "L-old.json")
	if err := os.WriteFile(record, []byte("no JSON"), 0o666); err != nil {
		t.Fatal(err)
	}
	look(lockdir.State{Exists: true, Records: make([]lockdir.Record, 1)})
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(record, old, old); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "residue"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	look(lockdir.State{Exists: true, Stale: true, Records: make([]lockdir.Record, 1), Others: []string{"residue"}})
}

func TestInspectRefusesWhatIsNoDirectory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.lockdir")
	if err := os.WriteFile(path, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if s, err := lockdir.Inspect(path, lockdir.Options{}); nodeerror.Code(err) != "ENOTDIR" || s.Exists {
		t.Errorf("Inspect = %+v, %v; want ENOTDIR", s, err)
	}
}
