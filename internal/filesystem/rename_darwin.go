package filesystem

import "golang.org/x/sys/unix"

// renameNoReplace fails with ENOTSUP where the volume cannot.
func renameNoReplace(from, to string) error {
	for {
		err := unix.RenamexNp(from, to, unix.RENAME_EXCL)
		if err != unix.EINTR {
			return err
		}
	}
}
