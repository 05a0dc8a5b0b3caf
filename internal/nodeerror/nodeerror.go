// Package nodeerror is the error that every package of this module returns: one
// that reads like Node's and unwraps to Go's own.
package nodeerror

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

// An Error is a failed operation as Node describes it.
//
// The package's sentinels are Errors that have a code and a message only.
// errors.Is matches an Error with such a sentinel by its code.
type Error struct {
	// Code is Node's name for what went wrong: a system error such as EEXIST, or a
	// code of the mirrored package such as ELOCKED.
	Code string
	// Errno is the number that libuv gives to Code on this system, which is
	// negative, or 0 where no system call failed.
	Errno int
	// Syscall is the call that failed, by Node's name for it (utimes fails as
	// "utime"), or empty.
	Syscall string
	// Path is what the call was made on, as it was given to the call, or empty.
	Path string
	// Dest is the second path of link and rename, or empty.
	Dest string
	// File is the file that was to be locked, where Node reports it (ELOCKED).
	File string
	// Message is Node's message where it does not follow from the fields above.
	Message string
	// Err is Go's own account of the failure, or nil: an *fs.PathError or
	// *os.LinkError around the system's error number.
	Err error
}

// Error returns Node's text. Control characters and bytes that are not valid UTF-8
// are escaped as \xNN (see [Escape]): paths come from users and from disk, and
// messages end up on terminals.
func (e *Error) Error() string {
	if e.Message != "" {
		return Escape(e.Message)
	}
	text := e.Code
	if known, ok := lookup(e.Code); ok {
		text += ": " + known.text
	} else if strings.HasPrefix(e.Code, unknownError) {
		text += ": " + e.Code // an unnamed error's text is its name
	}
	if e.Syscall != "" {
		text += ", " + e.Syscall
	}
	// Node prints an empty path too, but close and fstat have none at all.
	if e.Path != "" || pathGiven(e.Syscall) {
		text += " '" + Escape(e.Path) + "'"
	}
	if e.Dest != "" || destGiven(e.Syscall) {
		text += " -> '" + Escape(e.Dest) + "'"
	}
	return text
}

func pathGiven(call string) bool {
	switch call {
	case "", "close", "fstat", "futime", "read", "write", "kill", "uv_cwd":
		return false
	}
	return true
}

func destGiven(call string) bool { return call == "link" || call == "rename" }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is an *Error that has the same code and says nothing
// of a call or a path: a sentinel. It also matches the errors of io/fs by the code
// alone, because some Windows errors that are ENOENT for libuv are not
// fs.ErrNotExist for Go.
func (e *Error) Is(target error) bool {
	switch target {
	case fs.ErrExist:
		return e.Code == "EEXIST" || e.Code == "ENOTEMPTY"
	case fs.ErrNotExist:
		return e.Code == "ENOENT"
	case fs.ErrPermission:
		return e.Code == "EACCES" || e.Code == "EPERM"
	}
	t, ok := target.(*Error)
	return ok && t.Code == e.Code && t.Syscall == "" && t.Path == "" && t.Dest == "" && t.File == "" && t.Err == nil
}

// Code returns the code of the first Error in err's chain, or "".
func Code(err error) string {
	switch e := err.(type) {
	case nil:
		return ""
	case *Error:
		return e.Code
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// FromErrno describes a failed system call by the system's error. Dest is for link
// and rename.
func FromErrno(call, path, dest string, errno syscall.Errno) *Error {
	code, number := codeOf(errno)
	return &Error{
		Code: code, Errno: number, Syscall: call, Path: path, Dest: dest,
		Err: cause(call, path, dest, errno),
	}
}

// FromCode describes a failure that libuv itself puts a code to, on this system and
// not the one that the system's error stands for. It panics if this system has no
// error of that code.
func FromCode(code, call, path, dest string) *Error {
	errno, ok := errnoOf(code)
	if !ok {
		panic(fmt.Sprintf("nodeerror: no error on this system is %q", code))
	}
	return &Error{
		Code: code, Errno: numberOf(code, errno), Syscall: call, Path: path, Dest: dest,
		Err: cause(call, path, dest, errno),
	}
}

// Linux describes a failed call on a simulated Linux system, whatever this one is.
// It panics if code is not in libuv's table: see [Known]. Err is nil where this
// system has no such error.
func Linux(code, call, path, dest string) *Error {
	known, ok := lookup(code)
	if !ok {
		panic(fmt.Sprintf("nodeerror: unknown code %q", code))
	}
	e := &Error{Code: code, Errno: known.linux, Syscall: call, Path: path, Dest: dest}
	if errno, ok := errnoOf(code); ok {
		e.Err = cause(call, path, dest, errno)
	}
	return e
}

// NullByte is what Node throws for a path with a NUL in it, before any call. Path is
// the first path of link and rename; [NullByteDest] is for the second.
func NullByte(call, path string) *Error {
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
func NullByteDest(call, path, dest string) *Error {
	return nullByte("newPath", dest, &os.LinkError{Op: call, Old: path, New: dest, Err: syscall.EINVAL})
}

func nullByte(argument, value string, cause error) *Error {
	return &Error{
		Code:    "ERR_INVALID_ARG_VALUE",
		Path:    value,
		Message: "The argument '" + argument + "' must be a string, Uint8Array, or URL without null bytes. Received " + inspect(value),
		Err:     cause,
	}
}

func cause(call, path, dest string, errno syscall.Errno) error {
	switch {
	case dest != "" || destGiven(call):
		return &os.LinkError{Op: call, Old: path, New: dest, Err: errno}
	case path != "" || pathGiven(call):
		return &fs.PathError{Op: call, Path: path, Err: errno}
	default:
		return os.NewSyscallError(call, errno)
	}
}

// unknownError and a number is what libuv calls a Unix error without a name.
const unknownError = "Unknown system error "

// Known reports whether code is in libuv's table.
func Known(code string) bool {
	_, ok := lookup(code)
	return ok
}
