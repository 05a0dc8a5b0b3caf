package filesystem

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/seed-c461eb89/nodelock/compat/nodeerror"
	"github.com/seed-c461eb89/nodelock/internal/nodetime"
)

// These tests hold on every system.

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// emptyDirectory makes a directory and goes there. (Go's own way to remove a test's
// directory fails on Wine.)
func emptyDirectory(t *testing.T) {
	t.Helper()
	directory, err := os.MkdirTemp("", "filesystem")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(directory) })
	t.Chdir(directory)
}

func TestLockFile(t *testing.T) {
	emptyDirectory(t)
	var system OS
	start := time.Now()
	h, err := system.OpenExclusive("a.lock")
	must(t, err)
	opened, err := system.Fstat(h)
	must(t, err)
	must(t, system.Close(h))
	named, err := system.Stat("a.lock")
	must(t, err)
	itself, err := system.Lstat("a.lock")
	must(t, err)
	if opened != named || named != itself {
		t.Errorf("fstat %v, stat %v, lstat %v", opened, named, itself)
	}
	if opened.Type != File {
		t.Errorf("it is a %v", opened.Type)
	}
	// Filesystems read the time from a coarser clock.
	for _, stamp := range []time.Time{opened.ModTime, opened.ChangeTime} {
		if off := stamp.Sub(start); off < -2*time.Second || off > 2*time.Second {
			t.Errorf("it was made at %v, which is %v off", stamp, off)
		}
	}
	if info, err := os.Stat("a.lock"); err != nil || info.Size() != 0 || !info.ModTime().Equal(opened.ModTime) {
		t.Error(info, err)
	}

	_, err = system.OpenExclusive("a.lock")
	if !errors.Is(err, fs.ErrExist) || err.Error() != "EEXIST: file already exists, open 'a.lock'" {
		t.Error(err)
	}
	h, err = system.OpenRead("a.lock")
	must(t, err)
	// Others may remove what is open.
	must(t, system.Unlink("a.lock"))
	must(t, system.Close(h))
	if err := system.Unlink("a.lock"); !errors.Is(err, fs.ErrNotExist) || nodeerror.Code(err) != "ENOENT" {
		t.Error(err)
	}
}

func TestTakeover(t *testing.T) {
	emptyDirectory(t)
	var system OS
	h, err := system.OpenExclusive("a.lock.STALE")
	must(t, err)
	must(t, system.Close(h))
	must(t, system.Link("a.lock.STALE", "a.lock"))
	err = system.Link("a.lock.STALE", "a.lock")
	if !errors.Is(err, fs.ErrExist) || err.Error() != "EEXIST: file already exists, link 'a.lock.STALE' -> 'a.lock'" {
		t.Error(err)
	}
	must(t, system.Unlink("a.lock.STALE"))
	must(t, system.Rename("a.lock", "b.lock"))
	names, err := system.Readdir(".")
	if err != nil || fmt.Sprint(names) != "[b.lock]" {
		t.Error(names, err)
	}
	must(t, os.WriteFile("c.lock", []byte("c"), 0o644))
	must(t, system.Rename("c.lock", "b.lock"))
	if content, err := os.ReadFile("b.lock"); string(content) != "c" {
		t.Error(content, err)
	}
}

func TestLockDirectory(t *testing.T) {
	emptyDirectory(t)
	var system OS
	must(t, system.Mkdir("a.lock"))
	err := system.Mkdir("a.lock")
	if !errors.Is(err, fs.ErrExist) || err.Error() != "EEXIST: file already exists, mkdir 'a.lock'" {
		t.Error(err)
	}
	for _, ms := range []int64{1700000000076, 1700000001005, 1600000000000} {
		must(t, system.Utimes("a.lock", ms))
		s, err := system.Stat("a.lock")
		if err != nil || s.Type != Directory || nodetime.Milliseconds(s.ModTime) != ms {
			t.Errorf("%d: %v, %v", ms, s, err)
		}
	}
	must(t, os.WriteFile("a.lock/x", nil, 0o644))
	if err := system.Rmdir("a.lock"); err == nil || err.Error() != "ENOTEMPTY: directory not empty, rmdir 'a.lock'" {
		t.Error(err)
	}
	must(t, system.Unlink("a.lock/x"))
	must(t, system.Rmdir("a.lock"))
	if err := system.Rmdir("a.lock"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestPathsWithNUL(t *testing.T) {
	emptyDirectory(t)
	for _, name := range []string{"OpenExclusive", "OpenRead", "Stat", "Lstat", "Unlink", "Mkdir", "Rmdir", "Utimes", "Readdir", "Realpath"} {
		_, err := call{name, []string{"a\x00b"}}.make()
		if nodeerror.Code(err) != "ERR_INVALID_ARG_VALUE" || !strings.HasSuffix(err.Error(), `Received 'a\x00b'`) {
			t.Errorf("%s: %v", name, err)
		}
	}
	must(t, os.WriteFile("a", nil, 0o644))
	for _, name := range []string{"Link", "Rename"} {
		for _, args := range [][]string{{"a\x00b", "c"}, {"a", "a\x00b"}} {
			_, err := call{name, args}.make()
			if nodeerror.Code(err) != "ERR_INVALID_ARG_VALUE" || !strings.HasSuffix(err.Error(), `Received 'a\x00b'`) {
				t.Errorf("%s%q: %v", name, args, err)
			}
		}
	}
	if names, err := (OS{}).Readdir("."); err != nil || fmt.Sprint(names) != "[a]" {
		t.Error(names, err)
	}
}

func TestClosedHandle(t *testing.T) {
	for _, name := range []string{"Close", "Fstat"} {
		if _, err := (call{Name: name}).make(); nodeerror.Code(err) != "EBADF" {
			t.Errorf("%s: %v", name, err)
		}
	}
}
