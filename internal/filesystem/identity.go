package filesystem

// What a file is known again by.

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

// PinDirectory is Pin for a directory that Futimes and TryFlock are to be called for.
// Anything else is ENOTDIR, or ELOOP.
func (OS) PinDirectory(path string) (Handle, error) {
	h, err := pinDirectory(path)
	if err != nil {
		return noHandle, failed("open", path, err)
	}
	return h, nil
}

// PinNew creates an empty file at path, or fails with EEXIST if there is anything at path
// already, be it a link to nowhere. The mode is 0666 less the umask. The handle is for
// Futimes and TryFlock; it is not open for writing, so that it does not keep a filesystem
// from becoming read-only.
func (OS) PinNew(path string) (Handle, error) {
	h, err := pinNew(path)
	if err != nil {
		return noHandle, failed("open", path, err)
	}
	return h, nil
}

// PinForFlock opens a file or directory that TryFlock is to be called for. It must be
// readable. It neither follows a link nor waits.
func (OS) PinForFlock(path string) (Handle, error) {
	h, err := pinForFlock(path)
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

// StatIdentity describes and identifies what is at path, following links.
func (OS) StatIdentity(path string) (Stat, Identity, error) {
	s, id, err := statIdentity(path)
	if err != nil {
		return Stat{}, Identity{}, failed("stat", path, err)
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
