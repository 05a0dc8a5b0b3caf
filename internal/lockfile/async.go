package lockfile

import (
	"context"
	"time"

	"github.com/seed-c461eb89/nodelock/compat/nodeerror"
	"github.com/seed-c461eb89/nodelock/internal/lease"
)

// staleSuffix names the lock that a takeover holds while it replaces another.
const staleSuffix = ".STALE"

// Lock is the asynchronous lock (L1 to L15). It returns nil with the lock held, the
// cause of ctx's end if that comes while it waits, or Node's error.
func (e *Engine) Lock(ctx context.Context, path string, o *Options) (*Lease, error) {
	lease.CheckContext(ctx)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	a := attempt{Engine: e, ctx: ctx, options: o}
	err := a.lock(path)
	if a.cancelled {
		a.withdraw()
	}
	if err != nil {
		return nil, err
	}
	return e.hold(ctx, path, a.reclaimed), nil
}

// An attempt is one call of Lock.
type attempt struct {
	*Engine
	ctx     context.Context
	options *Options
	// left are the .STALE locks that this call has created and not used (L11, L14).
	left      map[string]struct{}
	cancelled bool
	// reclaimed says that the lock was taken over.
	reclaimed bool
}

// wait sleeps; an error means that the context has ended.
func (a *attempt) wait(d time.Duration) error {
	err := a.clock.Wait(a.ctx, d)
	a.cancelled = err != nil
	return err
}

// withdraw removes what the call would leave behind. In Node nothing can cancel a
// call, so nothing but its own end ever leaves a .STALE file (L14).
func (a *attempt) withdraw() {
	for path := range a.left {
		a.UnlockSync(path)
	}
}

// lock makes the attempts that retries ask for (L6).
func (a *attempt) lock(path string) error {
	o := a.options
	o.stamp(a.now())
	// From here on the object has no retries left, which the attempt on path.STALE
	// sees too: the rounds are counted here alone (L24).
	retries := max(o.Retries, 0)
	if retries > 0 {
		o.Retries = 0
	}
	for {
		err := a.acquire(path)
		if err == nil || retries == 0 || a.cancelled {
			return err
		}
		retries--
		if o.RetryWait != 0 {
			if err := a.wait(o.RetryWait); err != nil {
				return err
			}
		} else if a.ctx.Err() != nil {
			// Without a pause between rounds nothing else would notice.
			a.cancelled = true
			return context.Cause(a.ctx)
		}
		o.restart(a.now())
	}
}

// acquire makes one attempt, which waits as the options say.
func (a *attempt) acquire(path string) error {
	for {
		err := a.create(path)
		if err == nil || nodeerror.Code(err) != "EEXIST" {
			return err // L2
		}
		if a.options.Stale != 0 {
			switch verdict, err := a.takeover(path); verdict {
			case decided:
				return err
			case gone:
				// L9: the rest of this call does not look at the age of anything.
				a.options.Stale = 0
				continue
			}
		}
		pause, ok := a.options.pause(a.now())
		if !ok {
			return err // L3
		}
		if err := a.wait(pause); err != nil {
			return err
		}
	}
}

// A verdict is what came of looking at another's lock.
type verdict int

const (
	fresh   verdict = iota // wait for it
	stale                  // it may be taken over
	gone                   // it is not there any more
	decided                // the call ends with the error beside it, or nil
)

// judge says whether path is stale (L7).
func (a *attempt) judge(path string) (verdict, error) {
	stat, err := a.filesystem.Stat(path)
	switch {
	case err == nil && a.age(a.filetimeOf(stat, a.options)) > a.options.Stale:
		return stale, nil
	case err == nil:
		return fresh, nil
	case nodeerror.Code(err) == "ENOENT":
		return gone, nil
	default:
		return decided, err // L10
	}
}

// takeover replaces path if it is stale (L8).
//
// Another participant that sees the same stale lock is kept out by path.STALE. But
// between the second look and the unlink the owner may unlock path and a third
// participant create it; the unlink then removes that one's lock. The protocol has
// no answer to this, and the mirror has none either.
func (a *attempt) takeover(path string) (verdict, error) {
	if v, err := a.judge(path); v != stale {
		return v, err
	}
	own := path + staleSuffix
	if err := a.lock(own); err != nil {
		return decided, err // L13
	}
	if a.left == nil {
		a.left = map[string]struct{}{}
	}
	a.left[own] = struct{}{}
	if v, err := a.judge(path); v != stale {
		return v, err // L14
	}
	a.forget(path, ErrCompromised)
	if err := unlessMissing(a.filesystem.Unlink(path)); err != nil {
		return decided, err // L11
	}
	a.registry.Begin(a.Engine)
	err := a.filesystem.Link(own, path)
	a.registry.End()
	// own stays tracked, and path is not (L15).
	_ = a.filesystem.Unlink(own)
	delete(a.left, own)
	a.reclaimed = err == nil
	return decided, err // L12
}
