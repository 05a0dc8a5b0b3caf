package lease

import (
	"context"
	"time"
)

// WaitEnded is the error of a wait that a context has ended.
type WaitEnded struct{ Cause error }

func (w WaitEnded) Error() string { return w.Cause.Error() }

// Unwrap returns the cause of the context's end.
func (w WaitEnded) Unwrap() error { return w.Cause }

// A Waiter waits, as a clock does.
type Waiter interface {
	Wait(ctx context.Context, d time.Duration) error
}

// Wait waits for d, or until ctx ends: then the error is WaitEnded.
func Wait(ctx context.Context, c Waiter, d time.Duration) error {
	if err := c.Wait(ctx, d); err != nil {
		return WaitEnded{err}
	}
	return nil
}

// CheckContext panics if ctx is nil.
func CheckContext(ctx context.Context) {
	if ctx == nil {
		panic("nodelock: the context is nil; use context.Background() if there is none")
	}
}
