package properlockfile

import (
	"context"
	"testing"

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

// A lock is made, and entered in what is held, between Begin and End, of both contracts.
// It is removed between them too.
func TestSections(t *testing.T) {
	dir := t.TempDir()
	for _, contract := range []Contract{V4, V1} {
		registry := &sections{}
		e := New(filesystem.OS{}, quickClock{}, registry)
		own := &osFS{}
		own.fault = func(call string, _ int) error {
			if open := registry.begun > registry.ended; open != (call != "realpath") {
				t.Errorf("%s: in a section: %v", call, open)
			}
			return nil
		}
		l, err := e.Lock(context.Background(), touch(t, dir, "a"), &Options{FS: own, Contract: contract, Update: 1e18, Stale: 4e18})
		if err != nil {
			t.Fatal(err)
		}
		if registry.entered != e || registry.begun != 1 || registry.ended != 1 {
			t.Errorf("%+v", registry)
		}
		if err := l.Release(); err != nil {
			t.Error(err)
		}
		if registry.begun != 2 || registry.ended != 2 {
			t.Errorf("%+v", registry)
		}
	}
}

// A clean-up removes the locks of both contracts in the order in which they were made
// (P20), and the leases end.
func TestClean(t *testing.T) {
	dir := t.TempDir()
	e := New(filesystem.OS{}, quickClock{}, exithook.None{})
	var leases []*Lease
	for i, name := range []string{"c", "a", "b"} {
		l, err := e.Lock(context.Background(), touch(t, dir, name), &Options{Contract: Contract(i % 2)})
		if err != nil {
			t.Fatal(err)
		}
		leases = append(leases, l)
	}
	e.Clean(context.Background())
	for _, l := range leases {
		if isThere(l.Path()) {
			t.Errorf("%s is there", l.Path())
		}
		<-l.Done()
		if err := l.Release(); err != error(ErrReleased) {
			t.Errorf("Release after a clean-up: %v", err)
		}
	}
	if holding(e) > 0 {
		t.Error("something is held")
	}
}
