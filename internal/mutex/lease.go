package mutex

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/seed-c461eb89/nodelock/compat/nodeerror"
	"github.com/seed-c461eb89/nodelock/internal/clock"
	"github.com/seed-c461eb89/nodelock/internal/filesystem"
	"github.com/seed-c461eb89/nodelock/internal/lease"
	"github.com/seed-c461eb89/nodelock/internal/nodetime"
)

// retriedUpdate is how long after a heartbeat that failed the next one follows, at most.
const retriedUpdate = time.Second

// wakingTime is how long a process that was stopped has at most for the heartbeat that was
// under way.
const wakingTime = 250 * time.Millisecond

// A Lease is a lock that was taken.
type Lease struct {
	lease.Term
	*Mutex
	// path is that of the lock, which is called name in the directory at parent.
	path, parent, name, file string
	directory                *directory
	pin                      filesystem.Handle
	reclaimed                bool
	unwatched                error
	guarded                  atomic.Bool

	// The following belong to the heartbeat and the release, of which one at a time is busy.

	// known is what the lock is known by, and renewed when it was renewed last, in ms.
	// flocked says that the holder has the kernel's lock on it.
	known   mark
	renewed int64
	// stamping is the time in ms that a heartbeat sets which is not known to have had its
	// effect; 0: there is none.
	stamping int64
	flocked  bool
	// removing says that a removal has been tried, which may have had its effect although
	// it failed.
	removing bool

	// The rest is guarded by the engine's mutex.

	order uint64
	timer clock.Timer
	// busy says that a heartbeat or a release is under way; ending that the lock is being
	// released, or was, so that no heartbeat follows.
	busy, ending bool
	// lost is why the lock is lost, or nil.
	lost error
	// turn says that the lock has the turn of its name, which is given away when the lock
	// has ended.
	turn bool
}

// Path returns the path of the lock.
func (l *Lease) Path() string { return l.path }

// File returns the file that is locked, or "" if the lock is of none.
func (l *Lease) File() string { return l.file }

// Reclaimed reports whether the lock was taken over from a holder that is dead or left it
// to go stale.
func (l *Lease) Reclaimed() bool { return l.reclaimed }

// Guarded reports whether the last attempt, heartbeat or release was guarded against every
// process of this machine.
func (l *Lease) Guarded() bool { return l.guarded.Load() }

// WatchError returns why the call that took the lock could not watch the one that was in
// its way, and polled; nil if it could, or did not have to.
func (l *Lease) WatchError() error { return l.unwatched }

func (l *Lease) setGuarded(s section) {
	l.guarded.Store(s.everywhere)
}

// enter makes a lock that was just created one that is removed at exit, and that uses its
// directory until it is over.
func (l *Lease) enter() {
	e := l.engine
	e.mutex.Lock()
	defer e.mutex.Unlock()
	e.created++
	l.order = e.created
	e.held[l] = struct{}{}
	l.directory.users++
}

// hold hands the lock over to the caller: it starts the heartbeat, and the turn that the
// call had is the lock's. It reports whether the lock is still one: a clean-up may have
// released it meanwhile.
func (l *Lease) hold() bool {
	e := l.engine
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if l.ending {
		return false
	}
	l.turn = true
	if l.options.Update > 0 {
		l.timer = e.clock.AfterFunc(l.options.Update, l.beat)
	}
	return true
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

// finish ends a heartbeat, and the lock if that is lost, or was found to be lost meanwhile.
func (l *Lease) finish(lost error) {
	e := l.engine
	e.mutex.Lock()
	l.busy = false
	if l.lost == nil {
		l.lost = lost
	}
	over, hung := l.lost != nil, l.lost == errHeartbeatHangs
	if over {
		l.ending = true
		delete(e.held, l)
	}
	e.mutex.Unlock()
	if hung {
		// The holder has been told already, and the heartbeat has renewed the lock after all.
		_ = l.removeOnce(releasePatience)
	}
	if over {
		l.drop()
	}
}

// drop lets go of a lock that is over.
func (l *Lease) drop() {
	_ = l.engine.filesystem.Close(l.pin)
	l.engine.unuse(l.directory)
}

// beat is called by the timer: it makes a heartbeat and sees to the next.
func (l *Lease) beat() {
	if !l.begin() {
		return
	}
	stop := l.watch()
	again, lost := l.renew()
	stop()
	l.finish(lost)
	e := l.engine
	e.mutex.Lock()
	lost = l.lost
	if lost == nil && !l.ending {
		l.timer.Reset(again)
	}
	e.mutex.Unlock()
	if lost != nil {
		l.tell(lost)
	}
}

// tell ends the lease because the lock is lost.
func (l *Lease) tell(lost error) {
	l.End(lost)
	l.leaveTurn()
}

// watch sees to it that a heartbeat which hangs in a system call does not keep the holder
// from being told, once the threshold has passed. The heartbeat is over when stop is
// called.
func (l *Lease) watch() (stop func()) {
	if l.options.Stale <= 0 {
		return func() {}
	}
	e := l.engine
	// A process that was stopped, so that the heartbeat is overdue or this timer late, has
	// some time to renew the lock.
	grace := min(l.options.Update, wakingTime)
	limit := max(l.options.Stale-e.since(l.renewed), min(l.options.Update, retriedUpdate))
	due := e.clock.Now().Add(limit)
	var timer clock.Timer
	e.mutex.Lock()
	defer e.mutex.Unlock()
	timer = e.clock.AfterFunc(limit, func() {
		now := e.clock.Now()
		e.mutex.Lock()
		hangs := l.busy && !l.ending
		switch {
		case hangs && now.Sub(due) > grace/2:
			hangs, due = false, now.Add(grace)
			timer.Reset(grace)
		case hangs:
			l.ending, l.lost = true, errHeartbeatHangs
			delete(e.held, l)
		}
		e.mutex.Unlock()
		if hangs {
			l.tell(errHeartbeatHangs)
		}
	})
	return func() { timer.Stop() }
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
	again = min(l.options.Update, retriedUpdate)
	if l.options.Stale > 0 {
		// Just after the threshold, so that the holder is told in time.
		again = min(again, l.options.Stale-l.engine.since(l.renewed)+time.Millisecond)
	}
	return again, nil
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
	s, err := e.guard(context.Background(), l.directory, patience, func() error {
		e.mutex.Lock()
		defer e.mutex.Unlock()
		if l.ending {
			return errEnding
		}
		return nil
	})
	if err == nil {
		defer s.end()
		l.setGuarded(s)
	} else if err != ErrGuardBusy || l.overdue() {
		return false, err
	}
	return l.touchGuarded()
}

// touchGuarded is the guarded section of touch.
func (l *Lease) touchGuarded() (bool, error) {
	e := l.engine
	if _, ours, err := l.ours(); err != nil || !ours {
		return ours, err
	}
	l.stamping = e.now()
	failed := e.stamp(l.pin, l.path, l.stamping, l.flocked)
	// The time as the filesystem stored it. A participant that knows no guard may have
	// replaced the lock meanwhile; then it was not that one's that has been touched.
	found, err := l.claim(false).look(l.path)
	switch {
	case err != nil:
		return false, cmp.Or(failed, err)
	case found.identity != l.known.identity:
		return false, nil
	case failed != nil && !l.stamped(found):
		return false, failed
	}
	l.renewedAs(found)
	return true, nil
}

// renewedAs takes note of a heartbeat that has had its effect.
func (l *Lease) renewedAs(found mark) { l.known, l.renewed, l.stamping = found, l.stamping, 0 }

// stamped says whether a heartbeat that has failed has had its effect all the same, which
// the lock's mtime shows.
func (l *Lease) stamped(found mark) bool {
	if l.stamping == 0 || found.identity != l.known.identity || found.mtime.Equal(l.known.mtime) {
		return false
	}
	return found.mtime.Sub(nodetime.Stored(l.stamping)).Abs() <= grain(found.mtime)+time.Millisecond
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
	if err == nil && l.stamped(found) {
		l.renewedAs(found)
	}
	known := l.known
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
			// Not before the lock is gone: without the kernel's lock it is a dead holder's.
			l.drop()
		} else if l.flocked && e.filesystem.Funlock(l.pin) == nil {
			// And that it may be now: the next contender that can remove it does.
			l.flocked = false
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
		l.busy = busy || lost == nil
		e.mutex.Unlock()
		switch {
		case lost != nil:
			return true, lost
		case !busy:
			return false, nil
		case waited >= patience:
			return false, ErrHeartbeatHangs
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
		e.leave(l.directory, l.name)
	}
}

// remove removes the lock if it still is the holder's, and tries again for a while if that
// is refused: another program may have it open.
func (l *Lease) remove(patience time.Duration) error {
	var failing time.Duration
	for {
		err := l.removeOnce(patience)
		if err == nil || nodeerror.Code(err) == ErrCompromised.Code || err == ErrGuardBusy || failing >= min(patient, patience) {
			return err
		}
		pause := min(max(failing, shortestPause), longestRetryPause)
		failing += pause
		_ = l.engine.clock.Wait(context.Background(), pause)
	}
}

// removeOnce removes the lock if it still is the holder's. As long as it has to wait for
// the guard, it renews the lock.
func (l *Lease) removeOnce(patience time.Duration) error {
	s, err := l.engine.guard(context.Background(), l.directory, patience, func() error {
		if l.options.Update > 0 && l.engine.since(l.renewed) >= l.options.Update && !l.overdue() {
			_, _ = l.touchGuarded()
		}
		return nil
	})
	if err != nil {
		return err
	}
	defer s.end()
	l.setGuarded(s)
	c := l.claim(s.guarded)
	found, ours, err := l.ours()
	switch {
	case err != nil:
		return err
	case !ours && l.removing:
		// An earlier removal has had its effect, in whole or in part, although it failed.
		return c.removeAside(l.known)
	case !ours:
		return ErrCompromised
	}
	again := l.removing
	l.known, l.removing = found, true
	v, err := c.remove(found)
	if err == nil && v != removed && !again {
		return ErrCompromised
	}
	return err
}
