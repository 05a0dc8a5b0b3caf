package filesystem

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A call is one call of the seam, in a form that can be handed to another process: to
// Node, or to this test's binary run in other circumstances.
type call struct {
	Name string   `json:"name"`
	Args []string `json:"args,omitempty"`
}

func (c call) String() string { return fmt.Sprintf("%s%q", c.Name, c.Args) }

// make makes the call, closing what it opens.
func (c call) make() (value any, err error) {
	var system OS
	opened := func(h Handle, openErr error) {
		if err = openErr; err == nil {
			err = system.Close(h)
		} else if h != noHandle {
			panic(fmt.Sprintf("%v: handle %d beside an error", c, h))
		}
	}
	described := func(s Stat, statErr error) {
		if err = statErr; err != nil && s != (Stat{}) {
			panic(fmt.Sprintf("%v: %v beside an error", c, s))
		}
	}
	switch c.Name {
	case "OpenExclusive":
		opened(system.OpenExclusive(c.Args[0]))
	case "OpenRead":
		opened(system.OpenRead(c.Args[0]))
	case "Close":
		err = system.Close(Handle(9999))
	case "Fstat":
		described(system.Fstat(Handle(9999)))
	case "Stat":
		described(system.Stat(c.Args[0]))
	case "Lstat":
		described(system.Lstat(c.Args[0]))
	case "Unlink":
		err = system.Unlink(c.Args[0])
	case "Link":
		err = system.Link(c.Args[0], c.Args[1])
	case "Rename":
		err = system.Rename(c.Args[0], c.Args[1])
	case "Mkdir":
		err = system.Mkdir(c.Args[0])
	case "Rmdir":
		err = system.Rmdir(c.Args[0])
	case "Utimes":
		err = system.Utimes(c.Args[0], 1000)
	case "Realpath":
		var path string
		if path, err = system.Realpath(c.Args[0]); err == nil {
			value = path
		}
	case "Readdir":
		var names []string
		if names, err = system.Readdir(c.Args[0]); err == nil {
			value = names
		}
	case "Getwd":
		var path string
		if path, err = system.Getwd(); err == nil {
			value = path
		}
	default:
		panic("no such call: " + c.Name)
	}
	return value, err
}

// tree returns everything below the working directory, so that it can be seen to be as
// it was.
func tree(t *testing.T) []string {
	t.Helper()
	var entries []string
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrPermission) {
			return nil
		}
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		entries = append(entries, fmt.Sprint(path, " ", info.Mode(), " ", info.ModTime().UnixNano()))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

// causedBy checks that an error unwraps to Go's own account of the failure.
func causedBy(t *testing.T, err error) {
	t.Helper()
	var (
		path *fs.PathError
		link *os.LinkError
		call *os.SyscallError
		no   syscall.Errno
	)
	if !errors.As(err, &path) && !errors.As(err, &link) && !errors.As(err, &call) {
		t.Errorf("%v unwraps to no error of Go's", err)
	}
	if !errors.As(err, &no) {
		t.Errorf("%v unwraps to no errno", err)
	}
}
