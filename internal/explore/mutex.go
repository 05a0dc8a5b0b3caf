package explore

import (
	"context"
	"time"

	"github.com/seed-c461eb89/nodelock/internal/mutex"
	"github.com/seed-c461eb89/nodelock/internal/sim"
)

// The options of the mutexes. Settle is what the public packages have.
var mutexOptions = mutex.Options{
	Stale: staleTime, Update: staleTime / 2, Poll: staleTime / 2, Settle: 5 * time.Millisecond,
}

// A lack is a part that an engine has to do without.
type lack struct {
	name    string
	without func(sim.Do) sim.Do
}

var (
	guard       = &lack{"guard", sim.WithoutGuard}
	identity    = &lack{"identity check", sim.WithoutIdentity}
	claim       = &lack{"claim", sim.WithoutClaim}
	plainRename = &lack{"plain rename", func(do sim.Do) sim.Do { return sim.Refuse(do, "EINVAL", sim.RenameNoReplace) }}
)

// mutexLock is a program that locks with a Mutex, waiting or not, and does without some
// part.
func mutexLock(t mutex.Target, wait bool, omit *lack) func(*Process) {
	return func(p *Process) {
		s := p.System
		if omit != nil {
			s.Do = omit.without(s.Do)
		}
		e := mutex.New(s, s, s)
		e.Random = func() float64 { return 1 }
		m := e.Mutex(t, mutexOptions)
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
