package lockdir

import (
	"context"
	"slices"
	"sync"

	"github.com/seed-c461eb89/nodelock/internal/clock"
)

// A Lease is a lock that was taken: from Acquire until it is released or lost.
type Lease struct {
	lock   *Lock
	id     string
	record string // the path of it
	done   chan struct{}

	mutex sync.Mutex
	timer clock.Timer
	// gone: at the last heartbeat the record was missing.
	gone bool
	err  error // nil while the lock is held
	// watcher is told of a loss.
	watcher func(error)
}

// lease starts the heartbeat of a lock that was taken (§5).
func (l *Lock) lease(id string) *Lease {
	lease := &Lease{lock: l, id: id, record: l.join(l.dir, id+recordSuffix), done: make(chan struct{})}
	lease.mutex.Lock()
	defer lease.mutex.Unlock()
	lease.timer = l.clock.AfterFunc(l.options.Heartbeat, lease.beat)
	return lease
}

// ID returns the lock id, which names the record.
func (l *Lease) ID() string { return l.id }

// Done returns a channel that is closed when the lock has ended.
func (l *Lease) Done() <-chan struct{} { return l.done }

// Err returns nil, or why the lock has ended.
func (l *Lease) Err() error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.err
}

// Watch has f called if the lock is lost.
func (l *Lease) Watch(f func(error)) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.watcher = f
}

// end ends the lock, and reports whether it had not ended before.
func (l *Lease) end(err error) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.err != nil {
		return false
	}
	l.err = err
	l.timer.Stop()
	close(l.done)
	return true
}

// lose ends the lock because of what others did.
func (l *Lease) lose(err error) {
	if !l.end(err) {
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
// somebody who is about to put it back (W2), so it is looked for once more, soon.
func (l *Lease) beat() {
	if l.Err() != nil {
		return // it was stopped too late
	}
	err := l.lock.filesystem.Utimes(l.record, l.lock.now())
	l.mutex.Lock()
	lost := missing(err) && l.gone
	l.gone = missing(err)
	if l.err == nil && !lost {
		next := l.lock.options.Heartbeat
		if l.gone {
			next = min(next, l.lock.options.PutBack)
		}
		l.timer.Reset(next)
	}
	l.mutex.Unlock()
	if lost {
		l.lose(ErrLost)
	}
}

// Verify looks whether the record is there, and alone (W1).
func (l *Lease) Verify(ctx context.Context) error {
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
			err := lock.conflict(ErrHeld, other.holder())
			l.lose(err)
			_ = l.remove()
			return err
		}
		// A listing may miss what is renamed while it is made, and a record that was
		// moved aside may come back, if there is still something to come back to.
		if looked || err != nil {
			l.lose(ErrLost)
			return l.Err()
		}
		if err := lock.clock.Wait(ctx, lock.options.PutBack); err != nil {
			return err
		}
	}
}

// Release gives the lock back (§5). It removes nothing that is another's.
func (l *Lease) Release() error {
	if !l.end(ErrReleased) {
		return l.Err()
	}
	l.lock.handovers.Add(1)
	return l.remove()
}

// remove removes the record, and the directory if nothing else is in it.
func (l *Lease) remove() error {
	lock := l.lock
	err := lock.filesystem.Unlink(l.record)
	if missing(err) {
		// Somebody may be judging it, and put it back when nobody looks after it any
		// more: then it would keep others out until it is stale (W2).
		if _, err := lock.filesystem.Lstat(l.record + quarantineSuffix); err == nil {
			_ = lock.clock.Wait(context.Background(), lock.options.PutBack)
		}
		err = lock.filesystem.Unlink(l.record)
	}
	_ = lock.filesystem.Rmdir(lock.dir)
	if missing(err) {
		return ErrLost
	}
	return err
}
