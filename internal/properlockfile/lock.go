package properlockfile

import (
	"context"
	"math/rand/v2"
	"strings"

	"github.com/seed-c461eb89/nodelock/compat/nodeerror"
	"github.com/seed-c461eb89/nodelock/internal/lease"
	"github.com/seed-c461eb89/nodelock/internal/nodetime"
	"github.com/seed-c461eb89/nodelock/internal/retry"
)

// Lock locks file, waiting as o.Retries says (P1 to P10). A ctx that ends while it
// waits ends it with the context's cause.
func (e *Engine) Lock(ctx context.Context, file string, o *Options) (*Lease, error) {
	lease.CheckContext(ctx)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return e.lock(ctx, file, o, e.precisions.of(o.FS))
}

// LockSync locks file at once or not at all (P18).
func (e *Engine) LockSync(file string, o *Options) (*Lease, error) {
	if o.refusesRetries(true) {
		return nil, ErrSyncRetries
	}
	// In 4.1.2 every synchronous call has an fs object of its own, and so none that
	// remembers a precision (P10).
	return e.lock(context.Background(), file, o, nil)
}

func (e *Engine) lock(ctx context.Context, file string, o *Options, known *knownPrecision) (*Lease, error) {
	l := &Lease{engine: e, settings: e.complete(o)}
	l.Begin(ctx)
	var err error
	if l.file, err = e.resolve(l.files, file, o); err != nil {
		return nil, err
	}
	if l.path = o.lockPath(l.file); strings.HasPrefix(l.path, l.file) {
		l.file = l.path[:len(l.file)] // one string for both
	}
	operation, err := e.schedule(o)
	if err != nil {
		return nil, err
	}
	for {
		e.registry.Begin(e)
		err := l.acquire(known)
		if err == nil {
			e.hold(l)
		}
		e.registry.End()
		if err == nil {
			return l, nil
		}
		pause, again := operation.Retry(err, e.now())
		if !again {
			return nil, operation.MainError()
		}
		if err := e.clock.Wait(ctx, pause); err != nil {
			return nil, err
		}
	}
}

// schedule returns when to try again after a first attempt now (P9).
func (e *Engine) schedule(o *Options) (retry.Operation, error) {
	retries := o.Retries
	if retries == (retry.Options{}) {
		return retry.Operation{}, nil
	}
	if o.Contract == V1 {
		retries = retries.Old()
	}
	return retry.New(retries, e.now(), rand.Float64)
}

// acquire makes one attempt to make the directory (P4 to P8) and finds out what its
// mtime is, which the heartbeat of 4.1.2 goes by.
//
// Of two participants that find the same stale directory, the slower one may remove the
// directory that the faster one has made: then both hold the lock. The protocol has no
// answer to this, and the mirror has none either.
func (l *Lease) acquire(known *knownPrecision) error {
	l.reclaimed = false
	err := l.files.Mkdir(l.path)
	if nodeerror.Code(err) == "EEXIST" {
		if err := l.removeStale(); err != nil {
			return err
		}
		// This time the lock is held if there is a directory, however old that is.
		if err = l.files.Mkdir(l.path); nodeerror.Code(err) == "EEXIST" {
			return locked(l.file, l.contract)
		}
	}
	if err != nil || l.contract == V1 {
		return err
	}
	if err := l.probe(known); err != nil {
		_ = l.files.Rmdir(l.path)
		return err
	}
	return nil
}

// removeStale makes room for a directory: nil means that there is none any more, as far
// as one can tell.
func (l *Lease) removeStale() error {
	stat, err := l.files.Stat(l.path)
	switch {
	case nodeerror.Code(err) == "ENOENT":
		return nil
	case err != nil:
		return err
	case !l.engine.isStale(nodetime.Milliseconds(stat.ModTime), l.stale):
		return locked(l.file, l.contract)
	}
	err = l.files.Rmdir(l.path)
	l.reclaimed = err == nil
	if nodeerror.Code(err) == "ENOENT" {
		return nil
	}
	return err
}
