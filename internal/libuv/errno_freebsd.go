package libuv

import "syscall"

var systemErrnos = []knownErrno{
	{syscall.EFTYPE, "EFTYPE"},
}
