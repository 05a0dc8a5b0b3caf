//go:build unix

package properlockfile_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-c461eb89/nodelock/compat/properlockfile"
)

// tmpfs returns a directory on tmpfs where there is one.
func tmpfs(b *testing.B) string {
	dir, err := os.MkdirTemp("/dev/shm", "nodelock-")
	if err != nil {
		return b.TempDir()
	}
	b.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// A pair is a lock and its release, beside the system calls that these cannot do without.
type pair struct {
	name         string
	sync         bool
	options      properlockfile.Options
	utimes, stat bool // what the probe asks for (P10)
	resolves     bool // an lstat for each component (P2)
}

var pairs = []pair{
	{name: "Lock", stat: true, resolves: true},
	{name: "LockNoRealpath", stat: true, options: properlockfile.Options{NoRealpath: true}},
	{name: "LockSync", sync: true, utimes: true, stat: true, resolves: true},
	{name: "LockV1", resolves: true, options: properlockfile.Options{Contract: properlockfile.V1}},
}

func (p pair) lock(b *testing.B, file string) {
	var lease *properlockfile.Lease
	var err error
	if p.sync {
		lease, err = properlockfile.LockSync(file, p.options)
	} else {
		lease, err = properlockfile.Lock(context.Background(), file, p.options)
	}
	if err == nil {
		err = lease.Release()
	}
	if err != nil {
		b.Fatal(err)
	}
}

func (p pair) bare(b *testing.B, file string) {
	must := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	var stat unix.Stat_t
	if p.resolves {
		for i := 1; i <= len(file); i++ {
			if i == len(file) || file[i] == '/' {
				must(unix.Lstat(file[:i], &stat))
			}
		}
	}
	lock := file + ".lock"
	must(unix.Mkdir(lock, 0o777))
	if p.utimes {
		now := unix.NsecToTimespec(time.Now().UnixNano())
		must(unix.UtimesNanoAt(unix.AT_FDCWD, lock, []unix.Timespec{now, now}, 0))
	}
	if p.stat {
		must(unix.Stat(lock, &stat))
	}
	must(unix.Rmdir(lock))
}

// BenchmarkUncontended measures each by itself, allocations included.
func BenchmarkUncontended(b *testing.B) {
	file := touch(b, tmpfs(b), "f")
	for _, p := range pairs {
		for _, side := range []struct {
			name string
			do   func(*testing.B, string)
		}{{"bare", p.bare}, {"lock", p.lock}} {
			b.Run(p.name+"/"+side.name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					side.do(b, file)
				}
			})
		}
	}
}

// BenchmarkRatio takes turns with the bare system calls, so that whatever else the
// machine does falls on both alike, and reports the ratio of the medians. Another lock is
// held meanwhile, so that each round does not set up and take down the handling of
// signals; with /alone none is.
func BenchmarkRatio(b *testing.B) {
	for _, alone := range []bool{false, true} {
		for _, p := range pairs {
			name := p.name
			if alone {
				name += "/alone"
			}
			b.Run(name, func(b *testing.B) {
				dir := tmpfs(b)
				file := touch(b, dir, "f")
				if !alone {
					held := lock(b, dir, properlockfile.Options{})
					defer held.Release()
				}
				var ours, baseline []time.Duration
				for b.Loop() {
					began := time.Now()
					p.bare(b, file)
					between := time.Now()
					p.lock(b, file)
					ours = append(ours, time.Since(between))
					baseline = append(baseline, between.Sub(began))
				}
				b.ReportMetric(float64(median(baseline).Nanoseconds()), "bare-ns")
				b.ReportMetric(float64(median(ours).Nanoseconds()), "lock-ns")
				b.ReportMetric(float64(median(ours))/float64(median(baseline)), "ratio")
			})
		}
	}
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// contracts have their names in bench.js.
var contracts = []struct {
	name     string
	contract properlockfile.Contract
}{{"V4", properlockfile.V4}, {"V1", properlockfile.V1}}

// BenchmarkHeld holds ten thousand locks and reports what each costs: memory, and the
// processor's time for a heartbeat, beside that of the bare calls of a heartbeat.
func BenchmarkHeld(b *testing.B) {
	for _, c := range contracts {
		b.Run(c.name, func(b *testing.B) {
			var h held
			for b.Loop() {
				h = holdMany(b, tmpfs(b), c.contract)
			}
			b.ReportMetric(h.memory, "B/lock")
			b.ReportMetric(h.heartbeat, "ns/heartbeat")
			b.ReportMetric(h.bare, "bare-ns/heartbeat")
		})
	}
}

// A held is what it costs to hold a lock.
type held struct{ memory, heartbeat, bare float64 }

func holdMany(b *testing.B, dir string, contract properlockfile.Contract) (h held) {
	const count = 10000
	const update = 2 * time.Second
	files := make([]string, count)
	for i := range files {
		files[i] = touch(b, dir, fmt.Sprint(i))
	}
	o := properlockfile.Options{Contract: contract, Stale: time.Hour, Update: update}
	leases := make([]*properlockfile.Lease, count)
	before := heap()
	for i, file := range files {
		leases[i] = lock(b, file, o)
	}
	h.memory = (float64(heap()) - float64(before)) / count

	began := processorTime(b)
	time.Sleep(2 * update)
	h.heartbeat = float64(processorTime(b)-began) / (2 * count)

	began = processorTime(b)
	for _, lease := range leases {
		var stat unix.Stat_t
		if contract == properlockfile.V4 {
			if err := unix.Stat(lease.Path(), &stat); err != nil {
				b.Fatal(err)
			}
		}
		now := unix.NsecToTimespec(time.Now().UnixNano())
		if err := unix.UtimesNanoAt(unix.AT_FDCWD, lease.Path(), []unix.Timespec{now, now}, 0); err != nil {
			b.Fatal(err)
		}
	}
	h.bare = float64(processorTime(b)-began) / count
	for _, lease := range leases {
		if err := lease.Release(); err != nil {
			b.Fatal(err)
		}
	}
	return h
}

// BenchmarkBesideNode measures the same in Node, with the published packages, and here. It
// needs Node, and its packages installed ("npm ci" in conformance/node).
func BenchmarkBesideNode(b *testing.B) {
	dir := tmpfs(b)
	command := exec.Command("node", "--expose-gc", "bench.js", dir)
	command.Dir = "../../conformance/node"
	command.Stderr = os.Stderr
	output, err := command.Output()
	if err != nil {
		b.Skip(err)
	}
	var node map[string]struct {
		LockNS      float64 `json:"lock_ns"`
		Bytes       float64
		HeartbeatNS float64 `json:"heartbeat_ns"`
	}
	if err := json.Unmarshal(output, &node); err != nil {
		b.Fatalf("%v in %s", err, output)
	}
	for _, c := range contracts {
		b.Run(c.name, func(b *testing.B) {
			node := node[c.name]
			p := pair{options: properlockfile.Options{Contract: c.contract}}
			file := touch(b, dir, "f")
			var times []time.Duration
			for range 5000 {
				began := time.Now()
				p.lock(b, file)
				times = append(times, time.Since(began))
			}
			var h held
			for b.Loop() {
				h = holdMany(b, dir, c.contract)
			}
			here := float64(median(times))
			b.ReportMetric(here, "lock-ns")
			b.ReportMetric(node.LockNS, "node-lock-ns")
			b.ReportMetric(node.LockNS/here, "times-faster")
			b.ReportMetric(h.memory, "B/lock")
			b.ReportMetric(node.Bytes, "node-B/lock")
			b.ReportMetric(h.heartbeat, "ns/heartbeat")
			b.ReportMetric(node.HeartbeatNS, "node-ns/heartbeat")
		})
	}
}

// heap returns the memory in use.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

// processorTime returns what this process has used of it.
func processorTime(b *testing.B) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
