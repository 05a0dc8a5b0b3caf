package filesystem

import "errors"

// The guard of a directory.

// The answers of [OS.TryGuard] that are no failures.
var (
	// ErrGuarded says that another holder has the guard.
	ErrGuarded = errors.New("filesystem: the directory is guarded by another")
	// ErrUnguardable says that the system cannot guard this directory.
	ErrUnguardable = errors.New("filesystem: the directory cannot be guarded")
)

// OpenDirectory opens a directory for its guard. It follows links. On Unix the directory
// must be readable. FstatIdentity, Reach, TryGuard and Close are what the handle is for.
func (OS) OpenDirectory(path string) (Handle, error) {
	h, err := openDirectory(path)
	if err != nil {
		return noHandle, failed("open", path, err)
	}
	return h, nil
}

// TryGuard guards an open directory: until Unguard, or until the process ends however it
// does, no TryGuard of the same directory through another handle succeeds, in this process
// or in another of this machine. Through the same handle it must not be called meanwhile.
// It does not wait, and leaves nothing on disk. The handle that it returns is for Unguard
// alone.
//
// On Unix the guard is an exclusive flock on the directory, on Windows a named mutex. How
// far a flock reaches is the filesystem's affair: see [OS.Reach]. ErrUnguardable is the
// answer where there is none.
func (OS) TryGuard(directory Handle) (Handle, error) { return tryGuard(directory) }

// Unguard ends the guard of TryGuard, even if it fails.
func (OS) Unguard(guard Handle) error {
	if err := unguard(guard); err != nil {
		return failed("close", "", err)
	}
	return nil
}
