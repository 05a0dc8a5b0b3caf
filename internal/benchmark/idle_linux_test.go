package benchmark

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// processorTime returns what a process has used of the processor, to 10 ms.
func processorTime(b *testing.B, pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
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
		report(b, "%-of-a-core", float64(sum()-before)/float64(span)*100)
		report(b, "waiters", float64(processes*waiters))
	})
}
