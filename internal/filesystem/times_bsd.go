//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package filesystem

import (
	"time"

	"golang.org/x/sys/unix"
)

// futimes sets microseconds.
func futimes(h Handle, _ string, atime, mtime time.Time) error {
	times := []unix.Timeval{unix.NsecToTimeval(atime.UnixNano()), unix.NsecToTimeval(mtime.UnixNano())}
	for {
		if err := unix.Futimes(int(h), times); err != unix.EINTR {
			return err
		}
	}
}
