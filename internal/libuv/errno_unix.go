//go:build unix

package libuv

import (
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// Named returns libuv's name for a system error and the number that goes with it,
// which on Unix is the negated errno. An error that libuv does not know has its
// number in its name.
func Named(errno syscall.Errno) (code string, number int) {
	for _, known := range errnos {
		if known.errno == errno {
			return known.code, -int(errno)
		}
	}
	if name := unix.ErrnoName(errno); slices.Contains(optional, name) {
		return name, -int(errno)
	}
	return unnamed + strconv.Itoa(-int(errno)), -int(errno)
}

// Errno returns this system's error for a code and the number that libuv has for it here,
// and false where there is none.
func Errno(code string) (errno syscall.Errno, number int, ok bool) {
	for _, known := range errnos {
		if known.code == code {
			return known.errno, -int(known.errno), true
		}
	}
	if slices.Contains(optional, code) {
		const highest = 255
		for errno := syscall.Errno(1); errno <= highest; errno++ {
			if unix.ErrnoName(errno) == code {
				return errno, -int(errno), true
			}
		}
	}
	return 0, 0, false
}

// optional are the codes of errors that not every Unix has.
var optional = []string{"EFTYPE", "ENODATA", "ENONET", "EREMOTEIO", "EUNATCH"}

// errnos has the commonest first: what contention, a missing file and a lack of
// permission give.
var errnos = []knownErrno{
	{syscall.EEXIST, "EEXIST"},
	{syscall.ENOENT, "ENOENT"},
	{syscall.EACCES, "EACCES"},
	{syscall.EPERM, "EPERM"},
	{syscall.ENOTEMPTY, "ENOTEMPTY"},
	{syscall.ENOTDIR, "ENOTDIR"},
	{syscall.EISDIR, "EISDIR"},
	{syscall.EROFS, "EROFS"},
	{syscall.EMFILE, "EMFILE"},
	{syscall.ENFILE, "ENFILE"},
	{syscall.ENOSPC, "ENOSPC"},
	{syscall.EIO, "EIO"},

	{syscall.E2BIG, "E2BIG"},
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
	{syscall.EFAULT, "EFAULT"},
	{syscall.EFBIG, "EFBIG"},
	{syscall.EHOSTDOWN, "EHOSTDOWN"},
	{syscall.EHOSTUNREACH, "EHOSTUNREACH"},
	{syscall.EILSEQ, "EILSEQ"},
	{syscall.EINTR, "EINTR"},
	{syscall.EINVAL, "EINVAL"},
	{syscall.EISCONN, "EISCONN"},
	{syscall.ELOOP, "ELOOP"},
	{syscall.EMLINK, "EMLINK"},
	{syscall.EMSGSIZE, "EMSGSIZE"},
	{syscall.ENAMETOOLONG, "ENAMETOOLONG"},
	{syscall.ENETDOWN, "ENETDOWN"},
	{syscall.ENETUNREACH, "ENETUNREACH"},
	{syscall.ENOBUFS, "ENOBUFS"},
	{syscall.ENODEV, "ENODEV"},
	{syscall.ENOEXEC, "ENOEXEC"},
	{syscall.ENOMEM, "ENOMEM"},
	{syscall.ENOPROTOOPT, "ENOPROTOOPT"},
	{syscall.ENOSYS, "ENOSYS"},
	{syscall.ENOTCONN, "ENOTCONN"},
	{syscall.ENOTSOCK, "ENOTSOCK"},
	{syscall.ENOTSUP, "ENOTSUP"},
	{syscall.ENOTTY, "ENOTTY"},
	{syscall.ENXIO, "ENXIO"},
	{syscall.EOVERFLOW, "EOVERFLOW"},
	{syscall.EPIPE, "EPIPE"},
	{syscall.EPROTO, "EPROTO"},
	{syscall.EPROTONOSUPPORT, "EPROTONOSUPPORT"},
	{syscall.EPROTOTYPE, "EPROTOTYPE"},
	{syscall.ERANGE, "ERANGE"},
	{syscall.ESHUTDOWN, "ESHUTDOWN"},
	{syscall.ESOCKTNOSUPPORT, "ESOCKTNOSUPPORT"},
	{syscall.ESPIPE, "ESPIPE"},
	{syscall.ESRCH, "ESRCH"},
	{syscall.ETIMEDOUT, "ETIMEDOUT"},
	{syscall.ETXTBSY, "ETXTBSY"},
	{syscall.EXDEV, "EXDEV"},
}

type knownErrno struct {
	errno syscall.Errno
	code  string
}
