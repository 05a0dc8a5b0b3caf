// Package lease has what the leases of all packages have in common: how long one lasts,
// who is told of its end, and that its release happens once.
package lease

import (
	"context"
	"sync"
)

// A Term is the time for which a lock is held. It ends when the lock is lost, or released.
// The zero value is a term that has not ended, of a lock that was taken without a context.
// Its methods can be called from several goroutines at once.
//
// The channel and the context are made when they are asked for: most leases are released
// without anybody having asked.
type Term struct {
	mutex  sync.Mutex
	parent context.Context
	// err is why the term has ended, and nil before.
	err error
	// over says that nothing is left to do: the lock is lost, or its removal has
	// succeeded. A term that has ended without being over is that of a lock whose removal
	// has failed.
	over bool
	// removing says that a removal is under way, and removed is closed when it is not any
	// more, if anybody waits for that.
	removing bool
	removed  chan struct{}

	done    chan struct{}
	context context.Context
	cancel  context.CancelCauseFunc
}

// Begin sets the context that the lock was taken with, which the context of the term comes
// from. It is for before the lease is handed out.
func (t *Term) Begin(parent context.Context) { t.parent = parent }

// Err returns nil, or why the term has ended.
func (t *Term) Err() error {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.err
}

// Done returns a channel that is closed when the term has ended.
func (t *Term) Done() <-chan struct{} {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if t.done == nil {
		t.done = make(chan struct{})
		if t.err != nil {
			close(t.done)
		}
	}
	return t.done
}

// Context returns a context that ends when the term does, with the same cause, and with the
// context that the lock was taken with.
func (t *Term) Context() context.Context {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if t.context == nil {
		parent := t.parent
		if parent == nil {
			parent = context.Background()
		}
		t.context, t.cancel = context.WithCancelCause(parent)
		if t.err != nil {
			t.cancel(t.err)
		}
	}
	return t.context
}

// End ends the term for good: the lock is lost, or has been removed by other means than
// Release. It reports whether the term had not ended before.
func (t *Term) End(why error) bool { return t.finish(why, true) }

// finish ends the term, and reports whether it had not ended before.
func (t *Term) finish(why error, over bool) bool {
	t.mutex.Lock()
	t.over = t.over || over
	if t.err != nil {
		t.mutex.Unlock()
		return false
	}
	t.err = why
	if t.done != nil {
		close(t.done)
	}
	cancel := t.cancel
	t.mutex.Unlock()
	if cancel != nil {
		cancel(why)
	}
	return true
}

// Release has remove called, unless the lock is lost or was removed before: then it
// returns why the term has ended. Calls from several goroutines come one after the other.
//
// Remove reports whether it leaves nothing to do, and with which error. If it is over
// without an error, the term ends with released, and else with the error. If it is not,
// the term ends with released too, since the caller has no use for the lock any more, and
// the next call of Release tries again.
func (t *Term) Release(released error, remove func() (over bool, err error)) error {
	t.mutex.Lock()
	for t.removing {
		if t.removed == nil {
			t.removed = make(chan struct{})
		}
		removed := t.removed
		t.mutex.Unlock()
		<-removed
		t.mutex.Lock()
	}
	if t.over {
		defer t.mutex.Unlock()
		return t.err
	}
	t.removing = true
	t.mutex.Unlock()

	over, err := remove()

	why := released
	if over && err != nil {
		why = err
	}
	t.finish(why, over)
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.removing = false
	if t.removed != nil {
		close(t.removed)
		t.removed = nil
	}
	return err
}
