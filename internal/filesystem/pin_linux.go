package filesystem

import "golang.org/x/sys/unix"

func pin(path string) (Handle, error) {
	return open(path, unix.O_PATH|unix.O_CLOEXEC|unix.O_NOFOLLOW)
}
