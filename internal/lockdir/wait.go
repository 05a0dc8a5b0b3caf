package lockdir

import (
	"context"
	"errors"
	"time"
)

// AcquireWait repeats Acquire until it succeeds or something other than a conflict comes
// of it (§9 number 14). A directory in the lock directory is a conflict, but one that
// waiting does not help.
func (l *Lock) AcquireWait(ctx context.Context) (*Lease, error) {
	pause := l.options.Backoff
	for {
		lease, err := l.Acquire(ctx)
		if err == nil || !errors.Is(err, ErrConflict) || errors.Is(err, ErrDirectory) {
			return lease, err
		}
		pause = min(pause, l.options.WaitLimit)
		// The jitter comes after the limit here: those who wait for one lock must not
		// come in step.
		if err := l.clock.Wait(ctx, time.Duration(float64(pause)*l.jitter())); err != nil {
			return nil, err
		}
		pause *= 2
	}
}
