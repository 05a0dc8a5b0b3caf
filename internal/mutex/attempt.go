package mutex

import (
	"cmp"
	"context"
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
	s, err := e.guard(ctx, c.directory, tryPatience, nil)
	if err == ErrGuardBusy {
		c.seen = sight{}
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !e.registry.TryBegin(e) {
		// The process ends. Its clean-up needs the guard.
		s.end()
		e.registry.Begin(e)
	}
	c.kernel = c.directory.reach == filesystem.ReachKernel
	taken, err := l.take(c, s.guarded)
	if taken {
		l.enter()
	}
	s.end()
	e.registry.End()
	if !taken {
		return nil, err
	}
	l.setGuarded(s)
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
	l := &Lease{
		Mutex: c.Mutex, path: c.path, file: c.file, parent: c.parentPath, name: c.name, directory: c.directory, pin: noHandle, unwatched: c.unwatched,
	}
	l.Begin(c.parent)
	return l
}

// take takes the lock if it is free, stale, or its holder is dead.
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
		done, err := l.replace(c, guarded)
		if done || err != nil {
			return err == nil && l.pin != noHandle, err
		}
	}
	return false, nil
}

// replace makes the lock where there is none, or where what there is may be taken over. It
// is done when the lock is made, or another has it; if not, what was at the path has gone.
func (l *Lease) replace(c *contention, guarded bool) (done bool, err error) {
	files := l.engine.filesystem
	verdict, found, pin, err := c.judge()
	if pin != noHandle {
		// Closed only when the claim is over, so that the identity cannot be reused.
		defer files.Close(pin)
	}
	if err != nil || verdict == another || verdict == stale && c.doubts(found) {
		return true, err
	}
	claim := l.claim(guarded)
	if verdict == stale {
		if moved, err := l.engine.moved(l.directory, l.parent); err != nil || moved {
			return true, cmp.Or(err, errMoved)
		}
		if verdict, err = claim.remove(found); verdict == another {
			return true, err
		}
		// It is said also if the lock can only be made by a later attempt.
		c.reclaimed = c.reclaimed || verdict == removed
	}
	err = l.create(c, claim)
	if nodeerror.Code(err) == "EEXIST" || err == errGone {
		return false, nil
	}
	l.reclaimed = c.reclaimed
	return true, err
}

// create makes the lock and takes note of it.
func (l *Lease) create(c *contention, claim *claim) error {
	e := l.engine
	now := e.now()
	pin, err := claim.create(func(h filesystem.Handle, path string) error {
		l.flocked = c.kernel && e.filesystem.TryFlock(h) == nil
		return e.stamp(h, path, now, l.flocked)
	})
	if err != nil {
		return err
	}
	stat, id, err := e.filesystem.FstatIdentity(pin)
	if err != nil {
		_ = l.target.remove(e.filesystem, l.path)
		_ = e.filesystem.Close(pin)
		return err
	}
	l.pin, l.known, l.renewed = pin, markOf(stat, id), now
	return nil
}

// judge looks at the lock at the path. It returns gone if there is none, stale if it may be
// taken over, and else another.
//
// The clock is read first: a contender that stops after that finds no lock stale that
// was renewed meanwhile.
//
// The handle that it returns, unless there is none, keeps the identity of the lock its own.
//
// A waiter calls it without a guard, too. What it says then is no ground to remove a lock.
func (c *contention) judge() (verdict, mark, filesystem.Handle, error) {
	files := c.engine.filesystem
	now := c.engine.clock.Now()
	c.seen, c.staleIn = sight{}, 0
	h, err := files.Pin(c.path)
	if nodeerror.Code(err) == "ENOENT" {
		return gone, mark{}, noHandle, nil
	}
	if err != nil {
		return another, mark{}, noHandle, err
	}
	stat, id, err := files.FstatIdentity(h)
	if err == nil {
		err = c.target.wrong(c.path, stat)
	}
	if err != nil {
		return another, mark{}, h, err
	}
	found := markOf(stat, id)
	c.seen = sight{there: true, renewed: nodetime.Milliseconds(stat.ModTime), pid: noteOf(stat)}
	if c.holderIsDead(stat, id) || c.expired(c.target.filetime(stat), found, now) {
		return stale, found, h, nil
	}
	return another, found, h, nil
}

// doubts says whether a lock that was found stale by its age is to be looked at again
// before it is taken over. It is noted.
func (c *contention) doubts(found mark) bool {
	if c.options.Doubt <= 0 || c.dead || found.same(c.doubt) {
		return false
	}
	c.doubt = found
	return true
}

// expired says whether a lock is stale by its file time (L7, P6): whether it is older than
// the threshold, however exact that time is. A time that lies ahead by more than the
// threshold is no holder's: the clock was set back since. It counts as stale when it has
// not changed for as long as the threshold says.
func (c *contention) expired(filetime time.Time, found mark, now time.Time) bool {
	threshold := c.options.Stale
	if threshold <= 0 {
		return false
	}
	age := nodetime.Duration(now.UnixMilli() - nodetime.Milliseconds(filetime))
	limit := threshold + grain(filetime)
	if age < -threshold {
		if !found.same(c.ahead) {
			c.ahead, c.aheadSince = found, now
		}
		age, limit = now.Sub(c.aheadSince), threshold
	}
	c.staleIn = limit - age + time.Millisecond
	return age > limit
}

func (l *Lease) claim(guarded bool) *claim {
	return &claim{
		Engine: l.engine, protocol: l.target.protocol, path: l.path, guarded: guarded,
		// A directory is opened only when it is made: were that in its place, a participant that
		// knows no guard could replace it before. And where no age makes a lock stale, only its
		// note tells that its holder is dead: a lock without must not be seen.
		complete: l.target.adopted() || l.options.Stale <= 0,
	}
}

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
