package mutex

import (
	"context"
	"path"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-c461eb89/nodelock/internal/clock"
	"github.com/seed-c461eb89/nodelock/internal/exithook"
	"github.com/seed-c461eb89/nodelock/internal/filesystem"
	"github.com/seed-c461eb89/nodelock/internal/sim"
)

// A world is a directory in memory, with participants that are in a bubble of package
// synctest, whose clock it has.
type world struct {
	t      *testing.T
	target Target
	proper bool
	// ahead is by how much the participants' clock is ahead of the filesystem's.
	ahead time.Duration
	// between is what interpose has set. Heartbeats read it while a test sets it.
	between atomic.Pointer[interposition]

	mutex sync.Mutex
	tree  *sim.Tree
	// changed is closed by the next call.
	changed chan struct{}
}

// The participants.
const (
	subject = uint8(iota + 1)
	rival   // another that is alive
	late    // another that is dead
	nextOne // who comes after all of them
	node    // one that knows no guard
)

// inWorld calls f in a bubble, with a world for each of the protocols.
func inWorld(t *testing.T, f func(w *world)) {
	t.Helper()
	for _, proper := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) { f(newWorld(t, proper)) })
	}
}

func newWorld(t *testing.T, proper bool) *world {
	time.Sleep(1234567 * time.Microsecond) // a time that is no whole second
	w := &world{t: t, proper: proper, changed: make(chan struct{}), tree: sim.New("", 1, time.Now().UnixNano())}
	w.tree.Reach = filesystem.ReachKernel
	w.target = Lockfile("/x.lock", func() bool { return true })
	if proper {
		w.target = ProperLockfile("/x", "", false)
	}
	w.tree.Actor = node
	for _, bystander := range []string{"y", "x", "x.lock2"} {
		if _, code := w.tree.Place(bystander, filesystem.File, "data"); code != "" {
			t.Fatal(code)
		}
	}
	return w
}

// An interposition is called with the calls of the subject. What it returns is the answer,
// unless it is nil. It is called by heartbeats too, so what it shares with its test has to be
// atomic.
type interposition func(c *sim.Call) *sim.Answer

// interpose puts f between the subject and the system, from now on.
func (w *world) interpose(f interposition) { w.between.Store(&f) }

// withdraw takes away what interpose put there.
func (w *world) withdraw() { w.between.Store(nil) }

func (w *world) do(actor uint8, c sim.Call) sim.Answer {
	if c.Op == sim.Resolve {
		return sim.Answer{Data: path.Join("/", c.Path)} // on Unix it makes no system call
	}
	if between := w.between.Load(); actor == subject && between != nil {
		if a := (*between)(&c); a != nil {
			return *a
		}
	}
	if c.Op == sim.Await {
		w.await(actor, &c)
	}
	return w.perform(actor, &c)
}

// await waits for a watch.
func (w *world) await(actor uint8, c *sim.Call) {
	over := time.After(time.Duration(c.N))
	for {
		w.mutex.Lock()
		fired, changed := w.tree.Fired(actor, c.Handle), w.changed
		w.mutex.Unlock()
		if fired {
			return
		}
		select {
		case <-changed:
		case <-over:
			return
		case <-c.With.(context.Context).Done():
			return
		}
	}
}

func (w *world) perform(actor uint8, c *sim.Call) sim.Answer {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.tree.Now, w.tree.Actor = time.Now().Add(-w.ahead).UnixNano(), actor
	close(w.changed)
	w.changed = make(chan struct{})
	return w.tree.Perform(c)
}

// engine returns a participant.
func (w *world) engine(actor uint8) *Engine {
	s := sim.System{Do: func(c sim.Call) sim.Answer { return w.do(actor, c) }}
	e := New(s, clock.System{}, exithook.None{}, s)
	e.Pid, e.Random = int(actor), func() float64 { return 0.5 }
	return e
}

// must has a participant make a call that does not fail.
func (w *world) must(actor uint8, c sim.Call) {
	w.t.Helper()
	if a := w.do(actor, c); a.Code != "" {
		w.t.Fatalf("%s: %s", c.Op.Name(), a.Code)
	}
}

// lock has a participant take the lock.
func (w *world) lock(actor uint8, o Options) *Lease {
	w.t.Helper()
	l, err := w.engine(actor).Mutex(w.target, o).Lock(context.Background())
	must(w.t, err)
	return l
}

// make makes what is a lock to Node, by its age.
func (w *world) make(path string, age time.Duration) {
	w.t.Helper()
	op := sim.OpenExclusive
	if w.proper {
		op = sim.Mkdir
	}
	w.must(node, sim.Call{Op: op, Path: path})
	w.end(node)
	w.touch(path, age)
}

// touch sets all times of what is at path.
func (w *world) touch(path string, age time.Duration) {
	w.t.Helper()
	w.must(node, sim.Call{Op: sim.Utimes, Path: path, N: time.Now().Add(-age).UnixMilli()})
	w.mutex.Lock()
	defer w.mutex.Unlock()
	n := &w.tree.Nodes[w.tree.Lookup(0, path[1:]).Node]
	n.Ctime = n.Mtime
}

func (w *world) remove(path string) {
	w.t.Helper()
	op := sim.Unlink
	if w.proper {
		op = sim.Rmdir
	}
	w.must(node, sim.Call{Op: op, Path: path})
}

// end closes what a participant has open, as the end of its process does.
func (w *world) end(actor uint8) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.tree.CloseAll(actor)
}

// renewed returns when the lock was renewed last. There is none if ok is false.
func (w *world) renewed() (at time.Time, ok bool) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	place := w.tree.Lookup(0, "x.lock")
	if place.Node == sim.None {
		return time.Time{}, false
	}
	return time.Unix(0, w.tree.Nodes[place.Node].Mtime), true
}

// names are what there is beside what was there in the beginning, which is untouched.
func (w *world) names() []string {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	var names []string
	for _, e := range w.tree.Entries {
		n := &w.tree.Nodes[e.Node]
		if n.Data != "data" {
			names = append(names, e.Name)
		} else if n.Mtime != n.Ctime {
			w.t.Errorf("%s is touched", e.Name)
		}
	}
	slices.Sort(names)
	return names
}

// open returns what a participant has open.
func (w *world) open(actor uint8) []string {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	var paths []string
	for _, h := range w.tree.Handles {
		if h.Owner == actor {
			paths = append(paths, h.Path)
		}
	}
	return paths
}

// clean checks that nothing is left of the participants: no lock, nothing open, no guard.
func (w *world) clean() {
	w.t.Helper()
	if names := w.names(); len(names) > 0 {
		w.t.Errorf("in the end there is %q", names)
	}
	for _, actor := range []uint8{subject, rival, nextOne} {
		if open := w.open(actor); len(open) > 0 {
			w.t.Errorf("%d has %q open", actor, open)
		}
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.tree.Nodes[0].Locked != 0 {
		w.t.Error("the directory is guarded")
	}
}
