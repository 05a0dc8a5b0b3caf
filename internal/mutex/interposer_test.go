package mutex

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/seed-c461eb89/nodelock/internal/filesystem"
	"github.com/seed-c461eb89/nodelock/internal/sim"
)

// An interposer is the filesystem with something between it and the engine. Before each
// call it calls before, if that is set, whose error is the call's.
type interposer struct {
	sim.System
	before func(c *sim.Call) error

	mutex sync.Mutex
	open  map[filesystem.Handle]bool
}

func interpose(before func(c *sim.Call) error) *interposer {
	i := &interposer{before: before, open: map[filesystem.Handle]bool{}}
	i.Do = i.do
	return i
}

func (i *interposer) do(c sim.Call) sim.Answer {
	if i.before != nil && c.Op != sim.Realpath && c.Op != sim.Resolve {
		if err := i.before(&c); err != nil {
			return sim.Fails(err)
		}
	}
	closes := c.Op == sim.Close
	if closes {
		i.note(c.Handle, false)
	}
	a := sim.Real(c)
	if a.Code == "" && !closes && c.Op.Opens() {
		i.note(a.Handle, true)
	}
	return a
}

func (i *interposer) note(h filesystem.Handle, open bool) {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	if delete(i.open, h); open {
		i.open[h] = true
	}
}

// die closes everything, as the end of a process does.
func (i *interposer) die() {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	for h := range i.open {
		sim.Real(sim.Call{Op: sim.Close, Handle: h})
	}
	clear(i.open)
}

// once returns a before that calls f before the n-th call of these.
func once(f func(), n int32, ops ...sim.Op) func(*sim.Call) error {
	var count atomic.Int32
	return func(c *sim.Call) error {
		if slices.Contains(ops, c.Op) && count.Add(1) == n {
			f()
		}
		return nil
	}
}
