//go:build unix

package live

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-c461eb89/nodelock/compat/properlockfile"
)

// chaosChecks have holders stopped, continued and killed at random.
func chaosChecks() []check {
	checks := []check{{mutexOf(properLockfile4), fmt.Sprintf("chaos: %d holders stopped, continued and killed", chaosHolders), (*trial).chaos}}
	for _, protocol := range []string{"lockfile", properLockfile4} {
		checks = append(checks, check{mutexOf(protocol), "holders are killed beside Node, and the next one knows it at once", func(t *trial) string {
			return t.kills(protocol, amount(t.Harness, 1000, 100))
		}})
	}
	return checks
}

const (
	chaosHolders = 6
	chaosStale   = 4 * time.Second
	// A holder is stopped for much less than the threshold, less a heartbeat, or for much
	// more.
	shortStop = 300 * time.Millisecond
	longStop  = 8 * time.Second
)

// An interval is when a holder believed to have the lock. The clock is monotonic and the
// same for all processes.
type interval struct{ from, to int64 }

func (a interval) overlaps(b interval) bool { return a.from < b.to && b.from < a.to }

// removeLeftovers removes what the last ones have left that were killed.
func removeLeftovers(file, lock string) {
	for _, name := range []string{lock, lock + ".nodelock-claim", lock + ".nodelock-new", file} {
		if err := os.Remove(name); !errors.Is(err, fs.ErrNotExist) {
			must(err)
		}
	}
}

// kills has holders killed that take the lock with a Mutex, while others of the same kind
// and Node wait for it. The next one has it long before it is stale, and nobody loses it
// that is alive. It returns how long that took.
func (t *trial) kills(protocol string, kills int) string {
	c := t.target(protocol)
	c.Do, c.Options = "chaos", options{Schedule: schedule{Retries: 100_000, Factor: 1, MinTimeout: 10}}
	lock := c.Path + lockSuffix
	if protocol == "lockfile" {
		// None is ever stale.
		c.Options = options{Wait: time.Hour.Milliseconds(), PollPeriod: 10}
		must(os.Remove(c.Path))
		c.Path = lock
	}
	taken := make(chan taking, 1000)
	var all []*chaosHolder
	add := func(side string) {
		h := newChaosHolder(t.start(side))
		all = append(all, h)
		go h.listen(taken)
		c := c
		if side == "Go" {
			c.System = mutexOf(protocol)
		}
		h.send(c)
	}
	for _, side := range []string{"Go", "Go", "Go", "Node", "Node"} {
		add(side)
	}
	next := func() taking {
		select {
		case next := <-taken:
			return next
		case <-time.After(chaosStale):
			failf("nobody gets the lock, after %d kills", len(all)-5)
		}
		return taking{}
	}
	var took []time.Duration
	began := time.Now()
	for len(took) < kills {
		holder := next()
		for len(taken) > 0 {
			holder = next()
		}
		if holder.side == "Node" {
			continue
		}
		time.Sleep(rand.N(10 * time.Millisecond))
		at := monotonic()
		holder.kill()
		if holder.since == 0 {
			add("Go") // it had given it back
			continue
		}
		holder.held = append(holder.held, interval{holder.since, at})
		heir := next()
		for heir.from < at {
			heir = next()
		}
		took = append(took, time.Duration(heir.from-at))
		add("Go")
	}
	for _, h := range all {
		h.kill()
	}
	total, overlaps := overlapping(all)
	if overlaps > 0 {
		failf("held %d times, %d overlaps", total, overlaps)
	}
	removeLeftovers(c.Path, lock)
	slices.Sort(took)
	share := func(q float64) float64 { return float64(took[int(q*float64(len(took)-1))].Microseconds()) / 1000 }
	return fmt.Sprintf("%d kills in %.0f s, held %d times, 0 overlaps; the next one after %.1f ms (median), %.1f ms (99 %%), %.1f ms (longest)",
		len(took), time.Since(began).Seconds(), total, share(0.5), share(0.99), share(1))
}

// A chaosHolder is a participant that takes the lock again and again, with what it has
// told and what has been done to it.
type chaosHolder struct {
	*process
	mutex sync.Mutex
	held  []interval
	// since is when it took the lock that it has, or 0.
	since int64
	// heard is closed when all is heard that it has told.
	heard chan struct{}
	// asleep is when it was stopped for long.
	asleep []interval
}

// chaos checks that no two held the lock at once that were not stopped past the threshold.
func (t *trial) chaos() string {
	c := t.target(mutexOf(properLockfile4))
	c.Do, c.Options.Stale = "chaos", chaosStale.Milliseconds()
	var holders []*chaosHolder
	add := func() {
		h := newChaosHolder(t.start("Go"))
		holders = append(holders, h)
		go h.listen(nil)
		h.send(c)
	}
	for range chaosHolders {
		add()
	}
	stops, kills := 0, 0
	for began := time.Now(); time.Since(began) < amount(t.Harness, time.Minute, 12*time.Second); {
		time.Sleep(rand.N(100 * time.Millisecond))
		h := holders[len(holders)-1-rand.N(chaosHolders)]
		switch n := rand.N(100); {
		case n < 4:
			kills++
			_ = h.cmd.Process.Kill()
			add()
		case n < 8:
			stops++
			go h.sleep(longStop)
		case n < 60:
			stops++
			go h.sleep(shortStop)
		}
	}
	for _, h := range holders {
		h.kill()
	}
	total, overlaps := overlapping(holders)
	if overlaps > 0 || total == 0 {
		failf("held %d times, %d overlaps", total, overlaps)
	}
	removeLeftovers(c.Path, c.Path+lockSuffix)
	return fmt.Sprintf("held %d times, %d stops, %d kills, 0 overlaps", total, stops, kills)
}

func newChaosHolder(p *process) *chaosHolder {
	return &chaosHolder{process: p, heard: make(chan struct{})}
}

// kill kills it, and waits until all is heard.
func (h *chaosHolder) kill() {
	_ = h.cmd.Process.Signal(syscall.SIGCONT)
	_ = h.cmd.Process.Kill()
	<-h.heard
	<-h.ended
}

// A taking says that a holder has taken the lock.
type taking struct {
	*chaosHolder
	from int64
}

// listen takes down what the holder tells, and passes on when it has taken the lock.
func (h *chaosHolder) listen(taken chan<- taking) {
	defer close(h.heard)
	for a := range h.answers {
		h.mutex.Lock()
		h.since = a.From
		if a.To != 0 {
			h.held, h.since = append(h.held, interval{a.From, a.To}), 0
		}
		h.mutex.Unlock()
		if a.To == 0 && taken != nil {
			taken <- taking{h, a.From}
		}
	}
}

func (h *chaosHolder) sleep(d time.Duration) {
	from := monotonic()
	_ = h.cmd.Process.Signal(syscall.SIGSTOP)
	time.Sleep(d)
	_ = h.cmd.Process.Signal(syscall.SIGCONT)
	if d == longStop {
		h.mutex.Lock()
		h.asleep = append(h.asleep, interval{from, monotonic()})
		h.mutex.Unlock()
	}
}

// overlapping counts the times that the lock was held, and the pairs of different holders
// that had it at once, leaving out who slept meanwhile.
func overlapping(holders []*chaosHolder) (total, overlaps int) {
	type time struct {
		interval
		holder int
	}
	var held []time
	for i, h := range holders {
		h.mutex.Lock()
		for _, a := range h.held {
			total++
			if !slices.ContainsFunc(h.asleep, a.overlaps) {
				held = append(held, time{a, i})
			}
		}
		h.mutex.Unlock()
	}
	for i, a := range held {
		for _, b := range held[:i] {
			if a.holder != b.holder && a.overlaps(b.interval) {
				overlaps++
			}
		}
	}
	return total, overlaps
}

func monotonic() int64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		panic(err)
	}
	return now.Nano()
}

// chaos takes the lock again and again, and tells when it had it.
func chaos(s system, c command) error {
	for {
		l, err := s.lock(c, false)
		if err != nil {
			return err
		}
		from := monotonic()
		if err := tell(answer{From: from}); err != nil {
			return err
		}
		time.Sleep(rand.N(30 * time.Millisecond))
		lost, to := l.Err(), monotonic()
		if lost == nil {
			// Before it is given back, so that nobody else is heard of earlier.
			if err := tell(answer{From: from, To: to}); err != nil {
				return err
			}
		}
		if err := l.Release(); err != nil && lost == nil && !errors.Is(err, properlockfile.ErrCompromised) {
			return err
		}
	}
}

func tell(a answer) error {
	line, err := json.Marshal(a)
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(append(line, '\n'))
	return err
}
