package libuv

import (
	"syscall"
	"testing"

	"golang.org/x/sys/windows"
)

func TestErrnoNumbers(t *testing.T) {
	for _, row := range []struct {
		errno  syscall.Errno
		code   string
		number int
	}{
		{windows.ERROR_FILE_NOT_FOUND, "ENOENT", -4058},
		{windows.ERROR_PATH_NOT_FOUND, "ENOENT", -4058},
		{windows.ERROR_INVALID_NAME, "ENOENT", -4058},
		{windows.ERROR_DIRECTORY, "ENOENT", -4058},
		{windows.ERROR_FILE_EXISTS, "EEXIST", -4075},
		{windows.ERROR_ALREADY_EXISTS, "EEXIST", -4075},
		{windows.ERROR_ACCESS_DENIED, "EPERM", -4048},
		{windows.ERROR_PRIVILEGE_NOT_HELD, "EPERM", -4048},
		{windows.ERROR_SHARING_VIOLATION, "EBUSY", -4082},
		{windows.ERROR_LOCK_VIOLATION, "EBUSY", -4082},
		{windows.ERROR_CANT_ACCESS_FILE, "EACCES", -4092},
		{windows.ERROR_DIR_NOT_EMPTY, "ENOTEMPTY", -4051},
		{windows.ERROR_INVALID_FUNCTION, "EISDIR", -4068},
		{windows.ERROR_TOO_MANY_OPEN_FILES, "EMFILE", -4066},
		{windows.ERROR_INVALID_HANDLE, "EBADF", -4083},
		{windows.ERROR_INVALID_PARAMETER, "EINVAL", -4071},
		{windows.ERROR_FILENAME_EXCED_RANGE, "ENAMETOOLONG", -4064},
		{windows.ERROR_CANT_RESOLVE_FILENAME, "ELOOP", -4067},
		{windows.ERROR_DISK_FULL, "ENOSPC", -4055},
		{windows.ERROR_WRITE_PROTECT, "EROFS", -4043},
		{windows.ERROR_NOT_SAME_DEVICE, "EXDEV", -4037},
		{windows.ERROR_NOT_SUPPORTED, "ENOTSUP", -4049},
		{windows.ERROR_GEN_FAILURE, "EIO", -4070},
		{windows.ERROR_BAD_NETPATH, "UNKNOWN", -4094},
		{windows.ERROR_MORE_DATA, "UNKNOWN", -4094},
		{99999, "UNKNOWN", -4094},
		{syscall.EINVAL, "EINVAL", -4071},
		{syscall.EACCES, "EACCES", -4092},
	} {
		if code, number := Named(row.errno); code != row.code || number != row.number {
			t.Errorf("%v is %s %d, want %s %d", row.errno, code, number, row.code, row.number)
		}
	}
	seen := map[int]string{}
	for _, e := range table {
		number, ok := numbers[e.Code]
		if other := seen[number]; !ok || other != "" {
			t.Errorf("%s has the number %d, which is also %q", e.Code, number, other)
		}
		seen[number] = e.Code
	}
	if len(numbers) != len(table) {
		t.Errorf("%d numbers of %d codes", len(numbers), len(table))
	}
}
