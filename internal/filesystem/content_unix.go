//go:build unix

package filesystem

import "golang.org/x/sys/unix"

// O_NONBLOCK keeps open from waiting for the other end of a FIFO. It means nothing to
// the regular files that these are for.

func openTruncate(path string) (Handle, error) {
	return open(path, unix.O_CREAT|unix.O_TRUNC|unix.O_WRONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW|unix.O_NONBLOCK)
}

func openNoFollow(path string) (Handle, error) {
	return open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW|unix.O_NONBLOCK)
}

func write(h Handle, data []byte) (int, error) {
	for {
		n, err := unix.Write(int(h), data)
		if err != unix.EINTR {
			return n, err
		}
	}
}

func read(h Handle, buffer []byte) (int, error) {
	for {
		n, err := unix.Read(int(h), buffer)
		if err != unix.EINTR {
			return n, err
		}
	}
}
