package mutex

import (
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed-c461eb89/nodelock/compat/nodeerror"
	"github.com/seed-c461eb89/nodelock/internal/callerror"
	"github.com/seed-c461eb89/nodelock/internal/filesystem"
)

// A Target is a lock of one of the protocols: what is to be at which path.
type Target struct {
	protocol
	// locate returns the path of the lock, which is absolute and has no links but, where
	// it is not made of a file's, the last component.
	locate func(Filesystem) (string, error)
}

// errGone says that a lock was created, and removed by somebody else.
var errGone = errors.New("mutex: the lock is gone again")

// A protocol is what differs from one to the other.
type protocol interface {
	// create makes the lock and opens it. If there is one it fails with EEXIST.
	create(c *claim) (filesystem.Handle, error)
	// remove removes what is a lock's by its type.
	remove(files Filesystem, path string) error
	// kind is the lock's type, and wrong the error of a path that has another.
	kind() filesystem.Type
	wrong(path string, is filesystem.Type) error
	// filetime is when the lock was renewed last.
	filetime(filesystem.Stat) time.Time
	// held is the error of a lock that somebody else has.
	held(path string) error
	// adopted says that a participant may take a lock for his own and renew it that
	// another has made, so that a holder whose lock has been renewed by somebody else has
	// lost it. The files of lockfile are renewed by nobody else who matters.
	adopted() bool
	// linkable says that a lock can have a second name.
	linkable() bool
}

// Lockfile is the lock file path. ByCtime says whether its age is counted from the ctime,
// and else from the mtime; it is asked each time.
func Lockfile(path string, byCtime func() bool) Target {
	return Target{file{byCtime}, func(files Filesystem) (string, error) {
		if path == "" {
			return "", callerror.FromCode("ENOENT", "open", "", "")
		}
		return canonical(files, path)
	}}
}

// ProperLockfile is the lock directory of a file, or lockfilePath if it is not empty. The
// file is resolved as realpath does, so that it must be there, or if noRealpath is set
// made absolute only.
func ProperLockfile(path, lockfilePath string, noRealpath bool) Target {
	return Target{directory{}, func(files Filesystem) (string, error) {
		resolve := files.Realpath
		if noRealpath {
			resolve = func(path string) (string, error) { return canonical(files, path) }
		}
		resolved, err := resolve(path)
		if err != nil {
			return "", err
		}
		if lockfilePath != "" {
			return canonical(files, lockfilePath)
		}
		return resolved + ".lock", nil
	}}
}

// canonical returns an absolute path to the same name, without links on the way.
func canonical(files Filesystem, path string) (string, error) {
	path, err := files.Resolve(path)
	if err != nil {
		return "", err
	}
	directory, name := filepath.Split(path)
	if directory, err = files.Realpath(directory); err != nil {
		return "", err
	}
	return join(directory, name), nil
}

// join puts a name below a directory.
func join(directory, name string) string {
	switch {
	case strings.HasSuffix(directory, "/"), strings.HasSuffix(directory, `\`) && filepath.Separator == '\\':
		return directory + name
	case strings.HasPrefix(directory, "/"):
		return directory + "/" + name
	}
	return directory + string(filepath.Separator) + name
}

// file is the protocol of lockfile.
type file struct{ byCtime func() bool }

func (file) create(c *claim) (filesystem.Handle, error) {
	return c.filesystem.OpenExclusive(c.path)
}

func (file) remove(files Filesystem, path string) error { return files.Unlink(path) }
func (file) kind() filesystem.Type                      { return filesystem.File }
func (file) adopted() bool                              { return false }
func (file) linkable() bool                             { return true }
func (file) held(path string) error                     { return callerror.FromCode("EEXIST", "open", path, "") }

func (file) wrong(path string, is filesystem.Type) error {
	code := "EEXIST"
	switch is {
	case filesystem.Directory:
		code = "EISDIR"
	case filesystem.Symlink:
		code = "ELOOP"
	}
	return callerror.FromCode(code, "open", path, "")
}

func (f file) filetime(s filesystem.Stat) time.Time {
	if f.byCtime() {
		return s.ChangeTime
	}
	return s.ModTime
}

// directory is the protocol of proper-lockfile.
type directory struct{}

// create makes the directory aside, opens it there, and renames it: were it made where it
// belongs, somebody who knows no guard could replace it before it is opened, and what was
// opened would be his.
func (d directory) create(c *claim) (filesystem.Handle, error) {
	if !c.guarded {
		return d.createInPlace(c)
	}
	files := c.filesystem
	err := files.Mkdir(c.aside)
	if nodeerror.Code(err) == "EEXIST" {
		if _, err := c.clear(); err != nil {
			return 0, err
		}
		err = files.Mkdir(c.aside)
	}
	if err != nil {
		return d.createInPlace(c)
	}
	h, err := files.PinDirectory(c.aside)
	if err == nil {
		if err = files.RenameNoReplace(c.aside, c.path); err == nil {
			return h, nil
		}
		_ = files.Close(h)
	}
	_ = files.Rmdir(c.aside)
	if nodeerror.Code(err) == "EEXIST" {
		return 0, err
	}
	return d.createInPlace(c)
}

// createInPlace is for where nobody else's directory can be told from one's own anyway,
// or the system cannot rename without replacing.
func (directory) createInPlace(c *claim) (filesystem.Handle, error) {
	files := c.filesystem
	if err := files.Mkdir(c.path); err != nil {
		return 0, err
	}
	h, err := files.PinDirectory(c.path)
	if nodeerror.Code(err) == "ENOENT" {
		return 0, errGone
	}
	if err != nil {
		_ = files.Rmdir(c.path)
	}
	return h, err
}

func (directory) remove(files Filesystem, path string) error { return files.Rmdir(path) }
func (directory) kind() filesystem.Type                      { return filesystem.Directory }

// adopted: proper-lockfile 1.2.0 renews whatever is at its path (P12).
func (directory) adopted() bool                        { return true }
func (directory) linkable() bool                       { return false }
func (directory) filetime(s filesystem.Stat) time.Time { return s.ModTime }

func (directory) wrong(path string, _ filesystem.Type) error {
	return callerror.FromCode("ENOTDIR", "rmdir", path, "")
}

func (directory) held(path string) error {
	err := *ErrLocked
	err.File = strings.TrimSuffix(path, ".lock")
	return &err
}
