//go:build unix

package lockdir_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed-c461eb89/nodelock/compat/lockdir"
)

// What may be in a lock directory and is no record: on the system's own files, where a
// FIFO really blocks and a link really leads somewhere.
func TestWhatIsNoRecord(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside.json")
	must(t, os.WriteFile(outside, []byte(`{"pid":1,"hostname":"h"}`), 0o666))
	for name, make := range map[string]func(path string) error{
		"a FIFO":               func(path string) error { return syscall.Mkfifo(path, 0o666) },
		"a link":               func(path string) error { return os.Symlink(outside, path) },
		"a link to nowhere":    func(path string) error { return os.Symlink("none", path) },
		"a link to a device":   func(path string) error { return os.Symlink("/dev/zero", path) },
		"a link to a terminal": func(path string) error { return os.Symlink("/dev/tty", path) },
		"a socket": func(path string) error {
			// Its path may not be long.
			short, err := os.MkdirTemp("", "s")
			if err != nil {
				return err
			}
			defer os.RemoveAll(short)
			listener, err := net.Listen("unix", filepath.Join(short, "s"))
			if err != nil {
				return err
			}
			defer listener.Close()
			return os.Rename(filepath.Join(short, "s"), path)
		},
	} {
		t.Run(name, func(t *testing.T) {
			lock := newDirectory(t, lockdir.Options{})
			must(t, os.Mkdir(lock.Dir(), 0o777))
			if err := make(filepath.Join(lock.Dir(), "x.json")); err != nil {
				t.Skipf("cannot be made here: %v", err)
			}
			done := time.AfterFunc(time.Minute, func() { panic("it blocks") })
			defer done.Stop()
			lease := acquire(t, lock)
			must(t, lease.Verify(context.Background()))
			must(t, lease.Release())
			nothingLeft(t, filepath.Dir(lock.Dir()))
			if text, err := os.ReadFile(outside); err != nil || len(text) == 0 {
				t.Errorf("what the link leads to: %q, %v", text, err)
			}
		})
	}
}

// A record that is sparse and huge is neither read to the end nor trusted.
func TestHugeRecord(t *testing.T) {
	lock := newDirectory(t, lockdir.Options{})
	must(t, os.Mkdir(lock.Dir(), 0o777))
	record := filepath.Join(lock.Dir(), "x.json")
	must(t, os.WriteFile(record, []byte(`{"pid":999999999,"hostname":"h"}`), 0o666))
	if err := os.Truncate(record, 1<<40); err != nil {
		must(t, os.Truncate(record, 1<<31))
	}
	if _, err := lock.Acquire(context.Background()); !errors.Is(err, lockdir.ErrHeld) || !strings.HasSuffix(err.Error(), "PID unknown") {
		t.Errorf("young: %v", err)
	}
	long := time.Now().Add(-3 * time.Minute)
	must(t, os.Chtimes(record, long, long))
	must(t, acquire(t, lock).Release())
}

// Files that others must be able to recover have the modes that the umask leaves (§9
// number 13).
func TestModes(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	vault := t.TempDir()
	lock, err := lockdir.New(vault, filepath.Join(vault, "a"), lockdir.Options{})
	must(t, err)
	lease := acquire(t, lock)
	for path, want := range map[string]os.FileMode{
		filepath.Join(vault, ".palee"): 0o777, filepath.Join(vault, ".palee", "locks"): 0o777,
		lock.Dir(): 0o777, filepath.Join(lock.Dir(), lease.ID()+".json"): 0o666,
	} {
		info, err := os.Stat(path)
		must(t, err)
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, want %v", path, info.Mode().Perm(), want)
		}
	}
	must(t, lease.Release())
}

// A vault whose locks would be elsewhere is refused, and nothing is created there.
func TestOutOfTheVault(t *testing.T) {
	for name, prepare := range map[string]func(vault, outside string) error{
		".palee":            func(vault, outside string) error { return os.Symlink(outside, filepath.Join(vault, ".palee")) },
		".palee to nowhere": func(vault, outside string) error { return os.Symlink(outside+"/none", filepath.Join(vault, ".palee")) },
		".palee in a circle": func(vault, outside string) error {
			return os.Symlink(filepath.Join(vault, ".palee"), filepath.Join(vault, ".palee"))
		},
		"locks": func(vault, outside string) error {
			return errors.Join(os.Mkdir(filepath.Join(vault, ".palee"), 0o777), os.Symlink(outside, filepath.Join(vault, ".palee", "locks")))
		},
		"the vault to nowhere": func(vault, outside string) error {
			return errors.Join(os.Remove(vault), os.Symlink(outside+"/none", vault))
		},
	} {
		t.Run(name, func(t *testing.T) {
			vault, outside := filepath.Join(t.TempDir(), "vault"), t.TempDir()
			must(t, os.Mkdir(vault, 0o777))
			must(t, prepare(vault, outside))
			_, err := lockdir.New(vault, filepath.Join(vault, "a"), lockdir.Options{})
			if !errors.Is(err, lockdir.ErrContainment) || lockdir.ExitCode(err) != 3 {
				t.Errorf("got %v", err)
			}
			nothingLeft(t, outside)
		})
	}
	// A vault that is a link is what it leads to.
	real := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	must(t, os.Symlink(real, link))
	a, err := lockdir.New(link, filepath.Join(link, "a"), lockdir.Options{})
	must(t, err)
	b, err := lockdir.New(real, filepath.Join(real, "a"), lockdir.Options{})
	must(t, err)
	if a.Dir() != b.Dir() {
		t.Errorf("%s and %s", a.Dir(), b.Dir())
	}
}

// A lock directory that is a link is not cleared.
func TestLockDirectoryIsALink(t *testing.T) {
	lock := newDirectory(t, lockdir.Options{})
	home := t.TempDir()
	must(t, os.WriteFile(filepath.Join(home, "letter"), nil, 0o666))
	must(t, os.Symlink(home, lock.Dir()))
	_, err := lock.Acquire(context.Background())
	if err == nil || lockdir.ExitCode(err) != 5 || !strings.HasPrefix(err.Error(), "ENOTDIR: not a directory, scandir '") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(filepath.Join(home, "letter")); err != nil {
		t.Errorf("something was removed: %v", err)
	}
}
