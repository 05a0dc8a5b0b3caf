package filesystem

import (
	"time"

	"golang.org/x/sys/windows"
)

func futimes(h Handle, _ string, atime, mtime time.Time) error {
	a, m := windows.NsecToFiletime(atime.UnixNano()), windows.NsecToFiletime(mtime.UnixNano())
	return windows.SetFileTime(windows.Handle(h), nil, &a, &m)
}
