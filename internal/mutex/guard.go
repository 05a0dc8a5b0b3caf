package mutex

import (
	"context"
	"time"

	"github.com/seed-c461eb89/nodelock/internal/filesystem"
	"github.com/seed-c461eb89/nodelock/internal/lease"
)

// The guard is busy for some microseconds at a time, unless its holder is stopped. So
// the pauses between attempts to get it start short, double, and stay at the longest,
// which is shorter for the holder of the lock than for a contender: it comes first.
const (
	shortestPause       = time.Millisecond
	longestPause        = 32 * time.Millisecond
	longestPauseOfOwner = 4 * time.Millisecond
)

// How long a call tries to get the guard that no context bounds.
const (
	tryPatience     = time.Second
	releasePatience = 5 * time.Second
	cleanPatience   = 100 * time.Millisecond
)

// A guard is the right to a guarded section.
type guard struct {
	engine *Engine
	handle filesystem.Handle
	// held is not set where the filesystem has no guard.
	held bool
}

// guardDirectory waits for the guard, and gives up with ErrGuardBusy when patience is
// over: its holder is stopped, or hangs in a system call. The holder of the lock gives a
// function to be called before each pause, with whose error it gives up.
func (l *Lease) guardDirectory(ctx context.Context, patience time.Duration, busy func() error) (guard, error) {
	e := l.engine
	longest := longestPauseOfOwner
	if busy == nil {
		longest = longestPause
	}
	var waited time.Duration
	for pause := shortestPause; ; pause = min(2*pause, longest) {
		h, err := e.filesystem.TryGuard(l.directory)
		switch err {
		case nil:
			l.guarded.Store(true)
			return guard{e, h, true}, nil
		case filesystem.ErrUnguardable:
			l.guarded.Store(false)
			return guard{}, nil
		case filesystem.ErrGuarded:
		default:
			return guard{}, err
		}
		if busy != nil {
			if err := busy(); err != nil {
				return guard{}, err
			}
		}
		d := shortestPause + time.Duration(e.Random()*float64(pause))
		if waited >= patience {
			return guard{}, ErrGuardBusy
		}
		waited += d
		if err := lease.Wait(ctx, e.clock, d); err != nil {
			return guard{}, err
		}
	}
}

// end ends the guarded section.
func (g guard) end() {
	if g.held {
		_ = g.engine.filesystem.Unguard(g.handle)
	}
}
