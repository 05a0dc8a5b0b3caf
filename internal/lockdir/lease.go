package lockdir

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/seed-c461eb89/nodelock/compat/nodeerror"
	"github.com/seed-c461eb89/nodelock/internal/clock"
	"github.com/seed-c461eb89/nodelock/internal/lease"
)

// A Lease is a lock that was taken: from Acquire until it is released or lost.
type Lease struct {
	lease.Term
	lock      *Lock
	id        string
	record    string // the path of it
	reclaimed bool

	mutex sync.Mutex
	timer clock.Timer
	// ending says that the lock is being released, or has ended: no heartbeat follows.
	ending bool
	// gone: at the last heartbeat the record was missing.
	gone bool
	// watcher is told of a loss.
	watcher func(error)
}

// hold makes a lock that has just been taken a lease, and starts its heartbeat (§5).
func (a *attempt) hold() {
	l := &Lease{
		lock: a.Lock, id: a.id, record: a.join(a.dir, a.id+recordSuffix), reclaimed: a.reclaimed,
	}
	l.Begin(a.ctx)
	e := a.Engine
	e.handovers.Add(1)
	e.mutex.Lock()
	e.taken++
	e.held[l] = e.taken
	e.mutex.Unlock()
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.timer = e.clock.AfterFunc(a.options.Heartbeat, l.beat)
	a.lease = l
}

// ID returns the lock id, which names the record.
func (l *Lease) ID() string { return l.id }

// Path returns the path of the lock directory.
func (l *Lease) Path() string { return l.lock.dir }

// File returns what the lock is of, as it was given.
func (l *Lease) File() string { return l.lock.target }

// Reclaimed reports whether a stale record was removed for the lock.
func (l *Lease) Reclaimed() bool { return l.reclaimed }

// Watch has f called if the lock is lost.
func (l *Lease) Watch(f func(error)) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.watcher = f
}

// stop stops the heartbeats.
func (l *Lease) stop() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.ending = true
	l.timer.Stop()
}

// forget takes the lock off those that are removed at exit.
func (l *Lease) forget() {
	l.lock.mutex.Lock()
	defer l.lock.mutex.Unlock()
	delete(l.lock.held, l)
}

// lose ends the lock because of what others did.
func (l *Lease) lose(err error) {
	l.stop()
	l.forget()
	if !l.End(err) {
		return
	}
	l.mutex.Lock()
	watcher := l.watcher
	l.mutex.Unlock()
	if watcher != nil {
		watcher(err)
	}
}

// beat is a heartbeat (§5): it touches the record. Only a record that is missing is a
// loss; any other error may pass. And one that is missing may have been moved aside by
// another participant that is about to put it back (W2), so it is looked for once more,
// soon.
func (l *Lease) beat() {
	l.mutex.Lock()
	ending := l.ending
	l.mutex.Unlock()
	if ending {
		return // it was stopped too late
	}
	err := l.lock.filesystem.Utimes(l.record, l.lock.now())
	l.mutex.Lock()
	lost := missing(err) && l.gone && !l.ending
	l.gone = missing(err)
	if !l.ending && !lost {
		next := l.lock.options.Heartbeat
		if l.gone {
			next = min(next, l.lock.options.PutBack)
		}
		l.timer.Reset(next)
	}
	l.mutex.Unlock()
	if lost {
		l.lose(ErrCompromised)
	}
}

// Verify looks whether the record is there, and alone (W1).
func (l *Lease) Verify(ctx context.Context) error {
	lease.CheckContext(ctx)
	lock, own := l.lock, l.id+recordSuffix
	for looked := false; ; looked = true {
		if err := l.Err(); err != nil {
			return err
		}
		names, err := lock.filesystem.Readdir(lock.dir)
		if err != nil && !missing(err) {
			return err
		}
		if slices.Contains(names, own) {
			other, ok := lock.other(names, own)
			if !ok {
				return l.Err()
			}
			err := lock.lost(lock.conflict(ErrHeld, other.process()))
			l.lose(err)
			_ = l.remove()
			return err
		}
		// A listing may miss what is renamed while it is made, and a record that was
		// moved aside may come back, if there is still something to come back to.
		if looked || err != nil {
			l.lose(ErrCompromised)
			return l.Err()
		}
		if err := lock.clock.Wait(ctx, lock.options.PutBack); err != nil {
			return err
		}
	}
}

// lost is a conflict that ends a lease: it is a loss too.
func (l *Lock) lost(conflict *nodeerror.Error) error {
	conflict.Err = errors.Join(conflict.Err, ErrCompromised)
	return conflict
}

// Release gives the lock back (§5). It removes nothing that is another's. If the record
// cannot be removed, the next call tries again.
func (l *Lease) Release() error {
	return l.Term.Release(ErrReleased, func() (bool, error) {
		l.stop()
		l.lock.handovers.Add(1)
		err := l.remove()
		over := err == nil || err == ErrCompromised
		if over {
			l.forget()
		}
		return over, err
	})
}

// remove removes the record, and the directory if nothing else is in it.
func (l *Lease) remove() error {
	lock := l.lock
	err := lock.filesystem.Unlink(l.record)
	if missing(err) {
		// Another participant may be judging it, and put it back when its holder does not
		// look after it any more: then it would keep others out until it is stale (W2).
		if _, err := lock.filesystem.Lstat(l.record + quarantineSuffix); err == nil {
			_ = lock.clock.Wait(context.Background(), lock.options.PutBack)
		}
		err = lock.filesystem.Unlink(l.record)
	}
	_ = lock.filesystem.Rmdir(lock.dir)
	if missing(err) {
		return ErrCompromised
	}
	return err
}
