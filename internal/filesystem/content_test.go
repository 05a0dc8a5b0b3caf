package filesystem

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/seed-c461eb89/nodelock/compat/nodeerror"
)

func TestWriteAndRead(t *testing.T) {
	emptyDirectory(t)
	var system OS
	long := bytes.Repeat([]byte("0123456789"), 1000)
	for _, data := range [][]byte{[]byte("first"), nil, long, []byte("shorter")} {
		h, err := system.OpenTruncate("a")
		must(t, err)
		must(t, system.Write(h, data))
		must(t, system.Close(h))
		for _, limit := range []int{0, 1, len(data), len(data) + 1, 1 << 20} {
			h, err := system.OpenNoFollow("a")
			must(t, err)
			got, err := system.Read(h, limit)
			must(t, err)
			must(t, system.Close(h))
			if want := data[:min(limit, len(data))]; !bytes.Equal(got, want) {
				t.Errorf("read %d bytes of %d up to %d", len(got), len(data), limit)
			}
		}
	}
	if _, err := system.OpenNoFollow("none"); nodeerror.Code(err) != "ENOENT" {
		t.Errorf("open what is not there: %v", err)
	}
	if _, err := system.OpenTruncate("none/a"); nodeerror.Code(err) != "ENOENT" {
		t.Errorf("create where there is no directory: %v", err)
	}
	if _, err := system.OpenTruncate("a\x00b"); nodeerror.Code(err) != "ERR_INVALID_ARG_VALUE" {
		t.Errorf("create with a NUL: %v", err)
	}
	must(t, os.Mkdir("d", 0o777))
	h, err := system.OpenNoFollow("d")
	must(t, err)
	stat, err := system.Fstat(h)
	must(t, err)
	must(t, system.Close(h))
	if stat.Type != Directory {
		t.Errorf("a directory is opened as a %v", stat.Type)
	}
}

// RenameNoReplace moves files and directories where nothing is, and replaces nothing,
// be it an empty directory. Where the system cannot do that it says so and does nothing.
func TestRenameNoReplace(t *testing.T) {
	emptyDirectory(t)
	var system OS
	must(t, os.WriteFile("probe", nil, 0o666))
	switch err := system.RenameNoReplace("probe", "probed"); nodeerror.Code(err) {
	case "":
	case "EINVAL", "ENOSYS", "ENOTSUP":
		if _, err := os.Lstat("probe"); err != nil {
			t.Errorf("it says that it cannot, and has: %v", err)
		}
		t.Skipf("not here: %v", err)
	default:
		t.Fatal(err)
	}
	for _, from := range []string{"file", "directory"} {
		must(t, os.WriteFile("file", []byte("from"), 0o666))
		must(t, os.Mkdir("directory", 0o777))
		must(t, os.WriteFile("directory/in", nil, 0o666))
		for name, prepare := range map[string]func() error{
			"a file":             func() error { return os.WriteFile("to", []byte("to"), 0o666) },
			"an empty directory": func() error { return os.Mkdir("to", 0o777) },
			"a directory":        func() error { return os.MkdirAll("to/below", 0o777) },
		} {
			must(t, prepare())
			before, err := os.Lstat("to")
			must(t, err)
			err = system.RenameNoReplace(from, "to")
			// On Windows a directory in the way may be refused in another way.
			if code := nodeerror.Code(err); code != "EEXIST" && code != "EPERM" {
				t.Errorf("%s onto %s: %v", from, name, err)
			}
			after, err := os.Lstat("to")
			if err != nil || !os.SameFile(before, after) {
				t.Errorf("%s onto %s has replaced it: %v", from, name, err)
			}
			if _, err := os.Lstat(from); err != nil {
				t.Errorf("%s onto %s: %v", from, name, err)
			}
			must(t, os.RemoveAll("to"))
		}
		must(t, system.RenameNoReplace(from, "to"))
		if _, err := os.Lstat(from); err == nil {
			t.Errorf("%s is still there", from)
		}
		must(t, os.RemoveAll("to"))
		must(t, os.RemoveAll("file"))
		must(t, os.RemoveAll("directory"))
	}
	err := system.RenameNoReplace("none", "to")
	if nodeerror.Code(err) != "ENOENT" || !strings.HasPrefix(err.Error(), "ENOENT: no such file or directory, rename 'none' -> 'to'") {
		t.Errorf("rename what is not there: %v", err)
	}
	if err := system.RenameNoReplace("a", "b\x00"); nodeerror.Code(err) != "ERR_INVALID_ARG_VALUE" {
		t.Errorf("rename with a NUL: %v", err)
	}
}
