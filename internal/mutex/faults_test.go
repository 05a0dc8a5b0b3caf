package mutex

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-c461eb89/nodelock/internal/filesystem"
	"github.com/seed-c461eb89/nodelock/internal/sim"
)

// The table of faults: every call of every situation fails with every error.

// faultCodes are the errors that calls give. Not among them are ENOENT and EEXIST, which
// say what there is, and would be lies here.
var faultCodes = []string{
	"EACCES", "EPERM", "EBUSY", "EROFS", "ETXTBSY", // it is refused
	"EMFILE", "ENFILE", "ENOMEM", "ENOSPC", "ENOBUFS", // something is used up
	"EIO", "ETIMEDOUT", "EINTR", "EAGAIN", "ENXIO", // it does not work
	"ENOSYS", "ENOTSUP", "EINVAL", "ERANGE", "EXDEV", "EMLINK", "ENAMETOOLONG", // it cannot work
	"ENOTEMPTY", "EISDIR", "ENOTDIR", "ELOOP", "UNKNOWN", // it is something else
}

// A fault has the call with the number at fail, and those of the same kind after it: so many
// in all, or all if it is for good.
type fault struct {
	at    int
	op    sim.Op
	code  string
	times int
	// after says that the calls have their effect all the same.
	after bool
}

const forGood = 1 << 30

func (f fault) String() string {
	times := fmt.Sprintf("%d times", f.times)
	if f.times == forGood {
		times = "for good"
	}
	effect := "before"
	if f.after {
		effect = "after"
	}
	return fmt.Sprintf("call %d, %s: %s %s, %s its effect", f.at, f.op.Name(), f.code, times, effect)
}

// faultOptions have heartbeats that fall on no other event.
var faultOptions = Options{
	Stale: 2 * time.Second, Update: 450 * time.Millisecond, Poll: 100 * time.Millisecond, SlowPoll: time.Second, Wait: 20 * time.Second,
	Doubt: 50 * time.Millisecond, Settle: 5 * time.Millisecond,
}

// A faultSituation is what the participant finds, and how it goes about it.
type faultSituation struct {
	name    string
	prepare func(w *world)
	try     bool // TryLock
	exit    bool // Clean, and not Release
	forever bool // Stale is 0
	noNote  bool
	left    int // what others have left beside the lock, which stays without a guard
}

func faultSituations() []faultSituation {
	free := func(*world) {}
	stale := func(w *world) { w.make("/x.lock", time.Hour) }
	aside := func(w *world) {
		stale(w)
		w.make("/x.lock"+asideSuffix, time.Hour)
		if w.proper {
			w.make("/x.lock"+newSuffix, time.Hour) // it is in the way of nobody else
		}
	}
	dead := func(w *world) {
		o := faultOptions
		o.Update = 1000 * time.Hour
		w.lock(late, o)
		w.end(late)
	}
	held := func(w *world) {
		l := w.lock(rival, faultOptions)
		go func() {
			time.Sleep(1234 * time.Millisecond)
			if err := l.Release(); err != nil {
				w.t.Errorf("the lock of another is lost: %v", err)
			}
		}()
	}
	return []faultSituation{
		{name: "free", prepare: free},
		{name: "free, forever", prepare: free, forever: true},
		{name: "free, exit", prepare: free, exit: true},
		{name: "free, without note", prepare: free, noNote: true},
		{name: "free, TryLock", prepare: free, try: true},
		{name: "stale", prepare: stale},
		{name: "stale, TryLock", prepare: stale, try: true},
		{name: "left aside", prepare: aside, left: 2},
		{name: "dead", prepare: dead},
		{name: "dead, forever", prepare: dead, forever: true},
		{name: "held", prepare: held},
	}
}

// A faulty is a world in which calls of the subject fail.
type faulty struct {
	*world
	situation faultSituation
	fault     fault
	// calls are those that were made, and mended says that none fails any more.
	calls  []sim.Call
	mended atomic.Bool
}

// fail is between the subject and the system.
func (w *faulty) fail(c *sim.Call) *sim.Answer {
	if w.mended.Load() {
		return nil
	}
	if c.Op == sim.Await || c.Op == sim.Unwatch {
		return nil // which cannot fail
	}
	n := len(w.calls)
	w.calls = append(w.calls, *c)
	switch p := strings.TrimPrefix(c.Path, "/"); {
	case p == "", p == "x" && c.Op == sim.Realpath, p == "x.lock", p == "x.lock"+asideSuffix, p == "x.lock"+newSuffix:
	default:
		w.t.Errorf("%s is called for %s", c.Op.Name(), c.Path)
	}
	f := &w.fault
	if n < f.at || c.Op != f.op || f.times <= 0 {
		return nil
	}
	f.times--
	if f.after || c.Op == sim.Close {
		a := w.perform(subject, c)
		if a.Code == "" && c.Op.Opens() {
			w.perform(subject, &sim.Call{Op: sim.Close, Handle: a.Handle})
		}
	}
	return &sim.Answer{Code: f.code}
}

// run takes the lock, holds it for some heartbeats and gives it back, while calls fail, and
// checks what comes of it.
func (w *faulty) run() {
	t, s, transient := w.t, w.situation, w.fault.times < forGood
	if s.noNote {
		w.tree.Reach = filesystem.ReachUnknown
	}
	s.prepare(w.world)
	w.interpose(w.fail)
	o := faultOptions
	if s.forever {
		o.Stale = 0
	}
	e := w.engine(subject)
	m := e.Mutex(w.target, o)
	lock := m.Lock
	if s.try {
		lock = m.TryLock
	}
	l, err := lock(context.Background())
	if err != nil {
		if !s.try && transient {
			t.Errorf("Lock does not try again: %v", err)
		}
		if !strings.Contains(err.Error(), "/x") {
			t.Errorf("the lock is not named: %v", err)
		}
	} else {
		w.hold(l, transient)
	}
	w.mended.Store(true)
	if l != nil && l.Err() == error(ErrReleased) && !s.exit {
		if err := l.Release(); err != nil && err != error(ErrReleased) {
			t.Errorf("a release that has failed cannot be made again: %v", err)
		}
	}
	e.Clean(context.Background())
	w.next()
	synctest.Wait() // the others may be ending their calls
	w.clean()
	empty(t, e)
}

// hold holds the lock for some heartbeats and gives it back.
func (w *faulty) hold(l *Lease, transient bool) {
	t := w.t
	var last time.Time
	for range 40 {
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		at, ok := w.renewed()
		if !ok && l.Err() == nil {
			t.Fatal("the lock is gone, and the holder not told")
		}
		if l.Err() != nil {
			break
		}
		last = at
	}
	// A heartbeat that has had its effect, and could not see it, does not count.
	age := time.Since(last)
	switch err := l.Err(); {
	case err != nil && (l.options.Stale == 0 || age+l.options.Update < l.options.Stale):
		t.Errorf("a good lock is lost: %v", err)
	case err == nil && l.options.Stale > 0 && age > l.options.Stale+100*time.Millisecond:
		t.Error("the lock is overdue, and the holder not told")
	}
	var err error
	if w.situation.exit {
		l.engine.Clean(context.Background())
	} else {
		err = l.Release()
	}
	names := w.names()
	if transient && l.Err() == error(ErrReleased) && (err != nil || len(names) > w.situation.left) {
		t.Errorf("the release does not try again: %v; there is %q", err, names)
	}
	if err == nil && !w.situation.exit && slices.Contains(names, "x.lock") {
		t.Error("there is a lock after its release")
	}
}

// next has another participant take the lock and give it back.
func (w *faulty) next() {
	t := w.t
	began := time.Now()
	l, err := w.engine(nextOne).Mutex(w.target, faultOptions).Lock(context.Background())
	if err != nil {
		t.Errorf("the next one does not get the lock: %v", err)
		return
	}
	if waited := time.Since(began); waited > 2*faultOptions.Stale {
		t.Errorf("the next one waits %v", waited)
	}
	must(t, l.Release())
}

// A lie is an answer that is no failure, or cannot be survived.
func (f fault) isLie(s faultSituation) bool {
	switch f.op {
	case sim.TryFlock:
		return f.code == "EAGAIN" // another has it
	case sim.TryGuard:
		return f.after // what has failed is undone: see filesystem.OS
	case sim.PinNew, sim.Mkdir:
		// What such a call makes in the place of the lock cannot be told from another's, and
		// never becomes stale.
		return s.forever && f.after && f.times > 1
	}
	return false
}

// calls returns the calls that are made when nothing fails.
func (s faultSituation) calls(t *testing.T, proper bool) []sim.Call {
	var calls []sim.Call
	synctest.Test(t, func(t *testing.T) {
		w := &faulty{world: newWorld(t, proper), situation: s}
		w.run()
		calls = w.calls
	})
	return calls
}

var faultStride = flag.Int("faults", 0, "try every call with one error of so many; 0: with as many as there is time for")

// Whatever fails, a good lock is not lost, and none stays when the fault has gone; nothing
// but the lock is touched, and nothing stays open. See faulty.run for all that is checked.
func TestFaults(t *testing.T) {
	cases, stride := 0, *faultStride
	switch {
	case stride > 0:
	case race:
		stride = 31
	case testing.Short():
		stride = 11
	default:
		stride = 3
	}
	for _, proper := range []bool{false, true} {
		for _, s := range faultSituations() {
			for at, c := range s.calls(t, proper) {
				for i, code := range faultCodes {
					if (i+at)%stride != 0 {
						continue
					}
					for _, f := range []fault{
						{times: 1}, {times: 2}, {times: forGood}, {times: 1, after: true}, {times: 2, after: true}, {times: forGood, after: true},
					} {
						f.at, f.op, f.code = at, c.Op, code
						if f.isLie(s) {
							continue
						}
						cases++
						synctest.Test(t, func(t *testing.T) {
							defer func() {
								if t.Failed() {
									t.Logf("proper %v, %s: %v", proper, s.name, f)
								}
							}()
							(&faulty{world: newWorld(t, proper), situation: s, fault: f}).run()
						})
					}
				}
				if t.Failed() {
					t.FailNow()
				}
			}
		}
	}
	fmt.Printf("%d cases of calls that fail\n", cases)
}
