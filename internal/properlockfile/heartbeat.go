package properlockfile

import (
	"errors"
	"time"

	"github.com/seed-c461eb89/nodelock/compat/nodeerror"
	"github.com/seed-c461eb89/nodelock/internal/clock"
	"github.com/seed-c461eb89/nodelock/internal/nodetime"
)

// arm sets the timer of the lock that is held for the file of another, which is nearly
// always that one itself, if it is not set. The heartbeat goes by rules.
//
// A heartbeat calls it for its own lock, but what is held by now counts, as in Node. So a
// lock whose place another lock of the same file has taken has no heartbeat after its next
// one, and that one arms the other if the other is in the middle of its own.
func (e *Engine) arm(of *Lease, rules *settings) {
	l := e.current(of)
	if l == nil || l.armed {
		return
	}
	if l.delay == 0 {
		l.delay = rules.update
	}
	l.armed, l.rules = true, rules
	if l.pacemaker == nil {
		l.pacemaker = e.wake()
		l.pacemaker.lease = l
	}
	l.pacemaker.set(l.delay)
}

// A pacemaker is the timer of a lock. When the lock ends, another may have it: for locks
// that are held for a moment, setting up a timer is a good part of the cost.
type pacemaker struct {
	engine *Engine
	lease  *Lease // guarded by the engine's mutex
	timer  clock.Timer
}

// maxResting bounds how many pacemakers are kept for the next locks.
const maxResting = 16

// wake returns a pacemaker that no lock has.
func (e *Engine) wake() *pacemaker {
	last := len(e.resting) - 1
	if last < 0 {
		return &pacemaker{engine: e}
	}
	p := e.resting[last]
	e.resting = e.resting[:last]
	return p
}

// rest stops a pacemaker that is set. If it was too late to stop, it fires, finds that it
// has no lock, and nobody has it again.
func (e *Engine) rest(p *pacemaker) {
	p.lease = nil
	if p.timer.Stop() && len(e.resting) < maxResting {
		e.resting = append(e.resting, p)
	}
}

func (p *pacemaker) set(d time.Duration) {
	if p.timer == nil {
		p.timer = p.engine.clock.AfterFunc(d, p.fire)
	} else {
		p.timer.Reset(d)
	}
}

func (p *pacemaker) fire() {
	p.engine.mutex.Lock()
	l := p.lease
	var rules *settings
	if l != nil {
		l.armed, rules = false, l.rules
	}
	p.engine.mutex.Unlock()
	if l != nil {
		l.beat(rules)
	}
}

// beat is a heartbeat.
func (l *Lease) beat(rules *settings) {
	var lost error
	if l.contract == V1 {
		lost = l.beat1(rules)
	} else {
		lost = l.beat4(rules)
	}
	if lost != nil {
		l.compromise(lost)
	}
}

// beat4 is the heartbeat of 4.1.2 (P11). It returns why the lock is lost, or nil.
//
// Between the look and the touch somebody may replace the directory; the touch then
// renews what is his. This is the protocol's.
func (l *Lease) beat4(rules *settings) error {
	e := l.engine
	stat, err := rules.files.Stat(l.path)
	e.mutex.Lock()
	over, mtime := l.over, l.mtime
	e.mutex.Unlock()
	switch {
	case over:
		return nil
	case err == nil && nodetime.Milliseconds(stat.ModTime) != mtime:
		return ErrCompromised
	case err == nil:
		mtime = l.precision.round(e.now())
		err = rules.files.Utimes(l.path, mtime)
	}
	e.mutex.Lock()
	defer e.mutex.Unlock()
	switch {
	case l.over:
		return nil
	case err == nil:
		l.mtime, l.lastUpdate, l.delay = mtime, e.now(), 0
	case nodeerror.Code(err) == "ENOENT" || e.since(l.lastUpdate) > rules.stale:
		return compromised(err)
	default:
		l.delay = retriedUpdate
	}
	e.arm(l, rules)
	return nil
}

// beat1 is the heartbeat of 1.2.0 (P12). It returns why the lock is lost, or nil.
//
// It touches the directory whoever's it is. A last touch that is twice the threshold
// ago or more is taken for a clock that was set.
func (l *Lease) beat1(rules *settings) error {
	e := l.engine
	err := rules.files.Utimes(l.path, e.now())
	e.mutex.Lock()
	defer e.mutex.Unlock()
	age := e.since(l.lastUpdate)
	switch {
	case l.over:
		return nil
	case age >= rules.stale && age-rules.stale < rules.stale:
		if l.err != nil {
			return compromised(l.err)
		}
		return ErrCompromised
	case err == nil:
		l.lastUpdate, l.err, l.delay = e.now(), nil, 0
	case nodeerror.Code(err) == "ENOENT":
		return compromised(err)
	default:
		l.err, l.delay = err, retriedUpdate
	}
	e.arm(l, rules)
	return nil
}

// compromise ends a lock that its holder has lost, and tells him (P13), unless it has
// ended meanwhile.
func (l *Lease) compromise(lost error) {
	l.engine.mutex.Lock()
	over := l.over
	if !over {
		l.released = true
		l.engine.end(l, lost)
	}
	l.engine.mutex.Unlock()
	if !over && l.onCompromised != nil {
		l.onCompromised(lost)
	}
}

// compromised gives an error of the heartbeat the code of a compromise. The text and
// everything else stay as they are.
func compromised(err error) error {
	e := nodeerror.Error{Message: err.Error(), Err: err}
	var known *nodeerror.Error
	if errors.As(err, &known) {
		e.Errno, e.Syscall, e.Path = known.Errno, known.Syscall, known.Path
	}
	e.Code = ErrCompromised.Code
	return &e
}
