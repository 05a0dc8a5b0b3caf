//go:build unix

package filesystem

import (
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// The seam against the bare system calls, in the same run: what it costs besides them.

func BenchmarkLockFile(b *testing.B) {
	path := filepath.Join(b.TempDir(), "a.lock")
	b.Run("baseline", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			fd, err := syscall.Open(path, syscall.O_CREAT|syscall.O_EXCL|syscall.O_WRONLY|syscall.O_CLOEXEC, 0o666)
			if err != nil {
				b.Fatal(err)
			}
			if err := syscall.Close(fd); err != nil {
				b.Fatal(err)
			}
			if err := syscall.Unlink(path); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("seam", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			h, err := OS{}.OpenExclusive(path)
			if err != nil {
				b.Fatal(err)
			}
			if err := (OS{}).Close(h); err != nil {
				b.Fatal(err)
			}
			if err := (OS{}).Unlink(path); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkLockDirectory(b *testing.B) {
	path := filepath.Join(b.TempDir(), "a.lock")
	now := time.Now().UnixMilli()
	stamp := syscall.NsecToTimespec(now / 1000 * 1e9)
	times := []syscall.Timespec{stamp, stamp}
	b.Run("baseline", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := syscall.Mkdir(path, 0o777); err != nil {
				b.Fatal(err)
			}
			var st syscall.Stat_t
			if err := syscall.Stat(path, &st); err != nil {
				b.Fatal(err)
			}
			if err := syscall.UtimesNano(path, times); err != nil {
				b.Fatal(err)
			}
			if err := syscall.Rmdir(path); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("seam", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := (OS{}).Mkdir(path); err != nil {
				b.Fatal(err)
			}
			if _, err := (OS{}).Stat(path); err != nil {
				b.Fatal(err)
			}
			if err := (OS{}).Utimes(path, now); err != nil {
				b.Fatal(err)
			}
			if err := (OS{}).Rmdir(path); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkStat(b *testing.B) {
	path := b.TempDir()
	b.Run("baseline", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var st syscall.Stat_t
			if err := syscall.Stat(path, &st); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("seam", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := (OS{}).Stat(path); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkContended is the path of a lock that is held: the error is made each time.
func BenchmarkContended(b *testing.B) {
	path := b.TempDir()
	b.Run("baseline", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := syscall.Mkdir(path, 0o777); err != syscall.EEXIST {
				b.Fatal(err)
			}
		}
	})
	b.Run("seam", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := (OS{}).Mkdir(path); err == nil {
				b.Fatal("nil error")
			}
		}
	})
}
