package filesystem

import "golang.org/x/sys/unix"

// Types of filesystems that golang.org/x/sys/unix has no names for.
const (
	bcachefs = 0xca451a4e
	f2fs     = 0xf2f52010
	jfs      = 0x3153464a
	ntfs3    = 0x7366746e
	ramfs    = 0x858458f6
	zfs      = 0x2fc12fc1
	ceph     = 0x00c36400
	gfs2     = 0x01161970
	lustre   = 0x0bd00bd3
	ocfs2    = 0x7461636f
	smb2     = 0xfe534d42
	cifs     = 0xff534d42
)

func reach(h Handle) Reach {
	var st unix.Statfs_t
	for {
		switch err := unix.Fstatfs(int(h), &st); err {
		case nil:
			return reachOf(uint32(st.Type))
		case unix.EINTR:
		default:
			return ReachUnknown
		}
	}
}

// reachOf knows filesystems by the magic numbers of statfs(2).
func reachOf(magic uint32) Reach {
	switch magic {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.TMPFS_MAGIC, ramfs,
		unix.OVERLAYFS_SUPER_MAGIC, bcachefs, f2fs, jfs, ntfs3, zfs, unix.REISERFS_SUPER_MAGIC,
		unix.MSDOS_SUPER_MAGIC, unix.EXFAT_SUPER_MAGIC, unix.NILFS_SUPER_MAGIC:
		return ReachKernel
	case unix.FUSE_SUPER_MAGIC, unix.NFS_SUPER_MAGIC, unix.SMB_SUPER_MAGIC, smb2, cifs, unix.V9FS_MAGIC,
		unix.AFS_SUPER_MAGIC, unix.AFS_FS_MAGIC, unix.CODA_SUPER_MAGIC, unix.NCP_SUPER_MAGIC, ceph, gfs2, lustre, ocfs2:
		return ReachMount
	}
	return ReachUnknown
}
