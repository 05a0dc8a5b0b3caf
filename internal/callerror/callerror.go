// Package callerror describes failed system calls as Node does.
package callerror

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/seed-c461eb89/nodelock/compat/nodeerror"
	"github.com/seed-c461eb89/nodelock/internal/libuv"
)

// FromErrno describes a failed system call by the system's error. Dest is for link
// and rename.
func FromErrno(call, path, dest string, errno syscall.Errno) *nodeerror.Error {
	code, number := libuv.Named(errno)
	return &nodeerror.Error{
		Code: code, Errno: number, Syscall: call, Path: path, Dest: dest,
		Err: cause(call, path, dest, errno),
	}
}

// FromCode describes a failure that libuv itself puts a code to, on this system and
// not the one that the system's error stands for. It panics if this system has no
// error of that code.
func FromCode(code, call, path, dest string) *nodeerror.Error {
	errno, number, ok := libuv.Errno(code)
	if !ok {
		panic(fmt.Sprintf("callerror: no error on this system is %q", code))
	}
	return &nodeerror.Error{
		Code: code, Errno: number, Syscall: call, Path: path, Dest: dest,
		Err: cause(call, path, dest, errno),
	}
}

// Linux describes a failed call on a simulated Linux system, whatever this one is.
// It panics if code is not in libuv's table. Err is nil where this
// system has no such error.
func Linux(code, call, path, dest string) *nodeerror.Error {
	known, ok := libuv.Lookup(code)
	if !ok {
		panic(fmt.Sprintf("callerror: unknown code %q", code))
	}
	e := &nodeerror.Error{Code: code, Errno: known.Linux, Syscall: call, Path: path, Dest: dest}
	if errno, _, ok := libuv.Errno(code); ok {
		e.Err = cause(call, path, dest, errno)
	}
	return e
}

// NullByte is what Node throws for a path with a NUL in it, before any call. Path is
// the first path of link and rename; [NullByteDest] is for the second.
func NullByte(call, path string) *nodeerror.Error {
	argument := "path"
	switch call {
	case "link":
		argument = "existingPath"
	case "rename":
		argument = "oldPath"
	}
	return nullByte(argument, path, &fs.PathError{Op: call, Path: path, Err: syscall.EINVAL})
}

// NullByteDest is NullByte for the second path of link and rename.
func NullByteDest(call, path, dest string) *nodeerror.Error {
	return nullByte("newPath", dest, &os.LinkError{Op: call, Old: path, New: dest, Err: syscall.EINVAL})
}

func nullByte(argument, value string, cause error) *nodeerror.Error {
	return &nodeerror.Error{
		Code:    nodeerror.ErrInvalidArgument.Code,
		Path:    value,
		Message: "The argument '" + argument + "' must be a string, Uint8Array, or URL without null bytes. Received " + inspect(value),
		Err:     cause,
	}
}

func cause(call, path, dest string, errno syscall.Errno) error {
	switch {
	case dest != "" || libuv.HasDest(call):
		return &os.LinkError{Op: call, Old: path, New: dest, Err: errno}
	case path != "" || libuv.HasPath(call):
		return &fs.PathError{Op: call, Path: path, Err: errno}
	default:
		return os.NewSyscallError(call, errno)
	}
}
