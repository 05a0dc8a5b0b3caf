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
func (m *Mutex) attempt(ctx context.Context, path string, doubt *mark) (*lease, error) {
	l := m.newLease(path)
	l.doubt = doubt
	g, err := m.guardDirectory(ctx, l.directory, tryPatience, nil)
	if err == errGuardBusy {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	taken, err := l.take(g.held)
	g.end()
	if !taken {
		return nil, err
	}
	if l.reclaimed && m.options.Settle > 0 {
		if err := m.engine.clock.Wait(ctx, m.options.Settle); err != nil {
			_ = l.release(releasePatience)
			return nil, err
		}
	} else if m.options.Update <= 0 || m.engine.since(l.renewed) < m.options.Update {
		return l, nil
	}
	return l.confirm()
}

func (m *Mutex) newLease(path string) *lease {
	directory, _ := filepath.Split(path)
	return &lease{Mutex: m, path: path, directory: directory}
}

// take takes the lock if it is free or stale.
//
// It is guarded: nobody who uses this engine judges, removes or renews a lock between
// any two of these calls. Somebody who does not may
//
//   - remove the lock after it was judged: it is created then;
//   - replace or renew it after it was judged: then the claim fails;
//   - create it after it was found gone, or was removed: then it is his;
//   - remove the lock that was just created, because he judged the one before it. Nothing
//     prevents that. The next look, after Settle or at the heartbeat, finds out.
func (l *lease) take(guarded bool) (bool, error) {
	for range rounds {
		v, err := l.takeover(guarded)
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
func (l *lease) pinned(pin filesystem.Handle) (bool, error) {
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
func (l *lease) takeover(guarded bool) (verdict, error) {
	files := l.engine.filesystem
	now := l.engine.now()
	h, err := files.Pin(l.path)
	if nodeerror.Code(err) == "ENOENT" {
		return gone, nil
	}
	if err != nil {
		return another, err
	}
	// Closed only when the claim is over, so that the identity cannot be reused.
	defer files.Close(h)
	stat, id, err := files.FstatIdentity(h)
	switch {
	case err != nil:
		return another, err
	case stat.Type != l.target.kind():
		return another, l.target.wrong(l.path, stat.Type)
	case !l.stale(stat, now):
		return another, nil
	}
	found := markOf(stat, id)
	if l.options.Doubt > 0 && !found.same(*l.doubt) {
		*l.doubt = found
		return another, nil
	}
	return l.claim(guarded).remove(found)
}

// stale says whether a lock may be taken over (L7, P6).
func (l *lease) stale(stat filesystem.Stat, now int64) bool {
	age := nodetime.Duration(now - nodetime.Milliseconds(l.target.filetime(stat)))
	return l.options.Stale > 0 && age > l.options.Stale
}

func (l *lease) claim(guarded bool) *claim {
	return &claim{l.engine, l.target.protocol, l.path, aside(l.path), guarded, max(l.options.Stale, leastPatience)}
}

// leastPatience is how long what lies aside is left alone without a guard, at least.
const leastPatience = 2 * time.Second

// confirm looks at a lock that was taken some time ago. After a takeover, a participant
// that knows no guard, and judged the same stale lock, has removed it by now if it ever
// does. After a pause the lock may be stale itself before its first heartbeat, so this
// is one.
func (l *lease) confirm() (*lease, error) {
	if _, lost := l.renew(); lost != nil {
		_ = l.engine.filesystem.Close(l.pin)
		return nil, nil
	}
	return l, nil
}
