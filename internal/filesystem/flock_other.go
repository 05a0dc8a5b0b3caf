//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package filesystem

import "syscall"

// tryFlock fails: this system has no lock that belongs to an open file.
func tryFlock(Handle) error { return syscall.ENOSYS }

func funlock(Handle) error { return syscall.ENOSYS }
