package filesystem

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// mountReadOnly is for a process with mounts of its own.
func mountReadOnly(directory string) error {
	err := errors.Join(
		unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""),
		unix.Mount("tmpfs", directory, "tmpfs", 0, ""),
	)
	if err != nil {
		return fmt.Errorf("skip: mounting is not permitted: %w", err)
	}
	return errors.Join(
		os.WriteFile(filepath.Join(directory, "f"), nil, 0o644),
		os.Mkdir(filepath.Join(directory, "d"), 0o755),
		unix.Mount("", directory, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""),
	)
}

func TestReadOnlyFilesystem(t *testing.T) {
	fixture(t)
	want := []refusal{
		{call{"OpenExclusive", []string{"d/x"}}, "EROFS: read-only file system, open 'd/x'"},
		{call{"OpenExclusive", []string{"d/f"}}, "EEXIST: file already exists, open 'd/f'"},
		{call{"Unlink", []string{"d/f"}}, "EROFS: read-only file system, unlink 'd/f'"},
		{call{"Link", []string{"d/f", "d/x"}}, "EROFS: read-only file system, link 'd/f' -> 'd/x'"},
		{call{"Link", []string{"f", "d/x"}}, "EROFS: read-only file system, link 'f' -> 'd/x'"},
		{call{"Rename", []string{"d/f", "d/x"}}, "EROFS: read-only file system, rename 'd/f' -> 'd/x'"},
		{call{"Rename", []string{"f", "d/x"}}, "EXDEV: cross-device link not permitted, rename 'f' -> 'd/x'"},
		{call{"Mkdir", []string{"d/x"}}, "EROFS: read-only file system, mkdir 'd/x'"},
		{call{"Mkdir", []string{"d/d"}}, "EEXIST: file already exists, mkdir 'd/d'"},
		{call{"Rmdir", []string{"d/d"}}, "EROFS: read-only file system, rmdir 'd/d'"},
		{call{"Rmdir", []string{"d"}}, "EBUSY: resource busy or locked, rmdir 'd'"},
		{call{"Utimes", []string{"d/f"}}, "EROFS: read-only file system, utime 'd/f'"},
	}
	c := circumstances{ReadOnly: "d"}
	for _, r := range want {
		c.Calls = append(c.Calls, r.call)
	}
	inside := func(t *testing.T) []outcome {
		cmd := childCommand()
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
		if os.Geteuid() != 0 {
			cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
			cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
			cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
		}
		return run(t, cmd, c)
	}
	ours := inside(t)
	for i, r := range want {
		if got := ours[i].Error; got == nil || got.Message != r.text {
			t.Errorf("%v: %v\n want %v", r.call, ours[i], r.text)
		}
	}
	t.Run("node", func(t *testing.T) {
		node(t)
		c.Node = true
		compare(t, c.Calls, ours, inside(t))
	})
}

// A lease on a file (file servers take them) is waited out, as Node does, although
// OpenRead does not wait for anything else.
func TestOpenReadWaitsForLease(t *testing.T) {
	fixture(t)
	fd, err := unix.Open("f", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_WRLCK); err != nil {
		t.Skip("this filesystem has no leases: ", err)
	}
	const held = 100 * time.Millisecond
	time.AfterFunc(held, func() { unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_UNLCK) })
	start := time.Now()
	h, err := OS{}.OpenRead("f")
	if err != nil {
		t.Fatal(err)
	}
	if waited := time.Since(start); waited < held/2 {
		t.Errorf("it was open after %v, in spite of the lease", waited)
	}
	if err := (OS{}).Close(h); err != nil {
		t.Error(err)
	}
}
