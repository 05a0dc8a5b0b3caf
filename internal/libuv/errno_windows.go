package libuv

import (
	"syscall"

	"golang.org/x/sys/windows"
)

// Named returns libuv's name for a Windows error and the number that libuv made up
// for it. What libuv has no name for is UNKNOWN.
//
// Access denied is EPERM and not EACCES: so it is in every libuv that Node ships.
// Go's own POSIX errors, which the system never returns, have the code of their name.
func Named(errno syscall.Errno) (code string, number int) {
	code = translate(errno)
	if code == "" {
		code = "UNKNOWN"
		for _, known := range errnos {
			if known.errno == errno {
				code = known.code
				break
			}
		}
	}
	return code, numbers[code]
}

// Errno returns the error that Go programs on Windows see for a code and the number that
// libuv has for it here, and false where there is none. Codes that stand for several
// errors have the one that Go's io/fs errors match.
func Errno(code string) (errno syscall.Errno, number int, ok bool) {
	for _, known := range errnos {
		if known.code == code {
			return known.errno, numbers[code], true
		}
	}
	return 0, 0, false
}

// translate returns libuv's code for an error of the system, or "".
func translate(errno syscall.Errno) string {
	switch errno {
	case windows.ERROR_META_EXPANSION_TOO_LONG:
		return "E2BIG"
	case windows.WSAEACCES, windows.ERROR_ELEVATION_REQUIRED, windows.ERROR_CANT_ACCESS_FILE:
		return "EACCES"
	case windows.WSAEADDRINUSE, windows.ERROR_ADDRESS_ALREADY_ASSOCIATED:
		return "EADDRINUSE"
	case windows.WSAEADDRNOTAVAIL:
		return "EADDRNOTAVAIL"
	case windows.WSAEAFNOSUPPORT:
		return "EAFNOSUPPORT"
	case windows.WSAEWOULDBLOCK, windows.ERROR_NO_DATA:
		return "EAGAIN"
	case windows.WSAEALREADY:
		return "EALREADY"
	case windows.ERROR_INVALID_HANDLE, windows.ERROR_INVALID_FLAGS:
		return "EBADF"
	case windows.ERROR_SHARING_VIOLATION, windows.ERROR_LOCK_VIOLATION, windows.ERROR_PIPE_BUSY:
		return "EBUSY"
	case windows.ERROR_OPERATION_ABORTED, windows.WSAEINTR:
		return "ECANCELED"
	case windows.ERROR_NO_UNICODE_TRANSLATION:
		return "ECHARSET"
	case windows.WSAECONNABORTED, windows.ERROR_CONNECTION_ABORTED:
		return "ECONNABORTED"
	case windows.WSAECONNREFUSED, windows.ERROR_CONNECTION_REFUSED:
		return "ECONNREFUSED"
	case windows.WSAECONNRESET, windows.ERROR_NETNAME_DELETED:
		return "ECONNRESET"
	case windows.ERROR_FILE_EXISTS, windows.ERROR_ALREADY_EXISTS:
		return "EEXIST"
	case windows.WSAEFAULT, windows.ERROR_NOACCESS:
		return "EFAULT"
	case windows.ERROR_BAD_EXE_FORMAT:
		return "EFTYPE"
	case windows.WSAEHOSTUNREACH, windows.ERROR_HOST_UNREACHABLE:
		return "EHOSTUNREACH"
	case windows.ERROR_INVALID_PARAMETER, windows.ERROR_INVALID_DATA, windows.ERROR_INSUFFICIENT_BUFFER,
		windows.ERROR_SYMLINK_NOT_SUPPORTED, windows.WSAEINVAL, windows.WSAEPFNOSUPPORT:
		return "EINVAL"
	case windows.ERROR_GEN_FAILURE, windows.ERROR_IO_DEVICE, windows.ERROR_CRC, windows.ERROR_OPEN_FAILED,
		windows.ERROR_DISK_CORRUPT, windows.ERROR_BUS_RESET, windows.ERROR_DEVICE_DOOR_OPEN,
		windows.ERROR_DEVICE_REQUIRES_CLEANING, windows.ERROR_BEGINNING_OF_MEDIA, windows.ERROR_EOM_OVERFLOW,
		windows.ERROR_FILEMARK_DETECTED, windows.ERROR_SETMARK_DETECTED, windows.ERROR_INVALID_BLOCK_LENGTH,
		windows.ERROR_NO_DATA_DETECTED, windows.ERROR_NO_SIGNAL_SENT, windows.ERROR_SIGNAL_REFUSED:
		return "EIO"
	case windows.WSAEISCONN:
		return "EISCONN"
	case windows.ERROR_INVALID_FUNCTION:
		return "EISDIR"
	case windows.ERROR_CANT_RESOLVE_FILENAME:
		return "ELOOP"
	case windows.ERROR_TOO_MANY_OPEN_FILES, windows.WSAEMFILE:
		return "EMFILE"
	case windows.WSAEMSGSIZE:
		return "EMSGSIZE"
	case windows.ERROR_FILENAME_EXCED_RANGE, windows.ERROR_BUFFER_OVERFLOW:
		return "ENAMETOOLONG"
	case windows.WSAENETUNREACH, windows.ERROR_NETWORK_UNREACHABLE:
		return "ENETUNREACH"
	case windows.WSAENOBUFS:
		return "ENOBUFS"
	case windows.ERROR_FILE_NOT_FOUND, windows.ERROR_PATH_NOT_FOUND, windows.ERROR_BAD_PATHNAME,
		windows.ERROR_INVALID_NAME, windows.ERROR_INVALID_DRIVE, windows.ERROR_DIRECTORY,
		windows.ERROR_INVALID_REPARSE_DATA, windows.ERROR_ENVVAR_NOT_FOUND, windows.ERROR_MOD_NOT_FOUND,
		windows.WSAHOST_NOT_FOUND, windows.WSANO_DATA:
		return "ENOENT"
	case windows.ERROR_NOT_ENOUGH_MEMORY, windows.ERROR_OUTOFMEMORY:
		return "ENOMEM"
	case windows.ERROR_DISK_FULL, windows.ERROR_HANDLE_DISK_FULL, windows.ERROR_CANNOT_MAKE,
		windows.ERROR_EA_TABLE_FULL, windows.ERROR_END_OF_MEDIA:
		return "ENOSPC"
	case windows.WSAENOTCONN, windows.ERROR_NOT_CONNECTED:
		return "ENOTCONN"
	case windows.ERROR_DIR_NOT_EMPTY:
		return "ENOTEMPTY"
	case windows.WSAENOTSOCK:
		return "ENOTSOCK"
	case windows.ERROR_NOT_SUPPORTED:
		return "ENOTSUP"
	case windows.ERROR_BROKEN_PIPE:
		return "EOF"
	case windows.ERROR_ACCESS_DENIED, windows.ERROR_PRIVILEGE_NOT_HELD:
		return "EPERM"
	case windows.ERROR_BAD_PIPE, windows.ERROR_PIPE_NOT_CONNECTED, windows.WSAESHUTDOWN:
		return "EPIPE"
	case windows.WSAEPROTONOSUPPORT:
		return "EPROTONOSUPPORT"
	case windows.ERROR_WRITE_PROTECT:
		return "EROFS"
	case windows.WSAESOCKTNOSUPPORT:
		return "ESOCKTNOSUPPORT"
	case windows.ERROR_SEM_TIMEOUT, windows.WSAETIMEDOUT:
		return "ETIMEDOUT"
	case windows.ERROR_NOT_SAME_DEVICE:
		return "EXDEV"
	}
	return ""
}

// errnos are the names that Go programs know the codes by. Go has ENOTDIR for
// ERROR_PATH_NOT_FOUND, which is libuv's ENOENT; here it is the error that libuv
// reports as ENOTDIR.
var errnos = []knownErrno{
	{syscall.E2BIG, "E2BIG"},
	{syscall.EACCES, "EACCES"},
	{syscall.EADDRINUSE, "EADDRINUSE"},
	{syscall.EADDRNOTAVAIL, "EADDRNOTAVAIL"},
	{syscall.EAFNOSUPPORT, "EAFNOSUPPORT"},
	{syscall.EAGAIN, "EAGAIN"},
	{syscall.EALREADY, "EALREADY"},
	{syscall.EBADF, "EBADF"},
	{syscall.EBUSY, "EBUSY"},
	{syscall.ECANCELED, "ECANCELED"},
	{syscall.ECONNABORTED, "ECONNABORTED"},
	{syscall.ECONNREFUSED, "ECONNREFUSED"},
	{syscall.ECONNRESET, "ECONNRESET"},
	{syscall.EDESTADDRREQ, "EDESTADDRREQ"},
	{syscall.EEXIST, "EEXIST"},
	{syscall.EFAULT, "EFAULT"},
	{syscall.EFBIG, "EFBIG"},
	{syscall.EHOSTDOWN, "EHOSTDOWN"},
	{syscall.EHOSTUNREACH, "EHOSTUNREACH"},
	{syscall.EILSEQ, "EILSEQ"},
	{syscall.EINTR, "EINTR"},
	{syscall.EINVAL, "EINVAL"},
	{syscall.EIO, "EIO"},
	{syscall.EISCONN, "EISCONN"},
	{syscall.EISDIR, "EISDIR"},
	{syscall.ELOOP, "ELOOP"},
	{syscall.EMFILE, "EMFILE"},
	{syscall.EMLINK, "EMLINK"},
	{syscall.EMSGSIZE, "EMSGSIZE"},
	{syscall.ENAMETOOLONG, "ENAMETOOLONG"},
	{syscall.ENETDOWN, "ENETDOWN"},
	{syscall.ENETUNREACH, "ENETUNREACH"},
	{syscall.ENFILE, "ENFILE"},
	{syscall.ENOBUFS, "ENOBUFS"},
	{syscall.ENODATA, "ENODATA"},
	{syscall.ENODEV, "ENODEV"},
	{syscall.ENOENT, "ENOENT"},
	{syscall.ENOEXEC, "ENOEXEC"},
	{syscall.ENOMEM, "ENOMEM"},
	{syscall.ENONET, "ENONET"},
	{syscall.ENOPROTOOPT, "ENOPROTOOPT"},
	{syscall.ENOSPC, "ENOSPC"},
	{syscall.ENOSYS, "ENOSYS"},
	{syscall.ENOTCONN, "ENOTCONN"},
	{windows.ERROR_DIRECTORY, "ENOTDIR"},
	{syscall.ENOTEMPTY, "ENOTEMPTY"},
	{syscall.ENOTSOCK, "ENOTSOCK"},
	{syscall.ENOTSUP, "ENOTSUP"},
	{syscall.ENOTTY, "ENOTTY"},
	{syscall.ENXIO, "ENXIO"},
	{syscall.EOVERFLOW, "EOVERFLOW"},
	{syscall.EPERM, "EPERM"},
	{syscall.EPIPE, "EPIPE"},
	{syscall.EPROTO, "EPROTO"},
	{syscall.EPROTONOSUPPORT, "EPROTONOSUPPORT"},
	{syscall.EPROTOTYPE, "EPROTOTYPE"},
	{syscall.ERANGE, "ERANGE"},
	{syscall.EREMOTEIO, "EREMOTEIO"},
	{syscall.EROFS, "EROFS"},
	{syscall.ESHUTDOWN, "ESHUTDOWN"},
	{syscall.ESOCKTNOSUPPORT, "ESOCKTNOSUPPORT"},
	{syscall.ESPIPE, "ESPIPE"},
	{syscall.ESRCH, "ESRCH"},
	{syscall.ETIMEDOUT, "ETIMEDOUT"},
	{syscall.ETXTBSY, "ETXTBSY"},
	{syscall.EUNATCH, "EUNATCH"},
	{syscall.EXDEV, "EXDEV"},
}

type knownErrno struct {
	errno syscall.Errno
	code  string
}

// numbers are the ones that libuv gives to its codes where the system has none.
var numbers = map[string]int{
	"E2BIG":           -4093,
	"EACCES":          -4092,
	"EADDRINUSE":      -4091,
	"EADDRNOTAVAIL":   -4090,
	"EAFNOSUPPORT":    -4089,
	"EAGAIN":          -4088,
	"EAI_ADDRFAMILY":  -3000,
	"EAI_AGAIN":       -3001,
	"EAI_BADFLAGS":    -3002,
	"EAI_BADHINTS":    -3013,
	"EAI_CANCELED":    -3003,
	"EAI_FAIL":        -3004,
	"EAI_FAMILY":      -3005,
	"EAI_MEMORY":      -3006,
	"EAI_NODATA":      -3007,
	"EAI_NONAME":      -3008,
	"EAI_OVERFLOW":    -3009,
	"EAI_PROTOCOL":    -3014,
	"EAI_SERVICE":     -3010,
	"EAI_SOCKTYPE":    -3011,
	"EALREADY":        -4084,
	"EBADF":           -4083,
	"EBUSY":           -4082,
	"ECANCELED":       -4081,
	"ECHARSET":        -4080,
	"ECONNABORTED":    -4079,
	"ECONNREFUSED":    -4078,
	"ECONNRESET":      -4077,
	"EDESTADDRREQ":    -4076,
	"EEXIST":          -4075,
	"EFAULT":          -4074,
	"EFBIG":           -4036,
	"EFTYPE":          -4028,
	"EHOSTDOWN":       -4031,
	"EHOSTUNREACH":    -4073,
	"EILSEQ":          -4027,
	"EINTR":           -4072,
	"EINVAL":          -4071,
	"EIO":             -4070,
	"EISCONN":         -4069,
	"EISDIR":          -4068,
	"ELOOP":           -4067,
	"EMFILE":          -4066,
	"EMLINK":          -4032,
	"EMSGSIZE":        -4065,
	"ENAMETOOLONG":    -4064,
	"ENETDOWN":        -4063,
	"ENETUNREACH":     -4062,
	"ENFILE":          -4061,
	"ENOBUFS":         -4060,
	"ENODATA":         -4024,
	"ENODEV":          -4059,
	"ENOENT":          -4058,
	"ENOEXEC":         -4022,
	"ENOMEM":          -4057,
	"ENONET":          -4056,
	"ENOPROTOOPT":     -4035,
	"ENOSPC":          -4055,
	"ENOSYS":          -4054,
	"ENOTCONN":        -4053,
	"ENOTDIR":         -4052,
	"ENOTEMPTY":       -4051,
	"ENOTSOCK":        -4050,
	"ENOTSUP":         -4049,
	"ENOTTY":          -4029,
	"ENXIO":           -4033,
	"EOF":             -4095,
	"EOVERFLOW":       -4026,
	"EPERM":           -4048,
	"EPIPE":           -4047,
	"EPROTO":          -4046,
	"EPROTONOSUPPORT": -4045,
	"EPROTOTYPE":      -4044,
	"ERANGE":          -4034,
	"EREMOTEIO":       -4030,
	"EROFS":           -4043,
	"ESHUTDOWN":       -4042,
	"ESOCKTNOSUPPORT": -4025,
	"ESPIPE":          -4041,
	"ESRCH":           -4040,
	"ETIMEDOUT":       -4039,
	"ETXTBSY":         -4038,
	"EUNATCH":         -4023,
	"EXDEV":           -4037,
	"UNKNOWN":         -4094,
}
