package nodeerror

import "syscall"

var systemErrnos = []knownErrno{
	{syscall.EFTYPE, "EFTYPE"},
	{syscall.ENODATA, "ENODATA"},
}
