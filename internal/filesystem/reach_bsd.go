//go:build darwin || freebsd

package filesystem

import "golang.org/x/sys/unix"

func reach(h Handle) Reach {
	var st unix.Statfs_t
	for {
		switch err := unix.Fstatfs(int(h), &st); err {
		case nil:
		case unix.EINTR:
			continue
		default:
			return ReachUnknown
		}
		switch unix.ByteSliceToString(st.Fstypename[:]) {
		case "apfs", "hfs", "ufs", "zfs", "tmpfs", "msdos", "msdosfs", "exfat":
			return ReachKernel
		case "nfs", "smbfs", "webdav", "afpfs", "macfuse", "osxfuse", "fusefs", "fuse", "p9fs":
			return ReachMount
		}
		return ReachUnknown
	}
}
