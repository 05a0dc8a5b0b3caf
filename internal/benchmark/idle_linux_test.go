package benchmark

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// processorTime returns for how long a process has run, by the scheduler's count of each of
// its threads.
func processorTime(b *testing.B, pid int) (sum time.Duration) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil {
		b.Fatal(err)
	}
	for _, thread := range threads {
		text, err := os.ReadFile(thread)
		if err != nil {
			b.Fatal(err)
		}
		ns, err := strconv.ParseInt(strings.Fields(string(text))[0], 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		sum += time.Duration(ns)
	}
	return sum
}

// BenchmarkIdle has many wait for a lock that stays held: a hundred processes with ten
// waiters each, or ten such processes of Node's, and says what they use of a core.
func BenchmarkIdle(b *testing.B) {
	each(b, func(b *testing.B, s side, lock string) {
		processes, waiters, span := 100, 10, 20*time.Second
		if s.name == "Node" {
			processes = 10
		}
		holder := s.start(b, lock)
		defer holder.end()
		holder.tell("lock")
		holder.hear()
		var all []*participant
		for range processes {
			p := s.start(b, lock)
			defer p.kill()
			p.tell("wait", waiters)
			p.hear()
			all = append(all, p)
		}
		sum := func() (d time.Duration) {
			for _, p := range all {
				d += processorTime(b, p.command.Process.Pid)
			}
			return d
		}
		time.Sleep(3 * time.Second) // by which all wait
		before := sum()
		time.Sleep(span)
		b.ReportMetric(float64(sum()-before)/float64(span)*100, "%-of-a-core")
		b.ReportMetric(float64(processes*waiters), "waiters")
	})
}
