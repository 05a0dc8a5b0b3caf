package lockdir

import (
	"fmt"
	"math"
	"time"

	"github.com/seed-c461eb89/nodelock/internal/nodetime"
)

// Options are the protocol's constants (§2). A field that is 0 has the original's
// value. compat/lockdir says what each is.
type Options struct {
	Heartbeat     time.Duration
	Stale         time.Duration
	Incoming      time.Duration
	Retries       int
	RemoveRetries int
	Rounds        int
	Backoff       time.Duration
	BackoffLimit  time.Duration
	PutBack       time.Duration
	WaitLimit     time.Duration
	Hostname      string
}

// The originals.
const (
	heartbeat     = 15 * time.Second
	incoming      = 5 * time.Second
	retries       = 5  // ENOTEMPTY_RETRY_ATTEMPTS
	removeRetries = 5  // WINDOWS_RETRY_ATTEMPTS
	rounds        = 20 // MAX_ACQUISITION_ITERATIONS
	backoff       = 50 * time.Millisecond
	backoffLimit  = 300 * time.Millisecond
)

// Not the protocol's, which has neither.
const (
	putBack   = time.Second
	waitLimit = 300 * time.Millisecond
)

// Beyond these no option makes sense, and what is computed from them would overflow.
const (
	maxDuration = time.Duration(1 << 60)
	maxCount    = 1000
)

// withDefaults fills in the originals, or says which option cannot be.
func (o Options) withDefaults(platform Platform) (Options, error) {
	for _, d := range []struct {
		name     string
		value    *time.Duration
		original time.Duration
	}{
		{"Heartbeat", &o.Heartbeat, heartbeat}, {"Stale", &o.Stale, platform.Stale},
		{"Incoming", &o.Incoming, incoming}, {"Backoff", &o.Backoff, backoff},
		{"BackoffLimit", &o.BackoffLimit, backoffLimit}, {"PutBack", &o.PutBack, putBack},
		{"WaitLimit", &o.WaitLimit, waitLimit},
	} {
		if *d.value == 0 {
			*d.value = d.original
		}
		if err := nodetime.CheckOption(d.name, *d.value); err != nil {
			return o, err
		}
		if *d.value < 0 || *d.value > maxDuration {
			return o, nodetime.OutOfRange(d.name, fmt.Sprintf(">= 1ms and <= %v", maxDuration), *d.value)
		}
		*d.value = d.value.Truncate(time.Millisecond)
	}
	for _, n := range []struct {
		name     string
		value    *int
		original int
	}{
		{"Retries", &o.Retries, retries}, {"RemoveRetries", &o.RemoveRetries, removeRetries}, {"Rounds", &o.Rounds, rounds},
	} {
		if *n.value == 0 {
			*n.value = n.original
		}
		if *n.value < 1 || *n.value > maxCount {
			return o, nodetime.OutOfRange(n.name, fmt.Sprintf(">= 1 and <= %d", maxCount), *n.value)
		}
	}
	switch {
	case o.Rounds <= o.Retries+1:
		// The cap would be reached before the budget is spent.
		return o, nodetime.OutOfRange("Rounds", fmt.Sprintf("> Retries + 1, which is %d", o.Retries+1), o.Rounds)
	case o.Stale <= o.Heartbeat:
		// Every lock would look abandoned between two heartbeats.
		return o, nodetime.OutOfRange("Stale", fmt.Sprintf("> Heartbeat, which is %v", o.Heartbeat), o.Stale)
	}
	return o, nil
}

// backoff returns the n-th pause: the base doubled n times, with 25 % of jitter, and
// then no more than the limit (§2).
func (l *Lock) backoff(n int) time.Duration {
	d := math.Ldexp(float64(l.options.Backoff), n) * l.jitter()
	return time.Duration(min(d, float64(l.options.BackoffLimit)))
}

// jitter returns a factor between 0.75 and 1.25.
func (l *Lock) jitter() float64 { return 0.75 + l.host.Fraction()/2 }
