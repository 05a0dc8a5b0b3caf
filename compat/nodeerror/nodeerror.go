// Package nodeerror has the type of the errors that the other packages of this module
// return. An [Error] reads like an error of Node and unwraps to Go's own.
//
//	var e *nodeerror.Error
//	if errors.As(err, &e) && e.Code == "EACCES" {
//		log.Printf("%s of %s is not permitted", e.Syscall, e.Path)
//	}
//
// # Matching
//
// errors.Is matches an Error with
//
//   - the sentinels of its package, such as properlockfile.ErrLocked, by the code;
//   - [io/fs.ErrExist], [io/fs.ErrNotExist] and [io/fs.ErrPermission], by the code: Node
//     and Go group some errors of Windows differently, and here Node's grouping counts too;
//   - the system's error number, such as syscall.EACCES, through Unwrap.
//
// errors.As finds the [*io/fs.PathError], [*os.LinkError] or [*os.SyscallError] that Go's
// own packages would have returned for the same call.
//
// # Text
//
// Error returns Node's text. Control characters in it, and bytes that are not UTF-8, are
// escaped as \xNN, because paths come from users and from disk and messages end up on
// terminals. The fields are not escaped.
package nodeerror

import (
	"errors"
	"io/fs"

	"github.com/seed-c461eb89/nodelock/internal/libuv"
	"github.com/seed-c461eb89/nodelock/internal/printable"
)

// An Error is a failed operation as Node describes it. Errors are values that nobody
// changes: they can be used from several goroutines at once.
//
// A sentinel is an Error that has a code and a message and nothing else. errors.Is matches
// every Error that has the same code with it.
type Error struct {
	// Code is Node's name for what went wrong: that of a system error, such as EEXIST,
	// or one of the mirrored package's, such as ELOCKED. It is empty for an error that has
	// a message only, as some of Node's have.
	Code string
	// Errno is the number that libuv, Node's system library, has for Code on this system.
	// It is negative, or 0 where no system call failed.
	Errno int
	// Syscall is the call that failed, by Node's name for it, or empty. (utimes fails as
	// "utime", readdir as "scandir", and realpath as "lstat".)
	Syscall string
	// Path is the path that the call was given, or empty.
	Path string
	// Dest is the second path of link and rename, or empty.
	Dest string
	// File is the file that was to be locked, where that is another one than the lock:
	// ELOCKED of proper-lockfile has it. Otherwise it is empty.
	File string
	// Message is the text of the error where it does not follow from the fields above.
	Message string
	// Err is Go's own account of the failure, such as an *fs.PathError, or what the
	// package adds to it, such as the cause of a context. It is nil if there is none.
	Err error
}

// Sentinels for arguments that are refused before anything is done. The text says which
// argument it is and what it must be.
var (
	// ErrOutOfRange: an option is out of range. Code ERR_OUT_OF_RANGE.
	ErrOutOfRange = &Error{Code: "ERR_OUT_OF_RANGE", Message: "an option is out of range"}
	// ErrInvalidArgument: an argument cannot be used, such as a path with a NUL in it. Code
	// ERR_INVALID_ARG_VALUE.
	ErrInvalidArgument = &Error{Code: "ERR_INVALID_ARG_VALUE", Message: "an argument is invalid"}
)

// Error returns Node's text, escaped. See the package documentation under "Text".
func (e *Error) Error() string {
	if e.Message != "" {
		return printable.Text(e.Message)
	}
	text := e.Code
	if known, ok := libuv.Lookup(e.Code); ok {
		text += ": " + known.Text
	} else if libuv.Unnamed(e.Code) {
		text += ": " + e.Code // an unnamed error's text is its name
	}
	if e.Syscall != "" {
		text += ", " + e.Syscall
	}
	// Node prints an empty path too, but close and fstat have none at all.
	if e.Path != "" || libuv.HasPath(e.Syscall) {
		text += " '" + printable.Text(e.Path) + "'"
	}
	if e.Dest != "" || libuv.HasDest(e.Syscall) {
		text += " -> '" + printable.Text(e.Dest) + "'"
	}
	return text
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is a sentinel that has the same code, or one of the errors of
// io/fs that the code stands for. It is for errors.Is to call.
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

// Code returns the code of the first Error in the tree of err, or "" if there is none.
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
