package mutex

import (
	"context"
	"errors"
	"time"

	"github.com/seed-c461eb89/nodelock/compat/nodeerror"
	"github.com/seed-c461eb89/nodelock/internal/clock"
	"github.com/seed-c461eb89/nodelock/internal/filesystem"
)

// retriedUpdate is how long after a heartbeat that failed the next one follows, at most.
const retriedUpdate = time.Second

// A lease is a lock that was taken.
type lease struct {
	*Mutex
	path, directory string
	pin             filesystem.Handle
	reclaimed       bool
	doubt           *mark
	order           uint64
	cancel          context.CancelCauseFunc
	timer           clock.Timer

	// mark and renewed, when that was in ms, are the heartbeat's and the release's, of
	// which one at a time is busy.
	mark    mark
	renewed int64

	// The rest is guarded by the engine's mutex.

	// busy says that a heartbeat or a release is under way; ending that the lock is being
	// released, or was, so that no heartbeat follows; over that nothing is left to do.
	busy, ending, over bool
	// left says that the turn has been given away.
	left bool
	// err is what the release returned.
	err error
}

// hold begins the life of a lock: what becomes of it is told by cancel.
func (l *lease) hold(cancel context.CancelCauseFunc) {
	e := l.engine
	l.cancel = cancel
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if len(e.held) == 0 {
		e.hook.Add(e)
	}
	e.created++
	l.order = e.created
	e.held[l] = struct{}{}
	if l.options.Update > 0 {
		l.timer = e.clock.AfterFunc(l.options.Update, l.beat)
	}
}

// beat is called by the timer: it makes a heartbeat and sees to the next.
func (l *lease) beat() {
	e := l.engine
	e.mutex.Lock()
	if l.busy || l.ending {
		e.mutex.Unlock()
		return
	}
	l.busy = true
	e.mutex.Unlock()

	again, lost := l.renew()

	e.mutex.Lock()
	l.busy = false
	if lost == nil {
		if !l.ending {
			l.timer.Reset(again)
		}
		e.mutex.Unlock()
		return
	}
	l.ending = true
	l.end(lost)
	e.mutex.Unlock()
	_ = e.filesystem.Close(l.pin)
	l.tell(lost)
}

// end is the end of a lock. The mutex is held.
func (l *lease) end(err error) {
	l.over, l.err = true, err
	e := l.engine
	if _, ok := e.held[l]; !ok {
		return
	}
	delete(e.held, l)
	if len(e.held) == 0 {
		e.hook.Remove(e)
	}
}

// errEnding breaks off a heartbeat because the lock is being released.
var errEnding = errors.New("mutex: the lock is being released")

// renew makes a heartbeat. It returns when the next one is due, or why the lock is lost.
//
// A holder that was stopped for longer than the threshold, and whose lock nobody took,
// goes on as if nothing had been.
func (l *lease) renew() (again time.Duration, lost error) {
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
// is renewed without: nobody has judged it to be stale, and nobody is to. An overdue one
// may be about to be taken over by the one who is stopped, and is given up.
func (l *lease) touch() (bool, error) {
	e := l.engine
	patience := max(min(l.options.Update/4, retriedUpdate), shortestPause)
	g, err := l.guardDirectory(context.Background(), l.directory, patience, func() error {
		e.mutex.Lock()
		defer e.mutex.Unlock()
		if l.ending {
			return errEnding
		}
		return nil
	})
	if err != nil && (err != errGuardBusy || l.overdue()) {
		return false, err
	}
	defer g.end()
	return l.touchGuarded()
}

// touchGuarded is the guarded section of touch.
func (l *lease) touchGuarded() (bool, error) {
	e := l.engine
	if _, ours, err := l.ours(); err != nil || !ours {
		return ours, err
	}
	now := e.now()
	if err := e.filesystem.Futimes(l.pin, now); err != nil {
		return false, err
	}
	// The time as the filesystem stored it. Whoever knows no guard may have replaced the
	// lock meanwhile; then it was not his that has been touched.
	found, err := l.claim(false).look(l.path)
	if err != nil {
		return false, err
	}
	if found.identity != l.mark.identity && e.Omit&Identity == 0 {
		return false, nil
	}
	l.mark, l.renewed = found, now
	return true, nil
}

// overdue says whether the lock may be taken over, as far as the holder knows.
func (l *lease) overdue() bool {
	return l.options.Stale > 0 && l.engine.since(l.renewed) > l.options.Stale
}

// ours says whether what is at the path is this lock, and returns what it is known by.
func (l *lease) ours() (mark, bool, error) {
	found, err := l.claim(false).look(l.path)
	if nodeerror.Code(err) == "ENOENT" {
		return mark{}, false, nil
	}
	known := l.mark
	if !l.target.adopted() {
		known.mtime = found.mtime
	}
	return found, err == nil && l.engine.is(found, known), err
}

// unlock releases the lock. If that fails because the guard cannot be had, the next call
// tries again; else the first call does it, and all return the same.
func (l *lease) unlock() error {
	err := l.release(releasePatience)
	e := l.engine
	e.mutex.Lock()
	leave := !l.left
	l.left = true
	e.mutex.Unlock()
	if leave {
		e.leave(l.path)
	}
	return err
}

func (l *lease) release(patience time.Duration) error {
	e := l.engine
	var waited time.Duration
	for {
		e.mutex.Lock()
		if l.over {
			defer e.mutex.Unlock()
			return l.err
		}
		if !l.ending {
			l.ending = true
			if l.timer != nil {
				l.timer.Stop()
			}
		}
		if !l.busy {
			l.busy = true
			e.mutex.Unlock()
			break
		}
		e.mutex.Unlock()
		// A heartbeat is about to end, or a release by another goroutine.
		if waited >= patience {
			return errGuardBusy
		}
		waited += shortestPause
		_ = e.clock.Wait(context.Background(), shortestPause)
	}
	err := l.remove(patience)
	e.mutex.Lock()
	l.busy = false
	if err == errGuardBusy {
		e.mutex.Unlock()
		l.tell(ErrReleased)
		return err
	}
	l.end(err)
	e.mutex.Unlock()
	_ = e.filesystem.Close(l.pin)
	if nodeerror.Code(err) == ErrCompromised.Code {
		l.tell(err)
	} else {
		l.tell(ErrReleased)
	}
	return err
}

// tell ends the holder's context.
func (l *lease) tell(why error) {
	if l.cancel != nil {
		l.cancel(why)
	}
}

// remove removes the lock if it still is the holder's. As long as it has to wait for the
// guard, it renews the lock.
func (l *lease) remove(patience time.Duration) error {
	g, err := l.guardDirectory(context.Background(), l.directory, patience, func() error {
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
