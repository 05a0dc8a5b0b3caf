//go:build unix

package filesystem

import (
	"slices"

	"golang.org/x/sys/unix"
)

// unguardable are the errors of flock where the filesystem has none. NFS has EBADF: it
// makes it a lock of its own, which wants a file that is open for writing.
var unguardable = []error{unix.ENOLCK, unix.EOPNOTSUPP, unix.ENOTSUP, unix.ENOSYS, unix.EINVAL, unix.EBADF}

func tryGuard(directory string) (Handle, error) {
	h, err := open(directory, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_DIRECTORY)
	switch err {
	case nil:
	case unix.EACCES:
		return noHandle, ErrUnguardable
	default:
		return noHandle, err
	}
	for {
		err := unix.Flock(int(h), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return h, nil
		case err == unix.EINTR:
			continue
		case err == unix.EWOULDBLOCK:
			err = ErrGuarded
		case slices.Contains(unguardable, err):
			err = ErrUnguardable
		}
		closeHandle(h)
		return noHandle, err
	}
}

// unguard does not leave it to close: a child that is being started has a copy of the
// descriptor until it is another program.
func unguard(h Handle) error {
	err := unix.Flock(int(h), unix.LOCK_UN)
	if closeErr := closeHandle(h); err == nil {
		err = closeErr
	}
	return err
}

func pinDirectory(path string) (Handle, error) {
	return open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_DIRECTORY|unix.O_NOFOLLOW)
}

func fstatIdentity(h Handle) (Stat, Identity, error) {
	var st unix.Stat_t
	for {
		switch err := unix.Fstat(int(h), &st); err {
		case nil:
			return statOf(&st), identityOf(&st), nil
		case unix.EINTR:
		default:
			return Stat{}, Identity{}, err
		}
	}
}

func lstatIdentity(path string) (Stat, Identity, error) {
	var st unix.Stat_t
	for {
		switch err := unix.Lstat(path, &st); err {
		case nil:
			return statOf(&st), identityOf(&st), nil
		case unix.EINTR:
		default:
			return Stat{}, Identity{}, err
		}
	}
}

func identityOf(st *unix.Stat_t) Identity {
	return Identity{Device: uint64(st.Dev), File: [2]uint64{uint64(st.Ino)}}
}
