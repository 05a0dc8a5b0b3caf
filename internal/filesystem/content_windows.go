package filesystem

import "golang.org/x/sys/windows"

func openTruncate(path string) (Handle, error) {
	h, err := createFile(path, windows.FILE_GENERIC_WRITE, windows.CREATE_ALWAYS, windows.FILE_ATTRIBUTE_NORMAL)
	return Handle(h), err
}

// openNoFollow refuses what lstat takes for a link. What else is a reparse point, such
// as a file that a cloud keeps, is opened as what it leads to.
func openNoFollow(path string) (Handle, error) {
	h, err := createFile(path, windows.FILE_GENERIC_READ, windows.OPEN_EXISTING, windows.FILE_FLAG_OPEN_REPARSE_POINT)
	if err != nil {
		return noHandle, err
	}
	info, err := basicInfoOf(h)
	if err == nil && info.attributes&windows.FILE_ATTRIBUTE_REPARSE_POINT == 0 {
		return Handle(h), nil
	}
	if err == nil {
		if _, err = linkTarget(h); err == nil {
			err = codedError("ELOOP")
		}
	}
	windows.CloseHandle(h)
	if err == windows.ERROR_SYMLINK_NOT_SUPPORTED || err == windows.ERROR_NOT_A_REPARSE_POINT {
		return openRead(path)
	}
	return noHandle, err
}

func write(h Handle, data []byte) (int, error) {
	var n uint32
	err := windows.WriteFile(windows.Handle(h), data, &n, nil)
	return int(n), err
}

func read(h Handle, buffer []byte) (int, error) {
	var n uint32
	err := windows.ReadFile(windows.Handle(h), buffer, &n, nil)
	if err == windows.ERROR_HANDLE_EOF {
		err = nil
	}
	return int(n), err
}
