package explore

import (
	"context"
	"time"

	"github.com/seed-c461eb89/nodelock/internal/mutex"
	"github.com/seed-c461eb89/nodelock/internal/sim"
)

// The options of the mutexes. Settle is what the public packages have.
var mutexOptions = mutex.Options{
	Stale: staleTime, Update: staleTime / 2, Poll: staleTime / 2, NoWatch: true, Settle: 5 * time.Millisecond,
}

// A lack is a part that an engine has to do without.
type lack struct {
	name    string
	without func(sim.Do) sim.Do
}

// from takes the part off a system. Nobody does without nothing.
func (l *lack) from(s sim.System) sim.System {
	if l != nil {
		s.Do = l.without(s.Do)
	}
	return s
}

var (
	guard       = &lack{"guard", sim.WithoutGuard}
	identity    = &lack{"identity check", sim.WithoutIdentity}
	note        = &lack{"note", sim.WithoutNote}
	claim       = &lack{"claim", sim.WithoutClaim}
	secondLook  = &lack{"second look", sim.WithoutSecondLook}
	plainRename = &lack{"plain rename", func(do sim.Do) sim.Do { return sim.Refuse(do, "EINVAL", sim.RenameNoReplace) }}
)

// doubting has a Mutex watch a lock that looks stale before it takes it over.
func doubting() mutex.Options {
	o := mutexOptions
	o.Doubt = staleTime / 4
	return o
}

// watching has a Mutex be woken by what happens to the lock. A look from time to time would
// hide a wake-up that is lost: there is none within a schedule.
func watching() mutex.Options {
	o := mutexOptions
	o.NoWatch, o.SlowPoll = false, 100*staleTime
	return o
}

// forever has a Mutex take over no lock because of its age.
func forever() mutex.Options {
	o := mutexOptions
	o.Stale = 0
	return o
}

// mutexLock is a program that locks with a Mutex, waiting or not, and does without some
// part.
func mutexLock(t mutex.Target, wait bool, omit *lack, o mutex.Options) func(*Process) {
	return func(p *Process) {
		s := omit.from(p.System)
		e := mutex.New(s, s, s, s)
		e.Random, e.Pid, e.Spins = func() float64 { return 1 }, p.who+1, 0
		m := e.Mutex(t, o)
		p.Contend()
		lock := m.TryLock
		if wait {
			lock = m.Lock
		}
		l, err := lock(context.Background())
		if err != nil {
			p.End(err)
			return
		}
		if err := p.Hold(l.Context(), holdTime); err != nil {
			p.Lose(err)
		}
		p.Release()
		p.End(l.Release())
	}
}
