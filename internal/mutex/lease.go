package mutex

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/seed-c461eb89/nodelock/compat/nodeerror"
	"github.com/seed-c461eb89/nodelock/internal/clock"
	"github.com/seed-c461eb89/nodelock/internal/filesystem"
	"github.com/seed-c461eb89/nodelock/internal/lease"
)

// retriedUpdate is how long after a heartbeat that failed the next one follows, at most.
const retriedUpdate = time.Second

// A Lease is a lock that was taken.
type Lease struct {
	lease.Term
	*Mutex
	path, file, directory string
	pin                   filesystem.Handle
	reclaimed             bool
	guarded               atomic.Bool

	// mark and renewed, when that was in ms, belong to the heartbeat and the release, of
	// which one at a time is busy.
	mark    mark
	renewed int64

	// The rest is guarded by the engine's mutex.

	order uint64
	timer clock.Timer
	// busy says that a heartbeat or a release is under way; ending that the lock is being
	// released, or was, so that no heartbeat follows.
	busy, ending bool
	// lost is why the lock is lost, or nil.
	lost error
	// turn says that the lock has the turn of its path, which is given away when the lock has
	// ended.
	turn bool
}

// Path returns the path of the lock.
func (l *Lease) Path() string { return l.path }

// File returns the file that is locked, or "" if the lock is of none.
func (l *Lease) File() string { return l.file }

// Reclaimed reports whether the lock was taken over from a holder that left it to go
// stale.
func (l *Lease) Reclaimed() bool { return l.reclaimed }

// Guarded reports whether the last attempt, heartbeat or release could guard the lock's
// directory.
func (l *Lease) Guarded() bool { return l.guarded.Load() }

// enter makes a lock that was just created one that is removed at exit.
func (l *Lease) enter() {
	e := l.engine
	e.mutex.Lock()
	defer e.mutex.Unlock()
	e.created++
	l.order = e.created
	e.held[l] = struct{}{}
}

// hold hands the lock over to the caller: it starts the heartbeat, and the turn that the
// caller had is the lock's.
func (l *Lease) hold() {
	e := l.engine
	e.mutex.Lock()
	defer e.mutex.Unlock()
	l.turn = true
	if l.options.Update > 0 && !l.ending {
		l.timer = e.clock.AfterFunc(l.options.Update, l.beat)
	}
}

// begin begins a heartbeat, unless there is to be none.
func (l *Lease) begin() bool {
	l.engine.mutex.Lock()
	defer l.engine.mutex.Unlock()
	if l.busy || l.ending {
		return false
	}
	l.busy = true
	return true
}

// finish ends a heartbeat, and the lock if that is lost.
func (l *Lease) finish(lost error) {
	e := l.engine
	e.mutex.Lock()
	l.busy = false
	if lost == nil {
		e.mutex.Unlock()
		return
	}
	l.ending, l.lost = true, lost
	delete(e.held, l)
	e.mutex.Unlock()
	_ = e.filesystem.Close(l.pin)
}

// beat is called by the timer: it makes a heartbeat and sees to the next.
func (l *Lease) beat() {
	if !l.begin() {
		return
	}
	again, lost := l.renew()
	l.finish(lost)
	if lost != nil {
		l.End(lost)
		l.leaveTurn()
		return
	}
	e := l.engine
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if !l.ending {
		l.timer.Reset(again)
	}
}

// errEnding breaks off a heartbeat because the lock is being released.
var errEnding = errors.New("mutex: the lock is being released")

// renew makes a heartbeat. It returns when the next one is due, or why the lock is lost.
//
// A holder that was stopped for longer than the threshold, and whose lock was not taken,
// goes on as if nothing had been.
func (l *Lease) renew() (again time.Duration, lost error) {
	ours, err := l.touch()
	switch {
	case err == errEnding:
		return l.options.Update, nil
	case err == nil && ours:
		return l.options.Update, nil
	case err == nil:
		return 0, ErrCompromised
	case nodeerror.Code(err) == "ENOENT":
		return 0, compromised(err)
	}
	if l.overdue() {
		return 0, compromised(err)
	}
	return min(l.options.Update, retriedUpdate), nil
}

// touch renews the lock if it still is the holder's, and says whether it is. It is
// touched by the handle, which never is another's.
//
// If the guard cannot be had, because its holder is stopped, a lock that is not overdue
// is renewed without: no contender has judged it to be stale, and none is to. An overdue
// one may be about to be taken over by the one that is stopped, and is given up.
func (l *Lease) touch() (bool, error) {
	e := l.engine
	patience := max(min(l.options.Update/4, retriedUpdate), shortestPause)
	g, err := l.guardDirectory(context.Background(), patience, func() error {
		e.mutex.Lock()
		defer e.mutex.Unlock()
		if l.ending {
			return errEnding
		}
		return nil
	})
	if err != nil && (err != ErrGuardBusy || l.overdue()) {
		return false, err
	}
	defer g.end()
	return l.touchGuarded()
}

// touchGuarded is the guarded section of touch.
func (l *Lease) touchGuarded() (bool, error) {
	e := l.engine
	if _, ours, err := l.ours(); err != nil || !ours {
		return ours, err
	}
	now := e.now()
	if err := e.filesystem.Futimes(l.pin, now); err != nil {
		return false, err
	}
	// The time as the filesystem stored it. A participant that knows no guard may have
	// replaced the lock meanwhile; then it was not that one's that has been touched.
	found, err := l.claim(false).look(l.path)
	if err != nil {
		return false, err
	}
	if found.identity != l.mark.identity {
		return false, nil
	}
	l.mark, l.renewed = found, now
	return true, nil
}

// overdue says whether the lock may be taken over, as far as the holder knows.
func (l *Lease) overdue() bool {
	return l.options.Stale > 0 && l.engine.since(l.renewed) > l.options.Stale
}

// ours says whether what is at the path is this lock, and returns what it is known by.
func (l *Lease) ours() (mark, bool, error) {
	found, err := l.claim(false).look(l.path)
	if nodeerror.Code(err) == "ENOENT" {
		return mark{}, false, nil
	}
	known := l.mark
	if !l.target.adopted() {
		known.mtime = found.mtime
	}
	return found, err == nil && found.same(known), err
}

// Release gives the lock back. If that fails, the next call tries again.
func (l *Lease) Release() error { return l.release(releasePatience) }

// release waits for as long as patience says for a heartbeat that is under way, and for the
// guard.
func (l *Lease) release(patience time.Duration) error {
	defer l.leaveTurn()
	return l.Term.Release(ErrReleased, func() (bool, error) {
		if lost, err := l.stop(patience); err != nil {
			return lost, err
		}
		err := l.remove(patience)
		over := err == nil || nodeerror.Code(err) == ErrCompromised.Code
		e := l.engine
		e.mutex.Lock()
		l.busy = false
		if over {
			delete(e.held, l)
		}
		e.mutex.Unlock()
		if over {
			_ = e.filesystem.Close(l.pin)
		}
		return over, err
	})
}

// stop stops the heartbeats. It reports whether the lock is lost, and why, or another error
// if one that is under way does not end.
func (l *Lease) stop(patience time.Duration) (lost bool, err error) {
	e := l.engine
	for waited := time.Duration(0); ; waited += shortestPause {
		e.mutex.Lock()
		l.ending = true
		if l.timer != nil {
			l.timer.Stop()
		}
		busy, lost := l.busy, l.lost
		l.busy = lost == nil
		e.mutex.Unlock()
		switch {
		case lost != nil:
			return true, lost
		case !busy:
			return false, nil
		case waited >= patience:
			return false, ErrGuardBusy
		}
		_ = e.clock.Wait(context.Background(), shortestPause)
	}
}

// leaveTurn gives the turn with the path away, once.
func (l *Lease) leaveTurn() {
	e := l.engine
	e.mutex.Lock()
	turn := l.turn
	l.turn = false
	e.mutex.Unlock()
	if turn {
		e.leave(l.path)
	}
}

// remove removes the lock if it still is the holder's. As long as it has to wait for the
// guard, it renews the lock.
func (l *Lease) remove(patience time.Duration) error {
	g, err := l.guardDirectory(context.Background(), patience, func() error {
		if l.options.Update > 0 && l.engine.since(l.renewed) >= l.options.Update && !l.overdue() {
			_, _ = l.touchGuarded()
		}
		return nil
	})
	if nodeerror.Code(err) == "ENOENT" {
		return compromised(err) // with the directory
	}
	if err != nil {
		return err
	}
	defer g.end()
	found, ours, err := l.ours()
	switch {
	case err != nil:
		return err
	case !ours:
		return ErrCompromised
	}
	switch v, err := l.claim(g.held).remove(found); {
	case err != nil:
		return err
	case v != removed:
		return ErrCompromised
	}
	return nil
}
