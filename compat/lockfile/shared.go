package lockfile

import (
	"context"

	engine "github.com/seed-c461eb89/nodelock/internal/lockfile"
)

// SharedOptions is an options object that is used for several calls, with what Node
// does to it (L24): Lock sets Retries to 0, sets Stale to 0 when a lock vanishes while
// it looks (L9), and keeps the start of its wait, from which the waits of all later
// calls are counted; LockSync uses up Retries and keeps the Stale that it rounded.
//
// It is for ports of programs that depend on that. All others pass [Options], which no
// call changes. Calls that share an object must not overlap.
type SharedOptions struct {
	options *engine.Options
	err     error
}

// Share returns an object that starts as o. Options that cannot be are an error of every
// call with it.
func Share(o Options) *SharedOptions {
	options, err := o.engine()
	return &SharedOptions{options, err}
}

// Options returns the options as the calls so far have left them.
func (s *SharedOptions) Options() Options {
	o := s.options
	return Options{
		Wait: o.Wait, PollPeriod: o.PollPeriod, Stale: o.Stale, Retries: o.Retries, RetryWait: o.RetryWait,
		Filetime: Filetime(o.Filetime),
	}
}

// Lock is [Lock] with the shared options.
func (s *SharedOptions) Lock(ctx context.Context, path string) (*Lease, error) {
	if s.err != nil {
		return nil, s.err
	}
	return leaseOf(process.Lock(ctx, path, s.options))
}

// LockSync is [LockSync] with the shared options.
func (s *SharedOptions) LockSync(path string) (*Lease, error) {
	if s.err != nil {
		return nil, s.err
	}
	return leaseOf(process.LockSync(path, s.options))
}

// Check is [Check] with the shared options.
func (s *SharedOptions) Check(path string) (bool, error) {
	if s.err != nil {
		return false, s.err
	}
	return process.Check(path, s.options)
}

// CheckSync is [CheckSync] with the shared options.
func (s *SharedOptions) CheckSync(path string) (bool, error) {
	if s.err != nil {
		return false, s.err
	}
	return process.CheckSync(path, s.options)
}
