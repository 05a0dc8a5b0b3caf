package properlockfile

import (
	"context"
	"slices"
	"testing"

	"github.com/seed-c461eb89/nodelock/internal/exithook"
	"github.com/seed-c461eb89/nodelock/internal/filesystem"
)

// A hookLog is an exit hook that notes what it is told.
type hookLog struct {
	calls []string
	added exithook.Cleaner
}

func (h *hookLog) Add(c exithook.Cleaner) { h.calls, h.added = append(h.calls, "add"), c }

func (h *hookLog) Remove(c exithook.Cleaner) {
	if c != h.added {
		h.calls = append(h.calls, "remove another")
	}
	h.calls = append(h.calls, "remove")
}

// The engine registers for signals with the first lock of 4.1.2, and takes itself out
// with the last. A signal removes those locks and no others (P20).
func TestHook(t *testing.T) {
	dir := t.TempDir()
	hook := &hookLog{}
	e := New(filesystem.OS{}, quickClock{}, hook)
	expect := func(what string, want ...string) {
		t.Helper()
		if !slices.Equal(hook.calls, want) {
			t.Errorf("%s: %v, want %v", what, hook.calls, want)
		}
		hook.calls = nil
	}
	lock := func(name string, o Options) *Lease {
		t.Helper()
		l, err := e.Lock(context.Background(), touch(t, dir, name), &o)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	old := lock("old", Options{Contract: V1})
	expect("1.2.0")
	a, b := lock("a", Options{}), lock("b", Options{})
	expect("two locks", "add")
	again := lock("b", Options{LockfilePath: dir + "/again"})
	expect("in another's place")
	for _, l := range []*Lease{a, old} {
		if err := l.Release(); err != nil {
			t.Error(err)
		}
	}
	expect("one is released")
	if err := b.Release(); err != nil {
		t.Error(err)
	}
	expect("the last is released", "remove")
	e.end(again, ErrReleased)
	expect("it has ended before")

	c, d := lock("c", Options{}), lock("d", Options{})
	old = lock("old", Options{Contract: V1})
	expect("the next", "add")
	e.Clean()
	expect("a signal", "remove")
	if isThere(c.Path()) || isThere(d.Path()) || !isThere(old.Path()) {
		t.Error("not exactly the locks of 4.1.2 are gone")
	}
	for _, l := range []*Lease{c, d} {
		if err := l.Release(); err != ErrReleased {
			t.Errorf("Release after a signal: %v", err)
		}
	}
	e.Exit()
	if isThere(old.Path()) || old.Err() != ErrReleased {
		t.Errorf("after the exit: Err %v, or the lock is there", old.Err())
	}
	expect("an exit without locks of 4.1.2")
}
