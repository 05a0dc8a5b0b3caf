package filesystem

import (
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Everything is opened so that others may read, write and remove it meanwhile.
const shareAll = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE

// createFile opens what is at path, which may be a directory, with the flags
// besides.
func createFile(path string, access, disposition, flags uint32) (windows.Handle, error) {
	name, err := namespaced(path)
	if err != nil {
		return windows.InvalidHandle, err
	}
	return windows.CreateFile(name, access, shareAll, nil, disposition, flags|windows.FILE_FLAG_BACKUP_SEMANTICS, 0)
}

func openExclusive(path string) (Handle, error) {
	h, err := createFile(path, windows.FILE_GENERIC_WRITE, windows.CREATE_NEW, windows.FILE_ATTRIBUTE_NORMAL)
	return Handle(h), err
}

func openRead(path string) (Handle, error) {
	h, err := createFile(path, windows.FILE_GENERIC_READ, windows.OPEN_EXISTING, windows.FILE_ATTRIBUTE_NORMAL)
	return Handle(h), err
}

func closeHandle(h Handle) error { return windows.CloseHandle(windows.Handle(h)) }

// basicInfo is FILE_BASIC_INFO. Its times are 100 ns since 1601.
type basicInfo struct {
	creation, access, write, change int64
	attributes                      uint32
	_                               uint32
}

func basicInfoOf(h windows.Handle) (info basicInfo, err error) {
	err = windows.GetFileInformationByHandleEx(h, windows.FileBasicInfo, (*byte)(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	return info, err
}

// standardInfo is FILE_STANDARD_INFO.
type standardInfo struct {
	allocated, size          int64
	links                    uint32
	deletePending, directory bool
}

// statOf describes what h has open, and what basicInfoOf says of it.
func statOf(h windows.Handle) (Stat, basicInfo, error) {
	info, err := basicInfoOf(h)
	if err != nil {
		return Stat{}, info, err
	}
	const standardInfoClass = 1
	var standard standardInfo
	if err := windows.GetFileInformationByHandleEx(h, standardInfoClass, (*byte)(unsafe.Pointer(&standard)), uint32(unsafe.Sizeof(standard))); err != nil {
		return Stat{}, info, err
	}
	s := Stat{
		Type: File, Size: standard.size,
		AccessTime: timeOf(info.access), ModTime: timeOf(info.write), ChangeTime: timeOf(info.change),
	}
	if info.attributes&windows.FILE_ATTRIBUTE_DIRECTORY != 0 {
		s.Type = Directory
	}
	return s, info, nil
}

// unixEpoch is 1970 in 100 ns since 1601.
const unixEpoch = 116444736000000000

func timeOf(filetime int64) time.Time {
	const second = 1e7
	filetime -= unixEpoch
	return time.Unix(filetime/second, filetime%second*100)
}

// filetimeOf returns what Node sets for a Date of ms. libuv computes it in double
// precision, where a time of our day has a grain of 1.6 µs.
func filetimeOf(ms int64) windows.Filetime {
	seconds := float64(ms) / 1000
	// The conversion keeps the compiler from fusing the operations into one that
	// rounds only once.
	filetime := int64(float64(seconds*1e7) + unixEpoch)
	return windows.Filetime{LowDateTime: uint32(filetime), HighDateTime: uint32(filetime >> 32)}
}

func fstat(h Handle) (Stat, error) {
	s, _, err := statOf(windows.Handle(h))
	return s, err
}

func stat(path string) (Stat, error) {
	h, err := createFile(path, windows.FILE_READ_ATTRIBUTES, windows.OPEN_EXISTING, 0)
	if err != nil {
		return Stat{}, err
	}
	defer windows.CloseHandle(h)
	return fstat(Handle(h))
}

// lstat takes for links what libuv does: symbolic links, and junctions to a drive.
// What else is a reparse point is what it leads to.
func lstat(path string) (Stat, error) {
	h, err := createFile(path, windows.FILE_READ_ATTRIBUTES, windows.OPEN_EXISTING, windows.FILE_FLAG_OPEN_REPARSE_POINT)
	if err != nil {
		return Stat{}, err
	}
	defer windows.CloseHandle(h)
	s, info, err := statOf(h)
	if err != nil {
		return Stat{}, err
	}
	if info.attributes&windows.FILE_ATTRIBUTE_REPARSE_POINT != 0 {
		switch _, err := linkTarget(h); err {
		case nil:
			s.Type = Symlink
		case windows.ERROR_SYMLINK_NOT_SUPPORTED, windows.ERROR_NOT_A_REPARSE_POINT:
			return stat(path)
		default:
			return Stat{}, err
		}
	}
	return s, nil
}

func isSymlink(path string) (bool, error) {
	s, err := lstat(path)
	return s.Type == Symlink, err
}

// Unlinking a directory is refused with EPERM, and removing what is none with ENOENT.

func unlink(path string) error { return remove(path, false) }

func rmdir(path string) error { return remove(path, true) }

func remove(path string, directory bool) error {
	h, err := createFile(path,
		windows.FILE_READ_ATTRIBUTES|windows.FILE_WRITE_ATTRIBUTES|windows.DELETE,
		windows.OPEN_EXISTING, windows.FILE_FLAG_OPEN_REPARSE_POINT)
	if err != nil {
		return err
	}
	defer windows.CloseHandle(h)
	info, err := basicInfoOf(h)
	if err != nil {
		return err
	}
	isDirectory := info.attributes&windows.FILE_ATTRIBUTE_DIRECTORY != 0
	isReparsePoint := info.attributes&windows.FILE_ATTRIBUTE_REPARSE_POINT != 0
	switch {
	case directory && !isDirectory:
		return windows.ERROR_DIRECTORY // ENOENT, in this system's libuv
	case !directory && isDirectory && !isReparsePoint:
		return windows.ERROR_ACCESS_DENIED
	case !directory && isDirectory:
		// A link to a directory is a link; what else is a reparse point is not.
		_, err := linkTarget(h)
		if err == windows.ERROR_SYMLINK_NOT_SUPPORTED {
			return windows.ERROR_ACCESS_DENIED
		}
		if err != nil {
			return err
		}
	}
	return dispose(h, info)
}

// dispose removes what h has open: at once, although others have it open too, where
// the system can do that, and else when the last of them closes it.
func dispose(h windows.Handle, info basicInfo) error {
	flags := uint32(windows.FILE_DISPOSITION_DELETE | windows.FILE_DISPOSITION_POSIX_SEMANTICS |
		windows.FILE_DISPOSITION_IGNORE_READONLY_ATTRIBUTE)
	err := windows.SetFileInformationByHandle(h, windows.FileDispositionInfoEx, (*byte)(unsafe.Pointer(&flags)), uint32(unsafe.Sizeof(flags)))
	switch err {
	case windows.ERROR_NOT_SUPPORTED, windows.ERROR_INVALID_PARAMETER, windows.ERROR_INVALID_FUNCTION:
		// an older system, or a filesystem that cannot
	default:
		return err
	}
	if info.attributes&windows.FILE_ATTRIBUTE_READONLY != 0 {
		writable := basicInfo{attributes: info.attributes&^windows.FILE_ATTRIBUTE_READONLY | windows.FILE_ATTRIBUTE_ARCHIVE}
		if err := windows.SetFileInformationByHandle(h, windows.FileBasicInfo, (*byte)(unsafe.Pointer(&writable)), uint32(unsafe.Sizeof(writable))); err != nil {
			return err
		}
	}
	remove := byte(1)
	return windows.SetFileInformationByHandle(h, windows.FileDispositionInfo, &remove, 1)
}

func link(from, to string) error {
	existing, err := namespaced(from)
	if err != nil {
		return err
	}
	name, err := namespaced(to)
	if err != nil {
		return err
	}
	return windows.CreateHardLink(name, existing, 0)
}

func rename(from, to string) error {
	source, err := namespaced(from)
	if err != nil {
		return err
	}
	target, err := namespaced(to)
	if err != nil {
		return err
	}
	return windows.MoveFileEx(source, target, windows.MOVEFILE_REPLACE_EXISTING)
}

func mkdir(path string) error {
	name, err := namespaced(path)
	if err != nil {
		return err
	}
	err = windows.CreateDirectory(name, nil)
	if err == windows.ERROR_INVALID_NAME || err == windows.ERROR_DIRECTORY {
		return codedError("EINVAL") // elsewhere they are ENOENT
	}
	return err
}

func utimes(path string, mtimeMs int64) error {
	h, err := createFile(path, windows.FILE_WRITE_ATTRIBUTES, windows.OPEN_EXISTING, 0)
	if err != nil {
		return err
	}
	defer windows.CloseHandle(h)
	t := filetimeOf(mtimeMs)
	return windows.SetFileTime(h, nil, &t, &t)
}

var ntQueryDirectoryFile = windows.NewLazySystemDLL("ntdll.dll").NewProc("NtQueryDirectoryFile")

// directoryInfo is FILE_DIRECTORY_INFORMATION as far as the name, which follows it.
type directoryInfo struct {
	next       uint32
	_          uint32 // index
	_          [6]int64
	_          uint32 // attributes
	nameLength uint32 // in bytes
}

// readdir asks in the way that libuv does: every filesystem can answer it, and it
// tells what is no directory from what is missing.
func readdir(path string) ([]string, error) {
	const fileDirectoryInformation = 1
	h, err := createFile(path, windows.FILE_LIST_DIRECTORY|windows.SYNCHRONIZE, windows.OPEN_EXISTING, 0)
	if err != nil {
		return nil, err
	}
	defer windows.CloseHandle(h)
	names := []string{}
	var buffer [1024]uint64 // aligned as the system wants it
	for restart := uintptr(1); ; restart = 0 {
		var status windows.IO_STATUS_BLOCK
		r, _, _ := ntQueryDirectoryFile.Call(uintptr(h), 0, 0, 0,
			uintptr(unsafe.Pointer(&status)), uintptr(unsafe.Pointer(&buffer)), unsafe.Sizeof(buffer),
			fileDirectoryInformation, 0, 0, restart)
		switch result := windows.NTStatus(r); {
		case result == windows.STATUS_NO_MORE_FILES:
			return names, nil
		case result == windows.STATUS_INVALID_PARAMETER && restart == 1:
			return nil, codedError("ENOTDIR")
		case result != windows.STATUS_SUCCESS:
			return nil, result.Errno()
		case status.Information == 0:
			return nil, windows.ERROR_MORE_DATA // an entry that does not fit
		}
		at := unsafe.Pointer(&buffer)
		for {
			info := (*directoryInfo)(at)
			text := unsafe.Slice((*uint16)(unsafe.Add(at, unsafe.Sizeof(*info))), info.nameLength/2)
			if name := syscall.UTF16ToString(text); name != "" && name != "." && name != ".." {
				names = append(names, name)
			}
			if info.next == 0 {
				break
			}
			at = unsafe.Add(at, info.next)
		}
	}
}

func readlink(path string) (string, error) {
	h, err := createFile(path, 0, windows.OPEN_EXISTING, windows.FILE_FLAG_OPEN_REPARSE_POINT)
	if err != nil {
		return "", err
	}
	defer windows.CloseHandle(h)
	return linkTarget(h)
}

// reparseData is REPARSE_DATA_BUFFER for links, which has one more field than for
// junctions: flags.
type reparseData struct {
	tag                                                      uint32
	length, _                                                uint16
	nameOffset, nameLength, printNameOffset, printNameLength uint16 // in bytes
	rest                                                     [windows.MAXIMUM_REPARSE_DATA_BUFFER_SIZE - 16]byte
}

// linkTarget returns where the link that h has open leads, or
// ERROR_SYMLINK_NOT_SUPPORTED if it is a reparse point of another kind.
func linkTarget(h windows.Handle) (string, error) {
	var data reparseData
	var n uint32
	err := windows.DeviceIoControl(h, windows.FSCTL_GET_REPARSE_POINT, nil, 0, (*byte)(unsafe.Pointer(&data)), uint32(unsafe.Sizeof(data)), &n, nil)
	if err != nil {
		return "", err
	}
	names := data.rest[:]
	switch data.tag {
	case windows.IO_REPARSE_TAG_SYMLINK:
		names = names[4:]
	case windows.IO_REPARSE_TAG_MOUNT_POINT:
	default:
		return "", windows.ERROR_SYMLINK_NOT_SUPPORTED
	}
	end := int(data.nameOffset) + int(data.nameLength)
	if data.nameLength == 0 || end > len(names) {
		return "", windows.ERROR_INVALID_REPARSE_DATA
	}
	text := unsafe.Slice((*uint16)(unsafe.Pointer(&names[data.nameOffset])), data.nameLength/2)
	target := syscall.UTF16ToString(text)
	inner, native := strings.CutPrefix(target, `\??\`)
	drive := native && len(inner) >= 2 && isLetter(inner[0]) && inner[1] == ':' && (len(inner) == 2 || inner[2] == '\\')
	switch {
	case drive:
		return inner, nil
	case data.tag == windows.IO_REPARSE_TAG_MOUNT_POINT:
		return "", windows.ERROR_SYMLINK_NOT_SUPPORTED // a mounted volume
	case native && len(inner) >= 4 && strings.EqualFold(inner[:4], `UNC\`):
		return `\` + inner[3:], nil
	}
	return target, nil
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func getwd() (string, error) {
	path, err := syscall.Getwd()
	if err != nil {
		return "", err
	}
	if len(path) > 3 {
		path = strings.TrimSuffix(path, `\`)
	}
	return path, nil
}
