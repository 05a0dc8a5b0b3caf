//go:build unix && !linux

package filesystem

import (
	"golang.org/x/sys/unix"

	"github.com/seed-c461eb89/nodelock/internal/nodetime"
)

func pin(path string) (Handle, error) {
	return open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW|unix.O_NONBLOCK)
}

// futimes sets microseconds, and Node's times have no more than that.
func futimes(h Handle, mtimeMs int64) error {
	t := unix.NsecToTimeval(nodetime.Stored(mtimeMs).UnixNano())
	for {
		if err := unix.Futimes(int(h), []unix.Timeval{t, t}); err != unix.EINTR {
			return err
		}
	}
}
