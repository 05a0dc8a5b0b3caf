package callerror

import (
	"errors"
	"io/fs"
	"syscall"
	"testing"

	"golang.org/x/sys/windows"
)

// To Go these are not fs.ErrNotExist, but libuv's ENOENT is.
func TestNotExist(t *testing.T) {
	for _, errno := range []syscall.Errno{windows.ERROR_INVALID_NAME, windows.ERROR_DIRECTORY, windows.ERROR_INVALID_DRIVE, windows.ERROR_BAD_PATHNAME} {
		if err := error(FromErrno("open", "a", "", errno)); !errors.Is(err, fs.ErrNotExist) || !errors.Is(err, errno) {
			t.Errorf("%v", err)
		}
	}
}
