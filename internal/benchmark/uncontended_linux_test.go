package benchmark

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"github.com/seed-c461eb89/nodelock/compat/lockfile"
	"github.com/seed-c461eb89/nodelock/compat/properlockfile"
)

// BenchmarkUncontended takes turns with the lock and unlock of gofrs/flock on tmpfs, so that
// whatever else the machine does falls on both alike.
func BenchmarkUncontended(b *testing.B) {
	dir, err := os.MkdirTemp("/dev/shm", "nodelock-")
	if err != nil {
		b.Skip(err)
	}
	defer os.RemoveAll(dir)
	check := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	file := filepath.Join(dir, "file")
	check(os.WriteFile(file, nil, 0o666))
	other := func() {
		f := flock.New(filepath.Join(dir, "flock"))
		check(f.Lock())
		check(f.Unlock())
	}
	fileMutex := lockfile.NewMutex(filepath.Join(dir, "x.lock"), lockfile.MutexOptions{})
	properMutex := properlockfile.NewMutex(file, properlockfile.MutexOptions{})
	for _, row := range []struct {
		name string
		do   func()
	}{
		{"lockfile", func() {
			l, err := fileMutex.Lock(context.Background())
			check(err)
			check(l.Release())
		}},
		{"proper", func() {
			l, err := properMutex.Lock(context.Background())
			check(err)
			check(l.Release())
		}},
	} {
		b.Run(row.name, func(b *testing.B) {
			var ours, theirs []time.Duration
			timed := func(do func()) time.Duration {
				began := time.Now()
				do()
				return time.Since(began)
			}
			for range 20000 {
				ours = append(ours, timed(row.do))
				theirs = append(theirs, timed(other))
			}
			b.ReportMetric(float64(part(ours, 0.5).Nanoseconds())/1e3, "us")
			b.ReportMetric(float64(part(theirs, 0.5).Nanoseconds())/1e3, "us-gofrs")
			b.ReportMetric(float64(part(ours, 0.5))/float64(part(theirs, 0.5)), "of-gofrs")
		})
	}
}
