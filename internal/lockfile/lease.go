package lockfile

import (
	"context"

	"github.com/seed-c461eb89/nodelock/compat/nodeerror"
	"github.com/seed-c461eb89/nodelock/internal/lease"
)

// The errors that callers can tell apart by code. ErrLocked is that of Node's open.
var (
	ErrLocked      = &nodeerror.Error{Code: "EEXIST", Message: "the lock is held"}
	ErrCompromised = &nodeerror.Error{Code: "ECOMPROMISED", Message: "The lock is lost: this process has taken it anew"}
	ErrReleased    = &nodeerror.Error{Code: "ERELEASED", Message: "Lock is already released"}
)

// A Lease is a lock that was taken. Node has nothing like it: there, a lock is a path.
type Lease struct {
	lease.Term
	engine    *Engine
	path      string
	reclaimed bool
}

// hold returns the lease of a lock that was just created. An earlier lease of the same
// path, whose lock must be gone, has ended.
func (e *Engine) hold(ctx context.Context, path string, reclaimed bool) *Lease {
	l := &Lease{engine: e, path: path, reclaimed: reclaimed}
	l.Begin(ctx)
	e.mutex.Lock()
	before := e.leases[path]
	e.leases[path] = l
	e.mutex.Unlock()
	if before != nil {
		before.End(ErrCompromised)
	}
	return l
}

// Path returns the path of the lock, as it was given (L25).
func (l *Lease) Path() string { return l.path }

// Reclaimed reports whether the lock was taken over from another participant.
func (l *Lease) Reclaimed() bool { return l.reclaimed }

// Guarded reports false: the protocol knows no guard.
func (l *Lease) Guarded() bool { return false }

// WatchError returns nil: the protocol polls.
func (l *Lease) WatchError() error { return nil }

// Release removes the file, as Unlock does. If that fails, the next call tries again.
func (l *Lease) Release() error {
	return l.Term.Release(ErrReleased, func() (bool, error) {
		e := l.engine
		e.registry.Begin(e)
		defer e.registry.End()
		// First, because a lock that another goroutine creates once the file is gone must
		// not be forgotten. A clean-up of the process does not come between the two.
		e.mutex.Lock()
		place, tracked := e.tracked[l.path]
		delete(e.tracked, l.path)
		if e.leases[l.path] == l {
			delete(e.leases, l.path)
		}
		e.mutex.Unlock()
		err := unlessMissing(e.filesystem.Unlink(l.path))
		if err == nil {
			return true, nil
		}
		e.mutex.Lock()
		defer e.mutex.Unlock()
		if tracked {
			e.tracked[l.path] = place
		}
		if e.leases[l.path] == nil {
			e.leases[l.path] = l
		}
		return false, err
	})
}
