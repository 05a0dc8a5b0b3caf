package lease

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-c461eb89/nodelock/internal/printable"
)

// A Lease is what the leases of all engines have in common.
type Lease interface {
	Context() context.Context
	Done() <-chan struct{}
	Err() error
	Release() error
	Path() string
	Reclaimed() bool
}

// Do calls f with the context of a lease and releases it, also if f panics. It returns the
// error of f, and beside it that of the release; if the lock was lost, which matches
// compromised, that is not left out because f has not noticed.
func Do(l Lease, compromised error, f func(context.Context) error) (err error) {
	defer func() {
		released := l.Release()
		switch {
		case released == nil:
		case errors.Is(released, compromised) && errors.Is(err, compromised):
			// f has said so.
		default:
			err = errors.Join(err, released)
		}
	}()
	return f(l.Context())
}

// String describes a lease for messages: where the lock is, and whether it is held.
func String(l Lease) string {
	state := "held"
	if err := l.Err(); err != nil {
		state = err.Error()
	}
	return printable.Text("lock '" + l.Path() + "': " + state)
}

// Renewed says when a lock was renewed last, for messages. The age is negative if its time
// lies in the future, as where the filesystem's clock is another machine's.
func Renewed(age time.Duration) string {
	if age < 0 {
		return fmt.Sprintf("renewed %v in the future", -age)
	}
	return fmt.Sprintf("renewed %v ago", age)
}
