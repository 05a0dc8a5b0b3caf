//go:build unix

package benchmark

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// each runs a benchmark of each protocol, on tmpfs and on the disk, for each side.
func each(b *testing.B, run func(b *testing.B, s side, lock string)) {
	for _, protocol := range []string{"lockfile", "proper"} {
		for _, at := range []string{"tmpfs", "disk"} {
			for _, s := range sides(b, protocol) {
				b.Run(fmt.Sprintf("%s/%s/%s", protocol, at, s.name), func(b *testing.B) {
					root := "/dev/shm"
					if at == "disk" {
						root = "" // the directory for temporary files
					}
					dir, err := os.MkdirTemp(root, "nodelock-")
					if err != nil {
						b.Skip(err)
					}
					b.Cleanup(func() { os.RemoveAll(dir) })
					lock := filepath.Join(dir, "x")
					if protocol == "proper" {
						if err := os.WriteFile(lock, nil, 0o666); err != nil {
							b.Fatal(err)
						}
					}
					run(b, s, lock)
				})
			}
		}
	}
}

// part returns the value below which a part of all is.
func part(all []time.Duration, of float64) time.Duration {
	slices.Sort(all)
	return all[int(float64(len(all)-1)*of)]
}

func milliseconds(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }

// BenchmarkHandOff measures the time from the beginning of a release until another process,
// which waits, has the lock.
func BenchmarkHandOff(b *testing.B) {
	each(b, func(b *testing.B, s side, lock string) {
		rounds := 500
		if s.name == "Node" {
			rounds = 8
		}
		one, other := s.start(b, lock), s.start(b, lock)
		defer one.end()
		defer other.end()
		one.tell("lock")
		one.hear()
		var all []time.Duration
		for range rounds {
			other.tell("lock")
			time.Sleep(5 * time.Millisecond) // by which it waits, most likely
			one.tell("release")
			released, taken := one.hear()[0], other.hear()[0]
			all = append(all, time.Duration(taken-released))
			one, other = other, one
		}
		one.tell("release")
		one.hear()
		b.ReportMetric(milliseconds(part(all, 0.5)), "ms-median")
		b.ReportMetric(milliseconds(part(all, 0.95)), "ms-95%")
		b.ReportMetric(milliseconds(part(all, 1)), "ms-longest")
	})
}

// BenchmarkContention has four processes take a lock fifty times each and work for a
// millisecond under it.
func BenchmarkContention(b *testing.B) {
	const contenders, rounds, work = 4, 50, time.Millisecond
	each(b, func(b *testing.B, s side, lock string) {
		var all [contenders]*participant
		for i := range all {
			all[i] = s.start(b, lock)
			defer all[i].end()
			all[i].tell("lock") // with which it is warm
			all[i].hear()
			all[i].tell("release")
			all[i].hear()
		}
		began := clock()
		var got [contenders][]int64
		var waits []time.Duration
		for _, p := range all {
			p.tell("contend", rounds, work.Nanoseconds())
		}
		var last, allContend int64
		for i, p := range all {
			for range rounds {
				times := p.hear()
				got[i] = append(got[i], times[1])
				waits = append(waits, time.Duration(times[1]-times[0]))
			}
			p.hear()
			end := got[i][rounds-1]
			last = max(last, end)
			if allContend == 0 || end < allContend {
				allContend = end
			}
		}
		// Until the first is through all contend.
		least, sum := rounds, 0
		for i := range got {
			n := 0
			for _, at := range got[i] {
				if at <= allContend {
					n++
				}
			}
			least, sum = min(least, n), sum+n
		}
		total := time.Duration(last-began) + work
		b.ReportMetric(milliseconds(total), "ms-total")
		b.ReportMetric(float64(total)/float64(contenders*rounds*work), "of-the-work")
		b.ReportMetric(float64(least*contenders)/float64(sum), "least-of-mean")
		b.ReportMetric(milliseconds(part(waits, 1)), "ms-longest-wait")
	})
}
