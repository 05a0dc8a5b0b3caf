package filesystem

import (
	"unsafe"

	"golang.org/x/sys/windows"
)

// reach takes a filesystem for this machine's if the system has no remote protocol for it.
func reach(h Handle) Reach {
	const (
		remoteProtocolInfo = 13 // FileRemoteProtocolInfo
		size               = 180
	)
	var info [size]byte
	switch err := windows.GetFileInformationByHandleEx(windows.Handle(h), remoteProtocolInfo, (*byte)(unsafe.Pointer(&info)), size); err {
	case nil:
		return ReachMount
	case windows.ERROR_INVALID_PARAMETER:
		return ReachKernel
	}
	return ReachUnknown
}
