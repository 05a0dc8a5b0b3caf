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

// A lack is a part that an engine has to do without, because its calls are answered in
// another way.
type lack struct {
	name    string
	without func(do answers) answers
}

// answers is how a System is answered.
type answers = func(sim.Call) sim.Answer

// The parts of the Mutexes' promises, and what a system may lack.
var (
	guard = &lack{"guard", func(do answers) answers {
		return refuse(do, "ENOTSUP", func(c *sim.Call) bool { return c.Op == sim.TryGuard })
	}}
	// identity: whatever is at a path is what the process has had open last.
	identity = &lack{"identity check", func(do answers) answers {
		var known sim.Answer
		return func(c sim.Call) sim.Answer {
			a := do(c)
			switch {
			case a.Code != "":
			case c.Op == sim.Fstat:
				known = a
			case c.Op == sim.Lstat:
				a.Identity, a.Mtime = known.Identity, known.Mtime
			}
			return a
		}
	}}
	// claim: a lock can have no name but its own.
	claim = &lack{"claim", func(do answers) answers {
		return refuse(do, "ENOSYS", func(c *sim.Call) bool {
			return (c.Op == sim.RenameNoReplace || c.Op == sim.Link) && c.Path == "/"+lockPath
		})
	}}
	plainRename = &lack{"plain rename", func(do answers) answers {
		return refuse(do, "EINVAL", func(c *sim.Call) bool { return c.Op == sim.RenameNoReplace })
	}}
)

// refuse fails the calls that are, before anybody else hears of them.
func refuse(do answers, code string, is func(*sim.Call) bool) answers {
	return func(c sim.Call) sim.Answer {
		if is(&c) {
			return sim.Answer{Code: code}
		}
		return do(c)
	}
}

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
