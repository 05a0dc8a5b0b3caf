package filesystem

import "errors"

// The kernel's lock on an open file.

// ErrFlocked is the answer of [OS.TryFlock] where another handle has the lock.
var ErrFlocked = errors.New("filesystem: the file is locked through another handle")

// TryFlock takes the kernel's exclusive lock on the file that h has open, which dies with
// the handle: flock(2). It does not wait. Any error but ErrFlocked says that there is no
// such lock, here or on this system.
func (OS) TryFlock(h Handle) error {
	err := tryFlock(h)
	if err == nil || err == ErrFlocked {
		return err
	}
	return failed("flock", "", err)
}

// Funlock gives the lock of TryFlock back.
func (OS) Funlock(h Handle) error {
	if err := funlock(h); err != nil {
		return failed("flock", "", err)
	}
	return nil
}
