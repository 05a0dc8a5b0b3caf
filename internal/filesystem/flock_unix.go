//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package filesystem

import "golang.org/x/sys/unix"

func tryFlock(h Handle) error {
	for {
		switch err := unix.Flock(int(h), unix.LOCK_EX|unix.LOCK_NB); err {
		case unix.EINTR:
		case unix.EWOULDBLOCK:
			return ErrFlocked
		default:
			return err
		}
	}
}

// funlock does not leave it to close: a child that is being started has a copy of the
// descriptor until it is another program.
func funlock(h Handle) error { return unix.Flock(int(h), unix.LOCK_UN) }
