package filesystem

import "errors"

// The calls for locks that can tell one lock from another.

// The answers of [OS.TryGuard] that are no failures.
var (
	// ErrGuarded says that somebody else guards the directory.
	ErrGuarded = errors.New("filesystem: the directory is guarded by another")
	// ErrUnguardable says that the system cannot guard this directory.
	ErrUnguardable = errors.New("filesystem: the directory cannot be guarded")
)

// TryGuard guards a directory: until Unguard, or until the process ends however it
// does, no other TryGuard of the same directory succeeds, in this process or in
// another of this machine. It does not wait, follows links, and leaves nothing on disk.
//
// On Unix the guard is an exclusive flock on the directory, which must be readable. On
// Windows it is a named mutex whose name is made of the directory's identity; the
// mutex is guarded by being there and not by being owned, so that no thread is tied to
// it.
//
// ErrUnguardable is the answer where the filesystem has no flock for directories (NFS
// and other network filesystems) and where the directory cannot be read.
func (OS) TryGuard(directory string) (Handle, error) {
	h, err := tryGuard(directory)
	switch err {
	case nil:
		return h, nil
	case ErrGuarded, ErrUnguardable:
		return noHandle, err
	}
	return noHandle, failed("open", directory, err)
}

// Unguard ends the guard of TryGuard, even if it fails.
func (OS) Unguard(h Handle) error {
	if err := unguard(h); err != nil {
		return failed("close", "", err)
	}
	return nil
}

// An Identity is what the system tells files apart by. It is given to another file when
// its own is removed and closed: only while a file is open is its identity its own.
type Identity struct {
	Device uint64
	File   [2]uint64
}

// Pin opens what is at path in order to know it again: while the handle is open, no
// other file has its identity. It neither follows a link nor waits. On Linux it needs
// no permission to read and takes a link for what it is; elsewhere a link is ELOOP (on
// FreeBSD EMLINK). FstatIdentity and Close are all that the handle is good for.
func (OS) Pin(path string) (Handle, error) {
	h, err := pin(path)
	if err != nil {
		return noHandle, failed("open", path, err)
	}
	return h, nil
}

// PinDirectory is Pin for a directory that is to be touched by Futimes. Anything else
// is ENOTDIR, or ELOOP.
func (OS) PinDirectory(path string) (Handle, error) {
	h, err := pinDirectory(path)
	if err != nil {
		return noHandle, failed("open", path, err)
	}
	return h, nil
}

// FstatIdentity describes the file that h has open and identifies it. It fails as
// "fstat".
func (OS) FstatIdentity(h Handle) (Stat, Identity, error) {
	s, id, err := fstatIdentity(h)
	if err != nil {
		return Stat{}, Identity{}, failed("fstat", "", err)
	}
	return s, id, nil
}

// LstatIdentity describes and identifies what is at path, a link too. It fails as
// "lstat".
func (OS) LstatIdentity(path string) (Stat, Identity, error) {
	s, id, err := lstatIdentity(path)
	if err != nil {
		return Stat{}, Identity{}, failed("lstat", path, err)
	}
	return s, id, nil
}

// Futimes sets the times of the file that h has open, wherever that is by now, as
// Utimes does. It fails as "futime".
func (OS) Futimes(h Handle, mtimeMs int64) error {
	if err := futimes(h, mtimeMs); err != nil {
		return failed("futime", "", err)
	}
	return nil
}
