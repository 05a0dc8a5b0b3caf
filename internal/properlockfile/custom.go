package properlockfile

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"time"

	"github.com/seed-c461eb89/nodelock/compat/nodeerror"
	"github.com/seed-c461eb89/nodelock/internal/callerror"
	"github.com/seed-c461eb89/nodelock/internal/filesystem"
	"github.com/seed-c461eb89/nodelock/internal/nodetime"
)

// An FS is a filesystem that the caller supplies (P19).
type FS interface {
	Mkdir(name string, perm fs.FileMode) error
	Rmdir(name string) error
	Stat(name string) (fs.FileInfo, error)
	Utimes(name string, atime, mtime time.Time) error
	Realpath(name string) (string, error)
}

// custom makes the calls of an FS. Its errors get Node's fields, and a panic becomes an
// error, so that a lock never stays behind for one.
type custom struct{ fs FS }

func (c custom) Mkdir(path string) (err error) {
	defer recovered("mkdir", path, &err)
	return described("mkdir", path, c.fs.Mkdir(path, 0o777))
}

func (c custom) Rmdir(path string) (err error) {
	defer recovered("rmdir", path, &err)
	return described("rmdir", path, c.fs.Rmdir(path))
}

func (c custom) Stat(path string) (stat filesystem.Stat, err error) {
	defer recovered("stat", path, &err)
	info, err := c.fs.Stat(path)
	if err != nil {
		return stat, described("stat", path, err)
	}
	if info == nil {
		return stat, described("stat", path, errors.New("the FS returned neither a FileInfo nor an error"))
	}
	return filesystem.Stat{ModTime: info.ModTime()}, nil
}

func (c custom) Utimes(path string, ms int64) (err error) {
	defer recovered("utime", path, &err)
	t := nodetime.Stored(ms)
	return described("utime", path, c.fs.Utimes(path, t, t))
}

func (c custom) Realpath(path string) (resolved string, err error) {
	defer recovered("lstat", path, &err)
	resolved, err = c.fs.Realpath(path)
	if err == nil && resolved == "" {
		err = errors.New("the FS returned neither a path nor an error")
	}
	return resolved, described("lstat", path, err)
}

func recovered(call, path string, err *error) {
	if p := recover(); p != nil {
		cause, _ := p.(error)
		*err = &nodeerror.Error{
			Syscall: call, Path: path, Err: cause,
			Message: fmt.Sprintf("the FS panicked, %s '%s': %v", call, path, p),
		}
	}
}

// described gives any error Node's fields. One that says nothing of a system error keeps
// its text and has no code, as an error that JavaScript code makes up.
func described(call, path string, err error) error {
	if err == nil {
		return nil
	}
	var known *nodeerror.Error
	var errno syscall.Errno
	e := &nodeerror.Error{Syscall: call, Path: path, Message: err.Error()}
	switch {
	case errors.As(err, &known):
		e.Code, e.Errno, e.Syscall, e.Path = known.Code, known.Errno, known.Syscall, known.Path
	case errors.As(err, &errno):
		e = callerror.FromErrno(call, path, "", errno)
	case errors.Is(err, fs.ErrNotExist):
		e = callerror.FromCode("ENOENT", call, path, "")
	case errors.Is(err, fs.ErrExist):
		e = callerror.FromCode("EEXIST", call, path, "")
	case errors.Is(err, fs.ErrPermission):
		e = callerror.FromCode("EACCES", call, path, "")
	}
	e.Err = err
	return e
}
