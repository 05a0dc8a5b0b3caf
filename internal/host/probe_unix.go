//go:build unix

package host

import "syscall"

func probe(pid int) syscall.Errno {
	errno, _ := syscall.Kill(pid, 0).(syscall.Errno)
	return errno
}
