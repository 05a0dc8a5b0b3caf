package filesystem

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/seed-c461eb89/nodelock/internal/nodetime"
)

func pin(path string) (Handle, error) {
	return open(path, unix.O_PATH|unix.O_CLOEXEC|unix.O_NOFOLLOW)
}

// futimes makes the call that unix.Futimes goes round by way of /proc.
func futimes(h Handle, mtimeMs int64) error {
	t, err := unix.TimeToTimespec(nodetime.Stored(mtimeMs))
	if err != nil {
		return unix.EINVAL // beyond what a 32-bit system can say
	}
	times := [2]unix.Timespec{t, t}
	for {
		_, _, errno := unix.Syscall6(unix.SYS_UTIMENSAT, uintptr(h), 0, uintptr(unsafe.Pointer(&times)), 0, 0, 0)
		switch errno {
		case 0:
			return nil
		case syscall.EINTR:
		default:
			return errno
		}
	}
}
