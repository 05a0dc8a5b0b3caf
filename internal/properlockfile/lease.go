package properlockfile

import (
	"context"
	"time"

	"github.com/seed-c461eb89/nodelock/compat/nodeerror"
	"github.com/seed-c461eb89/nodelock/internal/clock"
	"github.com/seed-c461eb89/nodelock/internal/lease"
	"github.com/seed-c461eb89/nodelock/internal/nodetime"
)

// A Lease is a lock that was taken: what Node's release function knows, and for how long
// the lock is held.
type Lease struct {
	lease.Term
	engine *Engine
	settings
	file      string
	path      string
	precision precision
	reclaimed bool

	// left says that a release has failed, and leftMtime what the mtime of the directory was
	// afterwards, or 0 if that is not known. They are the release's alone.
	left      bool
	leftMtime int64

	// The rest is guarded by the engine's mutex.

	// listed says that the lock is what is held for its file, and no other is.
	listed bool
	// armed says that the timer is set, and rules by what its heartbeat goes.
	armed bool
	// touching says that a heartbeat is setting the times of the directory, and resting that
	// none does any more.
	touching, resting bool
	// released says that Node counts the lock as released, and over that nothing happens
	// to it any more. They differ for a lock whose release ended another (see NodeRelease).
	released, over bool

	order uint64
	timer clock.Timer
	rules *settings
	delay time.Duration // until the next heartbeat; 0: as the rules say
	// mtime is what the directory's is to be, and lastUpdate when it was set, in ms.
	mtime, lastUpdate int64
	// updateErr is why the last update failed (for 1.2.0).
	updateErr error
}

// File returns the file that is locked, resolved.
func (l *Lease) File() string { return l.file }

// Path returns where the lock's directory is.
func (l *Lease) Path() string { return l.path }

// Reclaimed reports whether a stale directory was removed for the lock.
func (l *Lease) Reclaimed() bool { return l.reclaimed }

// Guarded reports false: the protocol knows no guard.
func (l *Lease) Guarded() bool { return false }

// WatchError returns nil: the protocol polls.
func (l *Lease) WatchError() error { return nil }

// NodeRelease is Node's release function (P14, P15). It removes its own directory, but
// ends what is held for the file by now, be it another lock (P2): that one is not renewed
// any more, and its directory stays. Of a lock that was released before it spares the
// other: what Node does then depends on which heartbeats there were.
func (l *Lease) NodeRelease() error {
	e := l.engine
	// A clean-up of the process does not come between the end of the lock and its removal.
	e.registry.Begin(e)
	defer e.registry.End()
	e.mutex.Lock()
	current := e.current(l)
	switch {
	case l.released, l.over && current != nil:
		e.mutex.Unlock()
		return ErrReleased
	case current == nil:
		e.mutex.Unlock()
		return ErrNotAcquired
	}
	e.release(current)
	e.end(l)
	e.mutex.Unlock()
	if current != l {
		current.End(ErrReleased)
	}
	return remove(l.files, l.path)
}

// Release gives the lock back: what NodeRelease does, once, and not before the heartbeat is
// at rest. If the directory cannot be removed, the next call tries again, unless another
// participant has it by then: it was not renewed, and may have been taken over.
func (l *Lease) Release() error {
	err := l.Term.Release(ErrReleased, func() (bool, error) {
		if l.left {
			return l.removeAgain()
		}
		l.rest()
		err := l.NodeRelease()
		switch {
		case err == nil:
			return true, nil
		case err == ErrReleased || err == ErrNotAcquired:
			return true, err
		}
		l.left = true
		if stat, err := l.files.Stat(l.path); err == nil {
			l.leftMtime = nodetime.Milliseconds(stat.ModTime)
		}
		return false, err
	})
	if err != nil && l.Err() == err && err != ErrReleased && err != ErrNotAcquired {
		// It was lost before, which to Node is a lock that was released (P15).
		return &nodeerror.Error{Code: ErrReleased.Code, Message: ErrReleased.Message, Err: err}
	}
	return err
}

// removeAgain removes the directory that a release has left, if it still is that one.
func (l *Lease) removeAgain() (over bool, err error) {
	stat, err := l.files.Stat(l.path)
	switch {
	case nodeerror.Code(err) == "ENOENT":
		return true, nil
	case err != nil:
		return false, err
	case l.leftMtime != 0 && nodetime.Milliseconds(stat.ModTime) != l.leftMtime:
		return true, nil
	}
	err = remove(l.files, l.path)
	return err == nil, err
}

// rest waits until no heartbeat touches the directory, and sees to it that none does from
// then on. One that is under way when the lock is released could touch the directory of the
// next one:
//
//	heartbeat: stat(f.lock)             still its own
//	release:   rmdir(f.lock)
//	another:   mkdir(f.lock)
//	heartbeat: utimes(f.lock)           the other finds its lock touched, and gives it up
//
// Node does not wait.
func (l *Lease) rest() {
	e := l.engine
	for {
		e.mutex.Lock()
		l.resting = true
		touching := l.touching
		e.mutex.Unlock()
		if !touching {
			return
		}
		_ = e.clock.Wait(context.Background(), time.Millisecond)
	}
}

// NodeUnlock releases the lock that is held for file, and removes the directory where o
// says that the lock is (P16).
func (e *Engine) NodeUnlock(file string, o *Options) error {
	return e.unlock(file, o, func(*Lease) {})
}

// NodeUnlockSync is NodeUnlock as a synchronous call (P18).
func (e *Engine) NodeUnlockSync(file string, o *Options) error {
	if o.refusesRetries(false) {
		return ErrSyncRetries
	}
	return e.NodeUnlock(file, o)
}

// Unlock is NodeUnlock, but not before the heartbeat is at rest.
func (e *Engine) Unlock(file string, o *Options) error { return e.unlock(file, o, (*Lease).rest) }

// UnlockSync is Unlock as a synchronous call (P18).
func (e *Engine) UnlockSync(file string, o *Options) error {
	if o.refusesRetries(false) {
		return ErrSyncRetries
	}
	return e.Unlock(file, o)
}

// unlock releases the lock of a file, after before has been called with it.
func (e *Engine) unlock(file string, o *Options, before func(*Lease)) error {
	files := e.callsOf(o)
	file, err := e.resolve(files, file, o)
	if err != nil {
		return err
	}
	e.mutex.Lock()
	current := e.held[o.Contract][file]
	e.mutex.Unlock()
	if current != nil {
		before(current)
	}
	e.registry.Begin(e)
	defer e.registry.End()
	e.mutex.Lock()
	current = e.held[o.Contract][file]
	if current == nil {
		e.mutex.Unlock()
		return ErrNotAcquired
	}
	e.release(current)
	e.mutex.Unlock()
	current.End(ErrReleased)
	return remove(files, o.lockPath(file))
}

// current returns the lock that is held for the file of l: l itself, or another that has
// taken its place, or nil.
func (e *Engine) current(l *Lease) *Lease {
	if l.listed {
		return l
	}
	return e.held[l.contract][l.file]
}

// release ends a lock that is held.
func (e *Engine) release(l *Lease) {
	l.released = true
	e.end(l)
}

// end ends a lock: no heartbeat follows, and no compromise is reported.
func (e *Engine) end(l *Lease) {
	if l.over {
		return
	}
	l.over = true
	if l.armed {
		l.armed = false
		l.timer.Stop()
	}
	if l.listed {
		l.listed = false
		delete(e.held[l.contract], l.file)
	}
}
