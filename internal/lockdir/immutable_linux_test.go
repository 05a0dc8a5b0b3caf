package lockdir_test

import (
	"os"

	"golang.org/x/sys/unix"
)

// immutable is FS_IMMUTABLE_FL.
const immutable = 0x10

// makeImmutable keeps even root from removing a file, until restore.
func makeImmutable(path string) (restore func() error, err error) {
	flags, err := changeFlags(path, func(flags uint32) uint32 { return flags | immutable })
	if err != nil {
		return nil, err
	}
	return func() error {
		_, err := changeFlags(path, func(uint32) uint32 { return flags })
		return err
	}, nil
}

func changeFlags(path string, change func(uint32) uint32) (before uint32, err error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	before, err = unix.IoctlGetUint32(int(file.Fd()), unix.FS_IOC_GETFLAGS)
	if err != nil {
		return 0, err
	}
	return before, unix.IoctlSetPointerInt(int(file.Fd()), unix.FS_IOC_SETFLAGS, int(change(before)))
}
