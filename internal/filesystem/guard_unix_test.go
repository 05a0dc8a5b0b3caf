//go:build unix

package filesystem

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/seed-c461eb89/nodelock/compat/nodeerror"
)

func TestGuard(t *testing.T) {
	t.Chdir(t.TempDir())
	var system OS
	must(t, os.Mkdir("d", 0o777))
	must(t, os.Symlink("d", "l"))
	must(t, os.WriteFile("f", nil, 0o666))
	before := tree(t)
	open := func(path string) Handle {
		h, err := system.OpenDirectory(path)
		must(t, err)
		t.Cleanup(func() { must(t, system.Close(h)) })
		return h
	}
	d := open("d")
	g, err := system.TryGuard(d)
	must(t, err)
	for _, path := range []string{"d", "l", "./d/"} {
		if _, err := system.TryGuard(open(path)); err != ErrGuarded {
			t.Errorf("%s: %v", path, err)
		}
	}
	other, err := system.TryGuard(open("."))
	must(t, err)
	// A child that is started meanwhile does not keep the guard.
	child := exec.Command("sleep", "1")
	must(t, child.Start())
	must(t, system.Unguard(g))
	must(t, system.Unguard(other))
	// The handle can be used again, and so can another one.
	for _, h := range []Handle{d, open("l"), d} {
		g, err := system.TryGuard(h)
		must(t, err)
		must(t, system.Unguard(g))
	}
	// The end of the handle is the end of the guard.
	h, err := system.OpenDirectory("d")
	must(t, err)
	_, err = system.TryGuard(h)
	must(t, err)
	must(t, system.Close(h))
	g, err = system.TryGuard(d)
	must(t, err)
	must(t, system.Unguard(g))
	if diff := cmp.Diff(before, tree(t)); diff != "" {
		t.Errorf("the files have changed (-before +after):\n%s", diff)
	}
	for path, code := range map[string]string{"f": "ENOTDIR", "nowhere": "ENOENT", "": "ENOENT", "a\x00": "ERR_INVALID_ARG_VALUE"} {
		if _, err := system.OpenDirectory(path); nodeerror.Code(err) != code {
			t.Errorf("%q: %v; want %s", path, err, code)
		}
	}
	must(t, child.Wait())
}

// The kernel's lock belongs to the handle, and not to the process: it is refused to another
// handle, and dies with its own.
func TestFlock(t *testing.T) {
	t.Chdir(t.TempDir())
	var system OS
	must(t, os.Mkdir("d", 0o777))
	must(t, os.Symlink("f", "l"))
	f, err := system.PinNew("f")
	must(t, err)
	d, err := system.PinDirectory("d")
	must(t, err)
	for path, h := range map[string]Handle{"f": f, "d": d} {
		must(t, system.TryFlock(h))
		other, err := system.PinForFlock(path)
		must(t, err)
		if err := system.TryFlock(other); err != ErrFlocked {
			t.Errorf("%s is locked twice: %v", path, err)
		}
		must(t, system.Funlock(h))
		must(t, system.TryFlock(other))
		if err := system.TryFlock(h); err != ErrFlocked {
			t.Errorf("%s is locked twice: %v", path, err)
		}
		must(t, system.Close(other))
		must(t, system.TryFlock(h))
		must(t, os.Remove(path)) // which does not end the lock
		must(t, system.Close(h))
	}
	if err := system.TryFlock(Handle(9999)); nodeerror.Code(err) != "EBADF" || err.Error() != "EBADF: bad file descriptor, flock" {
		t.Error(err)
	}
	// Neither a link nor a pipe is a trap.
	if _, err := system.PinForFlock("l"); err == nil {
		t.Error("a link is followed")
	}
	must(t, unix.Mkfifo("p", 0o666))
	p, err := system.PinForFlock("p")
	must(t, err)
	must(t, system.Close(p))
	must(t, os.Symlink("nowhere", "dangling"))
	for path, code := range map[string]string{"dangling": "EEXIST", "d/x": "ENOENT", "p": "EEXIST", "a\x00": "ERR_INVALID_ARG_VALUE"} {
		if _, err := system.PinNew(path); nodeerror.Code(err) != code {
			t.Errorf("PinNew(%q): %v; want %s", path, err, code)
		}
	}
}

// While a file is open its identity is its own, and no longer.
func TestPin(t *testing.T) {
	t.Chdir(t.TempDir())
	var system OS
	for _, make := range []func(string) error{
		system.Mkdir,
		func(path string) error { return os.WriteFile(path, nil, 0o600) },
		func(path string) error { return os.Symlink("nowhere", path) },
	} {
		must(t, make("a"))
		stat, want, err := system.LstatIdentity("a")
		must(t, err)
		h, err := system.Pin("a")
		if nodeerror.Code(err) == "ELOOP" {
			continue // not on this system
		}
		must(t, err)
		same, got, err := system.FstatIdentity(h)
		must(t, err)
		if got != want || same != stat {
			t.Errorf("%v, %v; want %v, %v", same, got, stat, want)
		}
		must(t, os.Rename("a", "b"))
		_, got, err = system.LstatIdentity("b")
		must(t, err)
		if got != want {
			t.Errorf("%v; want %v", got, want)
		}
		must(t, os.Remove("b"))
		for range 20 {
			must(t, make("a"))
			_, got, err := system.LstatIdentity("a")
			must(t, err)
			if got == want {
				t.Error("an identity is given out twice")
			}
			must(t, os.Remove("a"))
		}
		must(t, system.Close(h))
	}
	must(t, os.WriteFile("f", nil, 0o600))
	for path, code := range map[string]string{"nowhere": "ENOENT", "f/x": "ENOTDIR", "": "ENOENT", "a\x00": "ERR_INVALID_ARG_VALUE"} {
		if _, err := system.Pin(path); nodeerror.Code(err) != code {
			t.Errorf("Pin(%q): %v; want %s", path, err, code)
		}
		if _, _, err := system.LstatIdentity(path); nodeerror.Code(err) != code {
			t.Errorf("LstatIdentity(%q): %v; want %s", path, err, code)
		}
	}
	for path, code := range map[string]string{"f": "ENOTDIR", "nowhere": "ENOENT"} {
		if _, err := system.PinDirectory(path); nodeerror.Code(err) != code {
			t.Errorf("PinDirectory(%q): %v; want %s", path, err, code)
		}
	}
}

// Futimes sets both times of what the handle has open, wherever that is.
func TestFutimes(t *testing.T) {
	t.Chdir(t.TempDir())
	var system OS
	must(t, system.Mkdir("d"))
	directory, err := system.PinDirectory("d")
	must(t, err)
	file, err := system.PinNew("f")
	must(t, err)
	must(t, os.Rename("d", "moved"))
	mtime := time.Unix(1700000000, 123456000)
	atime := time.Unix(1700086400, 424194000)
	for path, h := range map[string]Handle{"moved": directory, "f": file} {
		must(t, system.Futimes(h, path, atime, mtime))
		stat, err := system.Stat(path)
		must(t, err)
		if !stat.ModTime.Equal(mtime) || !stat.AccessTime.Equal(atime) {
			t.Errorf("%s: modified %v, accessed %v", path, stat.ModTime, stat.AccessTime)
		}
	}
	must(t, system.Close(directory))
	must(t, system.Close(file))
	err = system.Futimes(Handle(9999), "", atime, mtime)
	if nodeerror.Code(err) != "EBADF" || err.Error() != "EBADF: bad file descriptor, futime" {
		t.Error(err)
	}
	if _, _, err := system.FstatIdentity(Handle(9999)); nodeerror.Code(err) != "EBADF" {
		t.Error(err)
	}
}
