package filesystem

import (
	"unsafe"

	"golang.org/x/sys/windows"
)

func pin(path string) (Handle, error) {
	h, err := createFile(path, windows.FILE_READ_ATTRIBUTES, windows.OPEN_EXISTING, windows.FILE_FLAG_OPEN_REPARSE_POINT)
	return Handle(h), err
}

func pinDirectory(path string) (Handle, error) {
	h, err := createFile(path, windows.FILE_READ_ATTRIBUTES|windows.FILE_WRITE_ATTRIBUTES, windows.OPEN_EXISTING, windows.FILE_FLAG_OPEN_REPARSE_POINT)
	if err != nil {
		return noHandle, err
	}
	info, err := basicInfoOf(h)
	if err == nil && (info.attributes&windows.FILE_ATTRIBUTE_DIRECTORY == 0 || info.attributes&windows.FILE_ATTRIBUTE_REPARSE_POINT != 0) {
		err = codedError("ENOTDIR")
	}
	if err != nil {
		windows.CloseHandle(h)
		return noHandle, err
	}
	return Handle(h), nil
}

func pinNew(path string) (Handle, error) {
	h, err := createFile(path, windows.FILE_READ_ATTRIBUTES|windows.FILE_WRITE_ATTRIBUTES, windows.CREATE_NEW, windows.FILE_ATTRIBUTE_NORMAL)
	return Handle(h), err
}

func pinForFlock(path string) (Handle, error) { return pin(path) }

// fileIDInfo is FILE_ID_INFO.
type fileIDInfo struct {
	volume uint64
	file   [2]uint64
}

func fstatIdentity(h Handle) (Stat, Identity, error) {
	s, info, err := statOf(windows.Handle(h))
	if err != nil {
		return Stat{}, Identity{}, err
	}
	if info.attributes&windows.FILE_ATTRIBUTE_REPARSE_POINT != 0 {
		if _, err := linkTarget(windows.Handle(h)); err == nil {
			s.Type = Symlink
		}
	}
	const fileIDInfoClass = 18
	var id fileIDInfo
	err = windows.GetFileInformationByHandleEx(windows.Handle(h), fileIDInfoClass, (*byte)(unsafe.Pointer(&id)), uint32(unsafe.Sizeof(id)))
	if err == nil {
		return s, Identity{id.volume, id.file}, nil
	}
	// A filesystem without wide identities.
	var narrow windows.ByHandleFileInformation
	if err := windows.GetFileInformationByHandle(windows.Handle(h), &narrow); err != nil {
		return Stat{}, Identity{}, err
	}
	file := uint64(narrow.FileIndexHigh)<<32 | uint64(narrow.FileIndexLow)
	return s, Identity{uint64(narrow.VolumeSerialNumber), [2]uint64{file}}, nil
}

func statIdentity(path string) (Stat, Identity, error) {
	h, err := createFile(path, windows.FILE_READ_ATTRIBUTES, windows.OPEN_EXISTING, 0)
	if err != nil {
		return Stat{}, Identity{}, err
	}
	defer windows.CloseHandle(h)
	return fstatIdentity(Handle(h))
}

func lstatIdentity(path string) (Stat, Identity, error) {
	h, err := pin(path)
	if err != nil {
		return Stat{}, Identity{}, err
	}
	defer closeHandle(h)
	return fstatIdentity(h)
}
