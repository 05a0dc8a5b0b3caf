//go:build unix && !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package filesystem

import (
	"time"

	"golang.org/x/sys/unix"
)

func futimes(_ Handle, path string, atime, mtime time.Time) error {
	times := []unix.Timespec{unix.NsecToTimespec(atime.UnixNano()), unix.NsecToTimespec(mtime.UnixNano())}
	for {
		if err := unix.UtimesNanoAt(unix.AT_FDCWD, path, times, unix.AT_SYMLINK_NOFOLLOW); err != unix.EINTR {
			return err
		}
	}
}
