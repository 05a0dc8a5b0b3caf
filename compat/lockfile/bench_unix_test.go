//go:build unix

package lockfile_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/seed-c461eb89/nodelock/compat/lockfile"
)

// tmpfs returns a directory on tmpfs where there is one.
func tmpfs(b *testing.B) string {
	dir, err := os.MkdirTemp("/dev/shm", "nodelock-")
	if err != nil {
		return b.TempDir()
	}
	b.Cleanup(func() { os.Remove(dir) })
	return dir
}

// bare makes the system calls that a lock and an unlock cannot do without.
func bare(b *testing.B, path string) {
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

func lockSync(b *testing.B, path string) {
	if _, err := lockfile.LockSync(path, lockfile.Options{}); err != nil {
		b.Fatal(err)
	}
	lockfile.UnlockSync(path)
}

func lock(b *testing.B, path string) {
	if _, err := lockfile.Lock(context.Background(), path, lockfile.Options{}); err != nil {
		b.Fatal(err)
	}
	if err := lockfile.Unlock(path); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkUncontended measures each by itself, allocations included.
func BenchmarkUncontended(b *testing.B) {
	path := filepath.Join(tmpfs(b), "a.lock")
	for _, pair := range []struct {
		name string
		do   func(*testing.B, string)
	}{{"bare", bare}, {"LockSync", lockSync}, {"Lock", lock}} {
		b.Run(pair.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				pair.do(b, path)
			}
		})
	}
}

// BenchmarkRatio takes turns with the bare system calls, so that whatever else the
// machine does falls on both alike, and reports the ratio of the medians.
func BenchmarkRatio(b *testing.B) {
	path := filepath.Join(tmpfs(b), "a.lock")
	for _, pair := range []struct {
		name string
		do   func(*testing.B, string)
	}{{"LockSync", lockSync}, {"Lock", lock}} {
		b.Run(pair.name, func(b *testing.B) {
			var ours, baseline []time.Duration
			timed := func(do func(*testing.B, string)) time.Duration {
				began := time.Now()
				do(b, path)
				return time.Since(began)
			}
			for i := 0; b.Loop(); i++ {
				// Whoever comes second is at a disadvantage, so that changes too.
				if i%2 == 0 {
					baseline = append(baseline, timed(bare))
					ours = append(ours, timed(pair.do))
				} else {
					ours = append(ours, timed(pair.do))
					baseline = append(baseline, timed(bare))
				}
			}
			b.ReportMetric(float64(median(ours))/float64(median(baseline)), "ratio")
		})
	}
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}
