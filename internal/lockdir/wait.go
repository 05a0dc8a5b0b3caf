package lockdir

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-c461eb89/nodelock/compat/nodeerror"
	"github.com/seed-c461eb89/nodelock/internal/lease"
)

// AcquireWait repeats Acquire until it succeeds or something other than a conflict comes
// of it (§9 number 14). A directory in the lock directory is a conflict, but one that
// waiting does not help. If the context ends, the error is the last conflict and the cause.
func (l *Lock) AcquireWait(ctx context.Context) (*Lease, error) {
	var (
		conflict error
		holder   entry
		pause    = l.options.Backoff
		began    = l.clock.Now()
	)
	for {
		taken, found, err := l.acquire(ctx)
		if ended, ok := err.(lease.WaitEnded); ok {
			return nil, l.waited(conflict, holder, began, ended.Cause)
		}
		if err == nil || !errors.Is(err, ErrLocked) || errors.Is(err, ErrDirectory) {
			return taken, err
		}
		conflict, holder = err, found
		pause = min(pause, l.options.WaitLimit)
		// The jitter comes after the limit here: those that wait for one lock must not come
		// in step.
		if err := l.clock.Wait(ctx, time.Duration(float64(pause)*l.jitter())); err != nil {
			return nil, l.waited(conflict, holder, began, err)
		}
		pause *= 2
	}
}

// Do calls f with the lock held, and with a context that ends when the lock is lost.
func (l *Lock) Do(ctx context.Context, f func(context.Context) error) error {
	taken, err := l.AcquireWait(ctx)
	if err != nil {
		return err
	}
	return lease.Do(taken, ErrCompromised, f)
}

// waited is the error of a wait that the context has ended: the last conflict, how old the
// record was that it is about, how long was waited, and why that ended.
func (l *Lock) waited(conflict error, holder entry, began time.Time, cause error) error {
	if conflict == nil {
		return cause
	}
	text := conflict.Error()
	if holder.mtime != 0 {
		text += ", " + lease.Renewed(l.age(holder.mtime))
	}
	text += fmt.Sprintf(", waited %v: %v", l.clock.Now().Sub(began).Round(time.Millisecond), cause)
	return &nodeerror.Error{Code: ErrLocked.Code, Message: text, Err: errors.Join(cause, conflict)}
}
