package mutex

import (
	"context"
	"path/filepath"
	"time"

	"github.com/seed-c461eb89/nodelock/compat/nodeerror"
	"github.com/seed-c461eb89/nodelock/internal/filesystem"
	"github.com/seed-c461eb89/nodelock/internal/nodetime"
)

// rounds is how often an attempt starts over because what was at the path has gone.
const rounds = 3

// attempt makes one attempt: a lock that is held, or nil if another has it. A lock that
// is stale, but was not when doubt was, is noted there and left alone.
func (c *contention) attempt(ctx context.Context) (*Lease, error) {
	e := c.engine
	l := c.newLease()
	g, err := l.guardDirectory(ctx, tryPatience, nil)
	if err == ErrGuardBusy {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !e.registry.TryBegin(e) {
		// The process ends. Its clean-up needs the guard.
		g.end()
		e.registry.Begin(e)
	}
	taken, err := l.take(c, g.held)
	if taken {
		l.enter()
	}
	g.end()
	e.registry.End()
	if !taken {
		return nil, err
	}
	if l.reclaimed && c.options.Settle > 0 {
		// Not to be broken off: the caller is to hear that the lock was taken over.
		if err := e.clock.Wait(context.Background(), c.options.Settle); err != nil {
			return nil, err
		}
	} else if c.options.Update <= 0 || e.since(l.renewed) < c.options.Update {
		return l, nil
	}
	if !l.confirm() {
		return nil, nil
	}
	return l, nil
}

func (c *contention) newLease() *Lease {
	directory, _ := filepath.Split(c.path)
	l := &Lease{Mutex: c.Mutex, path: c.path, file: c.file, directory: directory}
	l.Begin(c.parent)
	return l
}

// take takes the lock if it is free or stale.
//
// It is guarded: no participant that uses this engine judges, removes or renews a lock
// between any two of these calls. One that does not may
//
//   - remove the lock after it was judged: it is created then;
//   - replace or renew it after it was judged: then the claim fails;
//   - create it after it was found gone, or was removed: then it is that one's;
//   - remove the lock that was just created, because it judged the one before it. Nothing
//     prevents that. The next look, after Settle or at the heartbeat, finds out.
func (l *Lease) take(c *contention, guarded bool) (bool, error) {
	for range rounds {
		v, err := l.takeover(c, guarded)
		if v == another {
			return false, err
		}
		l.reclaimed = v == removed
		pin, err := l.target.create(l.claim(guarded))
		switch {
		case err == nil:
			return l.pinned(pin)
		case err != errGone && nodeerror.Code(err) != "EEXIST":
			return false, err
		}
	}
	return false, nil
}

// pinned takes note of what has been created.
func (l *Lease) pinned(pin filesystem.Handle) (bool, error) {
	files := l.engine.filesystem
	stat, id, err := files.FstatIdentity(pin)
	if err != nil {
		_ = files.Close(pin)
		_ = l.target.remove(files, l.path)
		return false, err
	}
	l.pin, l.mark, l.renewed = pin, markOf(stat, id), l.engine.now()
	return true, nil
}

// takeover removes the lock at the path if it is stale. It returns gone if there is none,
// and another if it is not stale, or not that one.
//
// The clock is read first: a contender that stops after that finds no lock stale that
// was renewed meanwhile.
func (l *Lease) takeover(c *contention, guarded bool) (verdict, error) {
	files := l.engine.filesystem
	now := l.engine.now()
	h, err := files.Pin(l.path)
	c.renewed = 0
	if nodeerror.Code(err) == "ENOENT" {
		return gone, nil
	}
	if err != nil {
		return another, err
	}
	// Closed only when the claim is over, so that the identity cannot be reused.
	defer files.Close(h)
	stat, id, err := files.FstatIdentity(h)
	if err != nil {
		return another, err
	}
	if err := l.target.wrong(l.path, stat); err != nil {
		return another, err
	}
	c.renewed = nodetime.Milliseconds(l.target.filetime(stat))
	if !l.stale(stat, now) {
		return another, nil
	}
	found := markOf(stat, id)
	if l.options.Doubt > 0 && !found.same(c.doubt) {
		c.doubt = found
		return another, nil
	}
	return l.claim(guarded).remove(found)
}

// stale says whether a lock may be taken over (L7, P6).
func (l *Lease) stale(stat filesystem.Stat, now int64) bool {
	age := nodetime.Duration(now - nodetime.Milliseconds(l.target.filetime(stat)))
	return l.options.Stale > 0 && age > l.options.Stale
}

func (l *Lease) claim(guarded bool) *claim {
	return &claim{l.engine, l.target.protocol, l.path, aside(l.path), guarded, max(l.options.Stale, leastPatience)}
}

// leastPatience is how long what lies aside is left alone without a guard, at least.
const leastPatience = 2 * time.Second

// confirm looks at a lock that was taken some time ago, and reports whether it is still
// this one. After a takeover, a participant that knows no guard, and judged the same stale
// lock, has removed it by now if it ever does. After a pause the lock may be stale itself
// before its first heartbeat, so this is one.
func (l *Lease) confirm() bool {
	if !l.begin() {
		return false // a clean-up has removed it
	}
	_, lost := l.renew()
	l.finish(lost)
	return lost == nil
}
