package filesystem

import (
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// futimes makes the call that unix.Futimes goes round by way of /proc.
func futimes(h Handle, _ string, atime, mtime time.Time) error {
	a, err := unix.TimeToTimespec(atime)
	if err != nil {
		return unix.EINVAL // beyond what a 32-bit system can say
	}
	m, err := unix.TimeToTimespec(mtime)
	if err != nil {
		return unix.EINVAL
	}
	times := [2]unix.Timespec{a, m}
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
