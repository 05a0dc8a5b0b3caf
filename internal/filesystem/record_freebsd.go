package filesystem

import "golang.org/x/sys/unix"

// renameNoReplace always fails: this system's rename replaces.
func renameNoReplace(string, string) error { return unix.ENOSYS }
