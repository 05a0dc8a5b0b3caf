package sim

import (
	"testing"

	"github.com/seed-c461eb89/nodelock/internal/filesystem"
)

// as makes a call as an actor.
func as(t *Tree, actor uint8, c Call) Answer {
	t.Actor = actor
	return t.Perform(&c)
}

// TestCodes makes calls one after the other and compares their codes.
func TestCodes(t *testing.T) {
	tree := New("/top", 1, 5)
	for _, row := range []struct {
		op         Op
		path, dest string
		want       string
	}{
		{Mkdir, "d", "", ""},
		{Mkdir, "/top/d", "", "EEXIST"},
		{Mkdir, "/d", "", "ENOENT"}, // outside
		{Mkdir, "e/f", "", "ENOENT"},
		{Mkdir, "./d//e", "", ""},
		{Rmdir, "d", "", "ENOTEMPTY"},
		{Rmdir, ".", "", "ENOTEMPTY"},
		{Unlink, "d", "", "EISDIR"},
		{Rename, "d", "d/e/f", "EINVAL"},
		{Link, "d", "l", "EPERM"},
		{Rename, "d/e", "d/../f", ""},
		{Mkdir, "g", "", ""},
		{Rename, "f", "g", ""},
		{Mkdir, "f", "", ""},
		{RenameNoReplace, "f", "g", "EEXIST"},
		{RenameNoReplace, "f", "f", "EEXIST"},
		{RenameNoReplace, "f", "h", ""},
		{Rename, "f", "h", "ENOENT"},
		{Utimes, "f", "", "ENOENT"},
	} {
		if got := as(tree, 0, Call{Op: row.op, Path: row.path, Dest: row.dest}).Code; got != row.want {
			t.Errorf("%s %s %s: %q, want %q", row.op.Name(), row.path, row.dest, got, row.want)
		}
	}
}

// TestIdentity is about inode numbers: one that is free goes to the next file, but not
// while the old one is open or has another name.
func TestIdentity(t *testing.T) {
	tree := New("", 1, 0)
	number := func() int32 { return tree.Lookup(0, "a").Node }
	do := func(op Op, h filesystem.Handle) Answer { return as(tree, 1, Call{Op: op, Path: "a", Handle: h}) }
	do(Mkdir, 0)
	first, id := number(), tree.Nodes[number()].ID
	do(Rmdir, 0)
	do(Mkdir, 0)
	if number() != first || tree.Nodes[first].ID == id || tree.Nodes[first].Maker() != 1 {
		t.Errorf("the number %d is not reused, or the ID %d is", first, id)
	}
	h := do(OpenRead, 0).Handle
	do(Rmdir, 0)
	do(Mkdir, 0)
	if number() == first {
		t.Error("the number of an open directory is reused")
	}
	do(Rmdir, 0)
	do(Close, h)
	do(Mkdir, 0)
	if number() != first {
		t.Error("the number is not reused after the close")
	}
	if code := do(Close, h).Code; code != "EBADF" {
		t.Errorf("a second close: %q", code)
	}
}

// TestLock is about kernel locks: they end with their handle, or its process.
func TestLock(t *testing.T) {
	tree := New("", 1, 0)
	guard := func(actor uint8, want string) filesystem.Handle {
		t.Helper()
		a := as(tree, actor, Call{Op: TryGuard, Path: "/"})
		if a.Code != want {
			t.Errorf("%d guards: %q, want %q", actor, a.Code, want)
		}
		return a.Handle
	}
	one := guard(1, "")
	guard(1, "EAGAIN")
	guard(2, "EAGAIN")
	as(tree, 2, Call{Op: OpenRead, Path: "/"})
	if as(tree, 2, Call{Op: Unguard, Handle: one}).Code == "" {
		if guard(3, "EAGAIN"); tree.Nodes[0].Locked == 0 {
			t.Error("another's handle of the same number ends the guard")
		}
	}
	as(tree, 1, Call{Op: Unguard, Handle: one})
	guard(2, "")
	guard(1, "EAGAIN")
	tree.CloseAll(2)
	if len(tree.Handles) != 0 {
		t.Errorf("%d handles are open, want none", len(tree.Handles))
	}
	guard(3, "")
}

// TestCopy changes a filesystem and its copy, and neither sees the other's changes.
func TestCopy(t *testing.T) {
	original, other := New("", 1, 0), new(Tree)
	as(original, 0, Call{Op: Mkdir, Path: "a"})
	h := as(original, 0, Call{Op: OpenRead, Path: "a"}).Handle
	other.CopyFrom(original)
	as(original, 0, Call{Op: Rename, Path: "a", Dest: "b"})
	as(original, 0, Call{Op: Futimes, Handle: h, N: 7})
	as(other, 0, Call{Op: Mkdir, Path: "c"})
	as(other, 0, Call{Op: Close, Handle: h})
	for name, there := range map[string][2]bool{"a": {false, true}, "b": {true, false}, "c": {false, true}} {
		if got := [2]bool{original.Lookup(0, name).Node != None, other.Lookup(0, name).Node != None}; got != there {
			t.Errorf("%s is there: %v, want %v", name, got, there)
		}
	}
	if other.Nodes[other.Lookup(0, "a").Node].Mtime != 0 || original.Open(h) == nil || other.Open(h) != nil {
		t.Error("the copy shares something")
	}
}
