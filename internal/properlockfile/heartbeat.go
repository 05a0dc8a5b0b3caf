package properlockfile

import (
	"errors"

	"github.com/seed-c461eb89/nodelock/compat/nodeerror"
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
	if l.timer == nil {
		l.timer = e.clock.AfterFunc(l.delay, l.fire)
	} else {
		l.timer.Reset(l.delay)
	}
}

// fire is called by the timer.
func (l *Lease) fire() {
	e := l.engine
	e.mutex.Lock()
	over, rules := l.over, l.rules
	l.armed = false
	e.mutex.Unlock()
	if !over {
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
// renews another's. This is the protocol's.
func (l *Lease) beat4(rules *settings) error {
	e := l.engine
	stat, err := rules.files.Stat(l.path)
	e.mutex.Lock()
	over, mtime := l.over || l.resting, l.mtime
	ours := err == nil && nodetime.Milliseconds(stat.ModTime) == mtime
	l.touching = ours && !over
	e.mutex.Unlock()
	switch {
	case over:
		return nil
	case ours:
		mtime = l.precision.round(e.now())
		err = rules.files.Utimes(l.path, mtime)
	case err == nil:
		return ErrCompromised
	}
	e.mutex.Lock()
	defer e.mutex.Unlock()
	l.touching = false
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
// It touches the directory, also another's. A last touch that is twice the threshold
// ago or more is taken for a clock that was set.
func (l *Lease) beat1(rules *settings) error {
	e := l.engine
	e.mutex.Lock()
	if l.over || l.resting {
		e.mutex.Unlock()
		return nil
	}
	l.touching = true
	e.mutex.Unlock()
	err := rules.files.Utimes(l.path, e.now())
	e.mutex.Lock()
	defer e.mutex.Unlock()
	l.touching = false
	age := e.since(l.lastUpdate)
	switch {
	case l.over:
		return nil
	case age >= rules.stale && age-rules.stale < rules.stale:
		if l.updateErr != nil {
			return compromised(l.updateErr)
		}
		return ErrCompromised
	case err == nil:
		l.lastUpdate, l.updateErr, l.delay = e.now(), nil, 0
	case nodeerror.Code(err) == "ENOENT":
		return compromised(err)
	default:
		l.updateErr, l.delay = err, retriedUpdate
	}
	e.arm(l, rules)
	return nil
}

// compromise ends a lock that its holder has lost, and tells the holder (P13), unless the
// lock has ended meanwhile.
func (l *Lease) compromise(lost error) {
	l.engine.mutex.Lock()
	over := l.over
	if !over {
		l.engine.release(l)
	}
	l.engine.mutex.Unlock()
	if !over {
		l.End(lost)
		if l.onCompromised != nil {
			l.onCompromised(lost)
		}
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
