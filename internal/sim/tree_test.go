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
	as(tree, 0, Call{Op: Mkdir, Path: "d"})
	open := func(actor uint8) filesystem.Handle { return as(tree, actor, Call{Op: OpenDirectory, Path: "d"}).Handle }
	lock := func(actor uint8, h filesystem.Handle, want string) {
		t.Helper()
		for _, op := range []Op{TryGuard, TryFlock} {
			if a := as(tree, actor, Call{Op: op, Handle: h}); a.Code != want {
				t.Errorf("%d locks #%d by %s: %q, want %q", actor, h, op.Name(), a.Code, want)
			}
		}
	}
	one, another := open(1), open(1)
	other := open(2)
	lock(1, one, "")
	lock(1, one, "") // it has it
	lock(1, another, "EAGAIN")
	lock(2, other, "EAGAIN")
	as(tree, 2, Call{Op: Funlock, Handle: other})
	lock(2, other, "EAGAIN")
	as(tree, 1, Call{Op: Unguard, Handle: one})
	lock(2, other, "")
	lock(1, one, "EAGAIN")
	tree.CloseAll(2)
	lock(1, another, "")
	as(tree, 1, Call{Op: Close, Handle: another})
	lock(1, one, "")
	as(tree, 1, Call{Op: Close, Handle: one})
	if len(tree.Handles) != 0 {
		t.Errorf("%d handles are open, want none", len(tree.Handles))
	}
	// Every actor has the root directory open.
	lock(1, Root, "")
	lock(2, Root, "EAGAIN")
	if !tree.Guards(1) || tree.Guards(2) {
		t.Error("1 does not guard the root directory, or 2 does")
	}
	tree.CloseAll(1)
	lock(2, Root, "")
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
