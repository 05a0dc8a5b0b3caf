//go:build unix

package filesystem

import "golang.org/x/sys/unix"

func pinDirectory(path string) (Handle, error) {
	return open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_DIRECTORY|unix.O_NOFOLLOW)
}

func pinNew(path string) (Handle, error) {
	return open(path, unix.O_CREAT|unix.O_EXCL|unix.O_RDONLY|unix.O_CLOEXEC)
}

func pinForFlock(path string) (Handle, error) {
	return open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW|unix.O_NONBLOCK)
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

func statIdentity(path string) (Stat, Identity, error) {
	var st unix.Stat_t
	for {
		switch err := unix.Stat(path, &st); err {
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
