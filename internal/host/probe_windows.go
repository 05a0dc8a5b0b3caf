package host

import (
	"syscall"

	"golang.org/x/sys/windows"
)

// probe asks as libuv's uv_kill does.
func probe(pid int) syscall.Errno {
	const stillActive = 259
	process, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
	if err == windows.ERROR_INVALID_PARAMETER {
		return syscall.ESRCH
	}
	if err != nil {
		return errnoOf(err)
	}
	defer windows.CloseHandle(process)
	var status uint32
	if err := windows.GetExitCodeProcess(process, &status); err != nil {
		return errnoOf(err)
	}
	if status != stillActive {
		return syscall.ESRCH
	}
	return 0
}

func errnoOf(err error) syscall.Errno {
	errno, ok := err.(syscall.Errno)
	if !ok {
		return syscall.EINVAL
	}
	return errno
}
