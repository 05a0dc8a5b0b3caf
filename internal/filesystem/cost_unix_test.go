//go:build unix

package filesystem

import (
	"syscall"
	"testing"
)

// A call allocates what the bare system call does: its path with a NUL behind it.
func TestAllocations(t *testing.T) {
	emptyDirectory(t)
	var system OS
	h, err := system.OpenExclusive("f")
	must(t, err)
	defer system.Close(h)
	const path = "a.lock"
	for _, measure := range []struct {
		name           string
		seam, baseline func()
	}{
		{"lock file", func() {
			h, _ := system.OpenExclusive(path)
			system.Close(h)
			system.Unlink(path)
		}, func() {
			fd, _ := syscall.Open(path, syscall.O_CREAT|syscall.O_EXCL|syscall.O_WRONLY|syscall.O_CLOEXEC, 0o666)
			syscall.Close(fd)
			syscall.Unlink(path)
		}},
		{"OpenRead", func() {
			h, _ := system.OpenRead("f")
			system.Close(h)
		}, func() {
			fd, _ := syscall.Open("f", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
			syscall.Close(fd)
		}},
		{"Fstat", func() { system.Fstat(h) }, func() {
			var st syscall.Stat_t
			syscall.Fstat(int(h), &st)
		}},
		{"Stat", func() { system.Stat("f") }, func() {
			var st syscall.Stat_t
			syscall.Stat("f", &st)
		}},
		{"Lstat", func() { system.Lstat("f") }, func() {
			var st syscall.Stat_t
			syscall.Lstat("f", &st)
		}},
		{"lock directory", func() {
			system.Mkdir(path)
			system.Rmdir(path)
		}, func() {
			syscall.Mkdir(path, 0o777)
			syscall.Rmdir(path)
		}},
		{"Link", func() {
			system.Link("f", path)
			system.Unlink(path)
		}, func() {
			syscall.Link("f", path)
			syscall.Unlink(path)
		}},
		{"Rename", func() {
			system.Rename("f", path)
			system.Rename(path, "f")
		}, func() {
			syscall.Rename("f", path)
			syscall.Rename(path, "f")
		}},
		{"Utimes", func() { system.Utimes("f", 1000) }, func() {
			syscall.UtimesNano("f", []syscall.Timespec{{Sec: 1}, {Sec: 1}})
		}},
	} {
		baseline := testing.AllocsPerRun(100, measure.baseline)
		if got := testing.AllocsPerRun(100, measure.seam); got > baseline {
			t.Errorf("%s: %v allocations; the bare calls make %v", measure.name, got, baseline)
		}
	}
	if names, err := system.Readdir("."); err != nil || len(names) != 1 {
		t.Error(names, err) // something failed, and so measured something else
	}
}
