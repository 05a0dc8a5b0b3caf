package mutex

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed-c461eb89/nodelock/compat/nodeerror"
	"github.com/seed-c461eb89/nodelock/internal/callerror"
	"github.com/seed-c461eb89/nodelock/internal/filesystem"
	"github.com/seed-c461eb89/nodelock/internal/libuv"
	"github.com/seed-c461eb89/nodelock/internal/properlock"
)

// A Target is a lock of one of the protocols: what is to be at which path.
type Target struct {
	protocol
	// locate returns the path of the lock, which is absolute and has no links but, where
	// it is not made of a file's, the last component; and the file that is to be locked, if
	// that is another one.
	locate func(Filesystem) (path, file string, err error)
}

// errGone says that a lock was created, and removed by another participant.
var errGone = errors.New("mutex: the lock is gone again")

// A protocol is what differs from one to the other.
type protocol interface {
	// create makes the lock and opens it. If there is one it fails with EEXIST.
	create(c *claim) (filesystem.Handle, error)
	// remove removes what is a lock's by its type.
	remove(files Filesystem, path string) error
	// wrong returns what is wrong with what is at the path, or nil if it can be a lock.
	wrong(path string, found filesystem.Stat) error
	// filetime is when the lock was renewed last.
	filetime(filesystem.Stat) time.Time
	// held is the error of a lock that is held.
	held(path string) *nodeerror.Error
	// adopted says that a participant may take a lock for its own and renew it that
	// another has made, so that a holder whose lock has been renewed by another has lost
	// it. The files of lockfile are renewed by no other participant that matters.
	adopted() bool
	// linkable says that a lock can have a second name.
	linkable() bool
}

// Lockfile is the lock file path. ByCtime says whether its age is counted from the ctime,
// and else from the mtime; it is asked each time.
func Lockfile(path string, byCtime func() bool) Target {
	return Target{file{byCtime}, func(files Filesystem) (string, string, error) {
		path, err := canonical(files, path)
		return path, "", err
	}}
}

// ProperLockfile is the lock directory of a file, or lockfilePath if it is not empty. The
// file is resolved as realpath does, so that it must be there, or if noRealpath is set
// made absolute only.
func ProperLockfile(path, lockfilePath string, noRealpath bool) Target {
	return Target{directory{}, func(files Filesystem) (string, string, error) {
		resolve := files.Realpath
		if noRealpath {
			resolve = func(path string) (string, error) { return canonical(files, path) }
		}
		file, err := resolve(path)
		if err != nil {
			return "", "", err
		}
		if lockfilePath != "" {
			path, err := canonical(files, lockfilePath)
			return path, file, err
		}
		return properlock.Path(file), file, nil
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
func (file) adopted() bool                              { return false }
func (file) linkable() bool                             { return true }

func (file) held(path string) *nodeerror.Error {
	return callerror.FromCode("EEXIST", "open", path, "")
}

// wrong also refuses a file that has something in it: it is no lock of this protocol's, and
// to take it over would delete it.
func (file) wrong(path string, found filesystem.Stat) error {
	switch {
	case found.Type == filesystem.Directory:
		return notLock("EISDIR", "open", path, "a directory")
	case found.Type == filesystem.Symlink:
		return notLock("ELOOP", "open", path, "a symbolic link")
	case found.Type != filesystem.File:
		return notLock("EFTYPE", "open", path, "no regular file")
	case found.Size > 0:
		return notLock("EFTYPE", "open", path, fmt.Sprintf("a file of %d bytes", found.Size))
	}
	return nil
}

// notLock is the error of a path that has something else than a lock.
func notLock(code, call, path, found string) error {
	known, _ := libuv.Lookup(code)
	e := &nodeerror.Error{
		Code: code, Errno: known.Linux, Syscall: call, Path: path, Err: ErrNotLock,
		Message: fmt.Sprintf("%s: '%s' is no lock: it is %s", code, path, found),
	}
	if _, number, ok := libuv.Errno(code); ok {
		e.Errno = number
	}
	return e
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
// belongs, a participant that knows no guard could replace it before it is opened, and what
// was opened would be that one's.
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

// createInPlace is for where another's directory cannot be told from one's own anyway, or
// the system cannot rename without replacing.
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

// adopted: proper-lockfile 1.2.0 renews whatever is at its path (P12).
func (directory) adopted() bool                        { return true }
func (directory) linkable() bool                       { return false }
func (directory) filetime(s filesystem.Stat) time.Time { return s.ModTime }

func (directory) wrong(path string, found filesystem.Stat) error {
	if found.Type == filesystem.Directory {
		return nil
	}
	return notLock("ENOTDIR", "rmdir", path, "no directory")
}

func (directory) held(string) *nodeerror.Error {
	return &nodeerror.Error{Code: "ELOCKED", Message: "Lock file is already being held"}
}
