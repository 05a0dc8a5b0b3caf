package live

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// unremovable makes a file that nobody can remove, until restore: an immutable one, if
// this user may make such files.
func unremovable(path string) (restore func() error, err error) {
	const immutable = 0x10 // FS_IMMUTABLE_FL
	if err := os.WriteFile(path, nil, 0o666); err != nil {
		return nothing, err
	}
	set := func(bit uint32) error {
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		defer file.Close()
		flags, err := unix.IoctlGetUint32(int(file.Fd()), unix.FS_IOC_GETFLAGS)
		if err != nil {
			return err
		}
		return unix.IoctlSetPointerInt(int(file.Fd()), unix.FS_IOC_SETFLAGS, int(flags&^immutable|bit))
	}
	if err := set(immutable); err != nil {
		return nothing, fmt.Errorf("%w: %v", errNotPossible, err)
	}
	return func() error { return set(0) }, nil
}
