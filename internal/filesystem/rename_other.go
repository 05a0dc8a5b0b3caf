//go:build unix && !(darwin || linux)

package filesystem

import "syscall"

// renameNoReplace always fails: this system's rename replaces.
func renameNoReplace(string, string) error { return syscall.ENOSYS }
