// Package clock is the seam between the engines and time.
//
// The wall clock is for what others see, such as the age of a lock. Waiting goes by
// the monotonic clock and is not disturbed when the wall clock is set.
package clock

import (
	"context"
	"time"
)

// A Clock tells the time and waits. Durations below 1 ms are 1 ms, and fractions of
// a millisecond are cut off, as in Node's timers.
type Clock interface {
	// Now returns the wall clock's time.
	Now() time.Time
	// Wait returns nil after d, or at once the cause of ctx's end. It costs one
	// timer and no goroutine.
	Wait(ctx context.Context, d time.Duration) error
	// AfterFunc calls f in a goroutine of its own after d.
	AfterFunc(d time.Duration, f func()) Timer
}

// A Timer is a call to come. Neither of its methods waits for anything, so they may be
// called with a mutex held, as AfterFunc may.
type Timer interface {
	// Stop prevents the call, and reports whether it was in time to.
	Stop() bool
	// Reset has the call made after d, and again if it was made already.
	Reset(d time.Duration)
}
