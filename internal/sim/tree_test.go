package sim

import (
	"testing"

	"github.com/seed-c461eb89/nodelock/internal/filesystem"
)

// TestCalls makes calls one after the other and compares their codes.
func TestCalls(t *testing.T) {
	f := New("/top", 1, 5)
	for _, row := range []struct {
		call string
		code string
		want string
	}{
		{"mkdir", f.mkdir("d"), ""},
		{"mkdir again", f.mkdir("/top/d"), "EEXIST"},
		{"mkdir outside", f.mkdir("/d"), "ENOENT"},
		{"mkdir below nothing", f.mkdir("e/f"), "ENOENT"},
		{"mkdir below d", f.mkdir("./d//e"), ""},
		{"rmdir of what is not empty", f.Rmdir("d"), "ENOTEMPTY"},
		{"rmdir of the root", f.Rmdir("."), "ENOTEMPTY"},
		{"unlink of a directory", f.Unlink("d"), "EISDIR"},
		{"rename into itself", f.Rename("d", "d/e/f"), "EINVAL"},
		{"link of a directory", f.Link("d", "l"), "EPERM"},
		{"rename over nothing", f.Rename("d/e", "d/../f"), ""},
		{"mkdir", f.mkdir("g"), ""},
		{"rename over an empty directory", f.Rename("f", "g"), ""},
		{"mkdir", f.mkdir("f"), ""},
		{"rename over nothing that is there", f.RenameNoReplace("f", "g"), "EEXIST"},
		{"rename to the same", f.RenameNoReplace("f", "f"), "EEXIST"},
		{"rename", f.RenameNoReplace("f", "h"), ""},
		{"rename of nothing", f.Rename("f", "h"), "ENOENT"},
		{"utimes of nothing", f.Utimes("f", 1), "ENOENT"},
	} {
		if row.code != row.want {
			t.Errorf("%s: %q, want %q", row.call, row.code, row.want)
		}
	}
}

func (f *Tree) mkdir(path string) string {
	_, code := f.Create(path, filesystem.Directory, "")
	return code
}

// TestIdentity is about inode numbers: one that is free goes to the next file, but not
// while the old one is open or has another name.
func TestIdentity(t *testing.T) {
	f := New("", 1, 0)
	f.Actor = 1
	number := func(path string) int32 {
		at, code := f.Find(path, false)
		if code != "" {
			t.Fatal(path, code)
		}
		return at.Node
	}
	f.mkdir("a")
	first, id := number("a"), f.Nodes[number("a")].ID
	f.Rmdir("a")
	f.mkdir("a")
	if number("a") != first || f.Nodes[first].ID == id || f.Nodes[first].Maker() != 1 {
		t.Errorf("the number %d is not reused, or the ID %d is", first, id)
	}
	h, code := f.OpenRead("a")
	if code != "" {
		t.Fatal(code)
	}
	f.Rmdir("a")
	f.mkdir("a")
	if number("a") == first {
		t.Error("the number of an open directory is reused")
	}
	f.Rmdir("a")
	f.Close(h)
	f.mkdir("a")
	if number("a") != first {
		t.Error("the number is not reused after the close")
	}
	if code := f.Close(h); code != "EBADF" {
		t.Errorf("a second close: %q", code)
	}
}

// TestLock is about kernel locks: they end with their handle, or its process.
func TestLock(t *testing.T) {
	f := New("", 1, 0)
	open := func(actor uint8) filesystem.Handle {
		f.Actor = actor
		h, code := f.OpenRead("/")
		if code != "" {
			t.Fatal(code)
		}
		return h
	}
	one, other, third := open(1), open(2), open(2)
	expect := func(h filesystem.Handle, want string) {
		t.Helper()
		if code := f.TryLock(h); code != want {
			t.Errorf("%q, want %q", code, want)
		}
	}
	expect(one, "")
	expect(one, "")
	expect(other, "EAGAIN")
	f.Close(one)
	expect(one, "EBADF")
	expect(other, "")
	expect(third, "EAGAIN")
	f.Unlock(third)
	expect(open(1), "EAGAIN")
	f.CloseAll(2)
	if len(f.Handles) != 1 {
		t.Errorf("%d handles are open, want 1", len(f.Handles))
	}
	expect(open(3), "")
}

// TestCopy changes a filesystem and its copy, and neither sees the other's changes.
func TestCopy(t *testing.T) {
	f := New("", 1, 0)
	f.mkdir("a")
	h, _ := f.OpenRead("a")
	var g Tree
	g.CopyFrom(f)
	f.Rename("a", "b")
	f.Futimes(h, 7)
	g.mkdir("c")
	g.Close(h)
	for path, there := range map[string][2]bool{"a": {false, true}, "b": {true, false}, "c": {false, true}} {
		_, inF := f.Find(path, false)
		_, inG := g.Find(path, false)
		if (inF == "") != there[0] || (inG == "") != there[1] {
			t.Errorf("%s: %q and %q", path, inF, inG)
		}
	}
	if at, _ := g.Find("a", false); g.Nodes[at.Node].Mtime != 0 || f.Open(h) == nil || g.Open(h) != nil {
		t.Error("the copy shares something")
	}
}
