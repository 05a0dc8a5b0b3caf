package filesystem

import (
	"strings"
	"syscall"

	"github.com/seed-c461eb89/nodelock/internal/callerror"
)

// noHandle is returned beside an error.
const noHandle = ^Handle(0)

// failed describes a failed call on path. A path with a NUL in it never reaches the
// system, since it cannot be converted, so that looking for one can wait until here.
func failed(call, path string, err error) error {
	if strings.IndexByte(path, 0) >= 0 {
		return callerror.NullByte(call, path)
	}
	return describe(call, path, "", err)
}

// failedPair is failed for a call on two paths.
func failedPair(call, from, to string, err error) error {
	switch {
	case strings.IndexByte(from, 0) >= 0:
		return callerror.NullByte(call, from)
	case strings.IndexByte(to, 0) >= 0:
		return callerror.NullByteDest(call, from, to)
	}
	return describe(call, from, to, err)
}

func describe(call, path, dest string, err error) error {
	switch err := err.(type) {
	case syscall.Errno:
		return callerror.FromErrno(call, path, dest, err)
	case codedError:
		return callerror.FromCode(string(err), call, path, dest)
	}
	panic("filesystem: " + call + " failed with what is no error of the system: " + err.Error())
}

// A codedError is a failure that libuv has a code for where the system's own error
// stands for another.
type codedError string

func (e codedError) Error() string { return string(e) }
