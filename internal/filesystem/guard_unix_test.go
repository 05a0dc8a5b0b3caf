//go:build unix

package filesystem

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/seed-c461eb89/nodelock/compat/nodeerror"
)

func TestGuard(t *testing.T) {
	t.Chdir(t.TempDir())
	var system OS
	must(t, os.Mkdir("d", 0o777))
	must(t, os.Symlink("d", "l"))
	must(t, os.WriteFile("f", nil, 0o666))
	before := tree(t)
	h, err := system.TryGuard("d")
	must(t, err)
	for _, path := range []string{"d", "l", "./d/"} {
		if _, err := system.TryGuard(path); err != ErrGuarded {
			t.Errorf("%s: %v", path, err)
		}
	}
	other, err := system.TryGuard(".")
	must(t, err)
	// A child that is started meanwhile does not keep the guard.
	child := exec.Command("sleep", "1")
	must(t, child.Start())
	must(t, system.Unguard(h))
	must(t, system.Unguard(other))
	h, err = system.TryGuard("l")
	must(t, err)
	must(t, system.Unguard(h))
	if after := tree(t); len(after) != len(before) {
		t.Errorf("%v; was %v", after, before)
	}
	for path, code := range map[string]string{"f": "ENOTDIR", "nowhere": "ENOENT", "": "ENOENT", "a\x00": "ERR_INVALID_ARG_VALUE"} {
		if _, err := system.TryGuard(path); nodeerror.Code(err) != code {
			t.Errorf("%q: %v; want %s", path, err, code)
		}
	}
	must(t, child.Wait())
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

// Futimes stores what Utimes does, which is what Node stores.
func TestFutimes(t *testing.T) {
	t.Chdir(t.TempDir())
	var system OS
	must(t, system.Mkdir("d"))
	must(t, system.Mkdir("e"))
	directory, err := system.PinDirectory("d")
	must(t, err)
	file, err := system.OpenExclusive("f")
	must(t, err)
	must(t, os.Rename("d", "moved"))
	for _, ms := range milliseconds()[:60] {
		must(t, system.Utimes("e", ms))
		want, err := system.Stat("e")
		must(t, err)
		for path, h := range map[string]Handle{"moved": directory, "f": file} {
			must(t, system.Futimes(h, ms))
			stat, err := system.Stat(path)
			must(t, err)
			if !stat.ModTime.Equal(want.ModTime) {
				t.Errorf("%d: %v; want %v", ms, stat.ModTime, want.ModTime)
			}
		}
	}
	must(t, system.Close(directory))
	must(t, system.Close(file))
	err = system.Futimes(Handle(9999), time.Now().UnixMilli())
	if nodeerror.Code(err) != "EBADF" || err.Error() != "EBADF: bad file descriptor, futime" {
		t.Error(err)
	}
	if _, _, err := system.FstatIdentity(Handle(9999)); nodeerror.Code(err) != "EBADF" {
		t.Error(err)
	}
}
