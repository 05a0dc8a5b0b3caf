//go:build unix

package filesystem

import "golang.org/x/sys/unix"

func openDirectory(path string) (Handle, error) {
	return open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_DIRECTORY)
}

// tryGuard takes the guard by a flock on the directory.
func tryGuard(directory Handle) (Handle, error) {
	switch tryFlock(directory) {
	case nil:
		return directory, nil
	case ErrFlocked:
		return noHandle, ErrGuarded
	}
	_ = funlock(directory) // a network filesystem may have locked it all the same
	return noHandle, ErrUnguardable
}

func unguard(guard Handle) error { return funlock(guard) }
