package libuv

import "syscall"

var systemErrnos = []knownErrno{
	{syscall.ENODATA, "ENODATA"},
	{syscall.ENONET, "ENONET"},
	{syscall.EREMOTEIO, "EREMOTEIO"},
	{syscall.EUNATCH, "EUNATCH"},
}
