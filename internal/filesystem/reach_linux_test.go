package filesystem

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// The kernel's own filesystems are told from those of other machines, and from those that
// programs serve.
func TestReach(t *testing.T) {
	for magic, want := range map[uint32]Reach{
		unix.EXT4_SUPER_MAGIC: ReachKernel, unix.XFS_SUPER_MAGIC: ReachKernel, unix.BTRFS_SUPER_MAGIC: ReachKernel,
		unix.TMPFS_MAGIC: ReachKernel, unix.OVERLAYFS_SUPER_MAGIC: ReachKernel,
		unix.NFS_SUPER_MAGIC: ReachMount, unix.FUSE_SUPER_MAGIC: ReachMount, cifs: ReachMount, unix.V9FS_MAGIC: ReachMount,
		0: ReachUnknown, unix.PROC_SUPER_MAGIC: ReachUnknown, unix.ECRYPTFS_SUPER_MAGIC: ReachUnknown,
	} {
		if got := reachOf(magic); got != want {
			t.Errorf("%#x: %v; want %v", magic, got, want)
		}
	}
	var system OS
	for directory, want := range map[string]Reach{"/dev/shm": ReachKernel, "/proc": ReachUnknown} {
		if _, err := os.Stat(directory); err != nil {
			t.Log(err)
			continue
		}
		h, err := system.OpenDirectory(directory)
		must(t, err)
		if got := system.Reach(h); got != want {
			t.Errorf("%s: %v; want %v", directory, got, want)
		}
		must(t, system.Close(h))
	}
	if got := system.Reach(Handle(9999)); got != ReachUnknown {
		t.Errorf("a handle that is not open: %v", got)
	}
}
