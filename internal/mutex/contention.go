package mutex

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-c461eb89/nodelock/internal/lease"
)

// A contention is one call that takes the lock, and waits for it if it may.
type contention struct {
	*Mutex
	path, file string
	wait       bool
	parent     context.Context
	began      time.Time

	// doubt is what was found stale, and is to be looked at again.
	doubt mark
	// renewed is the file time, in ms, of the lock that was in the way last; 0: there was
	// none.
	renewed int64
	// inProcess says that the lock is this process's own.
	inProcess bool
}

// errWaitOver is the cause of a context that ends because Options.Wait is over.
var errWaitOver = errors.New("mutex: the wait is over")

// bound returns the context of the waiting, which Options.Wait bounds apart from the
// context of the caller.
func (c *contention) bound() (context.Context, func()) {
	if !c.wait || c.options.Wait == 0 {
		return c.parent, func() {}
	}
	patient, cancel := context.WithCancelCause(c.parent)
	timer := c.engine.clock.AfterFunc(c.options.Wait, func() { cancel(errWaitOver) })
	return patient, func() {
		timer.Stop()
		cancel(nil)
	}
}

// contend makes attempts until one succeeds.
func (c *contention) contend(ctx context.Context) (*Lease, error) {
	for {
		doubted := c.doubt
		l, err := c.attempt(ctx)
		if l != nil {
			return l, nil
		}
		if err == nil {
			switch {
			case !c.doubt.same(doubted) && (c.wait || doubted.same(mark{})):
				err = lease.Wait(ctx, c.engine.clock, c.options.Doubt)
			case !c.wait:
				err = errTaken
			default:
				err = c.awaitChange(ctx)
			}
		}
		if err != nil {
			return nil, c.refused(err)
		}
	}
}

// awaitChange waits until it is worth while to try again: nil. An error means that ctx
// has ended. This is the place for being woken when the lock is removed.
func (c *contention) awaitChange(ctx context.Context) error {
	return lease.Wait(ctx, c.engine.clock, c.engine.jitter(c.options.Poll))
}

// jitter varies a pause by a quarter either way.
func (e *Engine) jitter(d time.Duration) time.Duration {
	return d - d/4 + time.Duration(float64(d/2)*e.Random())
}

// refused is the error of a call that has not got the lock because of err: that of a system
// call as it is, and else one that says which lock is held, when that was renewed last, and
// how long was waited.
func (c *contention) refused(err error) error {
	ended, isWait := err.(lease.WaitEnded)
	if !isWait && err != errTaken {
		return err
	}
	held := c.target.held(c.path)
	text := held.Error() + ":"
	if held.Syscall == "" {
		text += fmt.Sprintf(" '%s'", c.path)
	}
	held.Path, held.File = c.path, c.file
	switch {
	case c.inProcess:
		text += " held by this process"
	case c.renewed != 0:
		text += " " + lease.Renewed(c.engine.since(c.renewed))
	default:
		text += " its directory is busy"
	}
	if c.wait {
		text += fmt.Sprintf(", waited %v", c.engine.clock.Now().Sub(c.began).Round(time.Millisecond))
	}
	if isWait && ended.Cause != errWaitOver {
		text += ": " + ended.Cause.Error()
		held.Err = errors.Join(ended.Cause, held.Err)
	}
	held.Message = text
	return held
}
