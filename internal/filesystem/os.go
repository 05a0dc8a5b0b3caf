package filesystem

// OpenExclusive creates an empty file at path and opens it for writing, or fails with
// EEXIST if there is anything at path already, be it a link to nowhere. The mode is
// 0666 less the umask.
func (OS) OpenExclusive(path string) (Handle, error) {
	h, err := openExclusive(path)
	if err != nil {
		return noHandle, failed("open", path, err)
	}
	return h, nil
}

// OpenRead opens what is at path, following links. It does not wait for the writer of
// a FIFO, as Node would, possibly for good.
func (OS) OpenRead(path string) (Handle, error) {
	h, err := openRead(path)
	if err != nil {
		return noHandle, failed("open", path, err)
	}
	return h, nil
}

// Close closes h, which is gone even if Close fails.
func (OS) Close(h Handle) error {
	if err := closeHandle(h); err != nil {
		return failed("close", "", err)
	}
	return nil
}

// Fstat describes the file that h has open.
func (OS) Fstat(h Handle) (Stat, error) {
	s, err := fstat(h)
	if err != nil {
		return Stat{}, failed("fstat", "", err)
	}
	return s, nil
}

// Stat describes what is at path, following links.
func (OS) Stat(path string) (Stat, error) {
	s, err := stat(path)
	if err != nil {
		return Stat{}, failed("stat", path, err)
	}
	return s, nil
}

// Lstat describes what is at path, a link too.
func (OS) Lstat(path string) (Stat, error) {
	s, err := lstat(path)
	if err != nil {
		return Stat{}, failed("lstat", path, err)
	}
	return s, nil
}

// Unlink removes the name path, which must not be a directory's: that fails with
// EISDIR on Linux and EPERM elsewhere. A link is removed itself.
func (OS) Unlink(path string) error {
	if err := unlink(path); err != nil {
		return failed("unlink", path, err)
	}
	return nil
}

// Link gives the file named from the further name to, or fails with EEXIST if there is
// anything at to.
func (OS) Link(from, to string) error {
	if err := link(from, to); err != nil {
		return failedPair("link", from, to, err)
	}
	return nil
}

// Rename moves from to to, replacing a file there (and on Unix an empty directory, if
// from is a directory too).
func (OS) Rename(from, to string) error {
	if err := rename(from, to); err != nil {
		return failedPair("rename", from, to, err)
	}
	return nil
}

// Mkdir makes a directory, with mode 0777 less the umask.
func (OS) Mkdir(path string) error {
	if err := mkdir(path); err != nil {
		return failed("mkdir", path, err)
	}
	return nil
}

// Rmdir removes an empty directory.
func (OS) Rmdir(path string) error {
	if err := rmdir(path); err != nil {
		return failed("rmdir", path, err)
	}
	return nil
}

// Utimes sets the access and modification times of what is at path, following links,
// to what Node sets for a Date of mtimeMs. It fails as "utime".
func (OS) Utimes(path string, mtimeMs int64) error {
	if err := utimes(path, mtimeMs); err != nil {
		return failed("utime", path, err)
	}
	return nil
}

// Readdir returns the names in a directory in the order that Node gives them: sorted
// by their bytes on Unix, as the filesystem has them on Windows. It fails as
// "scandir".
func (OS) Readdir(path string) ([]string, error) {
	names, err := readdir(path)
	if err != nil {
		return nil, failed("scandir", path, err)
	}
	return names, nil
}

// Getwd returns the working directory, without links. It fails as "uv_cwd".
func (OS) Getwd() (string, error) {
	path, err := getwd()
	if err != nil {
		return "", failed("uv_cwd", "", err)
	}
	return path, nil
}

// Resolve returns path as an absolute one, without looking at what is there: Node's
// path.resolve. It asks for the working directory if it needs it.
func (OS) Resolve(path string) (string, error) {
	base := ""
	if !isAbsolute(path) {
		var err error
		if base, err = (OS{}).Getwd(); err != nil {
			return "", err
		}
	}
	return resolve(base, path), nil
}
