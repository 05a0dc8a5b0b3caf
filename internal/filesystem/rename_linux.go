package filesystem

import "golang.org/x/sys/unix"

// renameNoReplace fails with EINVAL where the filesystem cannot (NFS, and FUSE without
// it), and with ENOSYS before Linux 3.15.
func renameNoReplace(from, to string) error {
	for {
		err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
		if err != unix.EINTR {
			return err
		}
	}
}
