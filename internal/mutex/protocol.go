package mutex

import (
	"fmt"
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
	// locate returns the path of the lock, which is absolute, and the file that is to be
	// locked, if that is another one.
	locate func(Filesystem) (path, file string, err error)
}

// A protocol is what differs from one to the other.
type protocol interface {
	// make makes a lock at path and opens it. If there is one it fails with EEXIST.
	make(files Filesystem, path string) (filesystem.Handle, error)
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
}

// noHandle is no handle.
const noHandle = ^filesystem.Handle(0)

// Lockfile is the lock file path. ByCtime says whether its age is counted from the ctime,
// and else from the mtime; it is asked each time.
func Lockfile(path string, byCtime func() bool) Target {
	return Target{file{byCtime}, func(files Filesystem) (string, string, error) {
		path, err := files.Resolve(path)
		return path, "", err
	}}
}

// ProperLockfile is the lock directory of a file, or lockfilePath if it is not empty. The
// file is resolved as realpath does, so that it must be there, or if noRealpath is set
// made absolute only.
func ProperLockfile(path, lockfilePath string, noRealpath bool) Target {
	return Target{directoryLock{}, func(files Filesystem) (string, string, error) {
		resolve := files.Realpath
		if noRealpath {
			resolve = files.Resolve
		}
		file, err := resolve(path)
		if err != nil {
			return "", "", err
		}
		if lockfilePath != "" {
			path, err := files.Resolve(lockfilePath)
			return path, file, err
		}
		return properlock.Path(file), file, nil
	}}
}

// file is the protocol of lockfile.
type file struct{ byCtime func() bool }

func (file) make(files Filesystem, path string) (filesystem.Handle, error) {
	return files.PinNew(path)
}

func (file) remove(files Filesystem, path string) error { return files.Unlink(path) }
func (file) adopted() bool                              { return false }

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

// filetime is the later one of both times where the ctime counts: the ctime is the
// filesystem's clock, and the mtime that a holder sets is this machine's.
func (f file) filetime(s filesystem.Stat) time.Time {
	if f.byCtime() && s.ChangeTime.After(s.ModTime) {
		return s.ChangeTime
	}
	return s.ModTime
}

// directoryLock is the protocol of proper-lockfile.
type directoryLock struct{}

func (directoryLock) make(files Filesystem, path string) (filesystem.Handle, error) {
	if err := files.Mkdir(path); err != nil {
		return noHandle, err
	}
	h, err := files.PinDirectory(path)
	switch {
	case err == nil:
		return h, nil
	case nodeerror.Code(err) == "ENOENT":
		return noHandle, errGone
	}
	_ = files.Rmdir(path)
	return noHandle, err
}

func (directoryLock) remove(files Filesystem, path string) error { return files.Rmdir(path) }

// adopted: proper-lockfile 1.2.0 renews whatever is at its path (P12).
func (directoryLock) adopted() bool                        { return true }
func (directoryLock) filetime(s filesystem.Stat) time.Time { return s.ModTime }

func (directoryLock) wrong(path string, found filesystem.Stat) error {
	if found.Type == filesystem.Directory {
		return nil
	}
	return notLock("ENOTDIR", "rmdir", path, "no directory")
}

func (directoryLock) held(string) *nodeerror.Error {
	return &nodeerror.Error{Code: "ELOCKED", Message: "Lock file is already being held"}
}
