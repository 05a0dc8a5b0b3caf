// Package mutex is the engine of the Mutex types of compat/lockfile and
// compat/properlockfile: locks that look on disk like Node's, and whose takeover cannot
// make two owners among those who use this engine.
//
// # How
//
// Guard: whatever creates, judges, removes or touches a lock does so while it guards the
// directory that the lock is in. The guard is a lock of the kernel's that dies with its
// process. A guarded section makes a few system calls and waits for nothing.
//
// Identity: the holder keeps its lock open, so that no other file can get its identity,
// and remembers its mtime as the filesystem gave it back. What is at the path is his if
// both are as he knows them. A contender opens the lock that it judges, and so on.
//
// Claim: a lock is removed by renaming it aside, replacing nothing; then it is seen
// whether that was the right one, and only then is it removed. If it was not, it is put
// back, replacing nothing.
//
// With the guard, identity and claim never fail among Mutexes: they are for those who
// do not know the guard, such as Node, and for filesystems that have none.
//
// # What a crash leaves
//
// A participant may end between any two calls:
//
//   - after it created the lock: the lock has no owner, goes stale and is taken over;
//   - after it renamed the lock aside, or made a directory there that is to become the
//     lock: the path is free. What lies aside is no lock to anybody. It is in the way of the
//     next one who needs the name, who removes it (see claim.clear); so there is one such
//     file at most for each lock;
//   - after it removed what it had renamed aside: the path is free.
//
// The guard is released by the system in every case.
//
// # What a pause does
//
// A participant that stops while it holds the guard stops all others in that directory
// until it goes on or ends. One that stops at any other place holds nothing but its
// lock, which goes stale; when it goes on, its heartbeat or its release finds that what
// is at the path is not its own, and leaves it alone.
//
// No mutex is held while a system call is made or a pause is waited for.
package mutex

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-c461eb89/nodelock/compat/nodeerror"
	"github.com/seed-c461eb89/nodelock/internal/clock"
	"github.com/seed-c461eb89/nodelock/internal/exithook"
	"github.com/seed-c461eb89/nodelock/internal/filesystem"
	"github.com/seed-c461eb89/nodelock/internal/nodetime"
)

// A Filesystem has the calls that the engine makes. filesystem.OS says what each is to
// do.
type Filesystem interface {
	Resolve(path string) (string, error)
	Realpath(path string) (string, error)

	TryGuard(directory string) (filesystem.Handle, error)
	Unguard(h filesystem.Handle) error

	OpenExclusive(path string) (filesystem.Handle, error)
	Mkdir(path string) error
	PinDirectory(path string) (filesystem.Handle, error)
	Pin(path string) (filesystem.Handle, error)
	FstatIdentity(h filesystem.Handle) (filesystem.Stat, filesystem.Identity, error)
	LstatIdentity(path string) (filesystem.Stat, filesystem.Identity, error)
	Futimes(h filesystem.Handle, mtimeMs int64) error
	Close(h filesystem.Handle) error

	RenameNoReplace(from, to string) error
	Link(from, to string) error
	Unlink(path string) error
	Rmdir(path string) error
}

// A Part is one of the things that the promises rest on.
type Part uint8

// The parts.
const (
	Guard Part = 1 << iota
	Identity
	Claim
)

// An Engine is one participant in the protocols: the mutexes of one process. Its
// methods can be called from several goroutines at once.
type Engine struct {
	filesystem Filesystem
	clock      clock.Clock
	hook       exithook.Registry

	// Random returns a number from 0 to 1, for the jitter of pauses.
	Random func() float64
	// Omit leaves parts out, to show that each is needed.
	Omit Part

	mutex sync.Mutex
	// turns are those who have their turn with a path, or wait for it.
	turns map[string]*queue
	// held are the locks that are removed at exit.
	held    map[*lease]struct{}
	created uint64
}

// New returns an engine that holds no lock.
func New(files Filesystem, c clock.Clock, hook exithook.Registry) *Engine {
	return &Engine{
		filesystem: files, clock: c, hook: hook, Random: rand.Float64,
		turns: map[string]*queue{}, held: map[*lease]struct{}{},
	}
}

func (e *Engine) now() int64 { return e.clock.Now().UnixMilli() }

// since returns the time since ms, by the wall clock.
func (e *Engine) since(ms int64) time.Duration { return nodetime.Duration(e.now() - ms) }

// Options say how a mutex goes about it.
type Options struct {
	// Stale is the age beyond which another's lock may be taken over; 0: none is.
	Stale time.Duration
	// Update is the time between two heartbeats.
	Update time.Duration
	// Poll is the time between two attempts, which varies by a quarter.
	Poll time.Duration
	// Doubt is how long a lock that looks stale is watched before it is taken over; 0: not at
	// all. If the whole machine was asleep, or too busy, a holder who is alive has that
	// time to renew it.
	Doubt time.Duration
	// Settle is how long after a takeover the lock is looked at again before it counts as
	// held: 0: it is not. It is for participants that know no guard.
	Settle time.Duration
}

// A Mutex is a lock that participants of this machine, and other programs of the same
// protocol, exclude each other with.
type Mutex struct {
	engine  *Engine
	target  Target
	options Options

	reclaimed, guarded atomic.Bool
}

// Mutex returns a mutex that is not locked.
func (e *Engine) Mutex(t Target, o Options) *Mutex {
	return &Mutex{engine: e, target: t, options: o}
}

// The errors that callers can tell apart by code.
var (
	ErrLocked      = &nodeerror.Error{Code: "ELOCKED", Message: "Lock file is already being held"}
	ErrCompromised = &nodeerror.Error{Code: "ECOMPROMISED", Message: "The lock is lost: it was removed, replaced or touched by another"}
	ErrReleased    = &nodeerror.Error{Code: "ERELEASED", Message: "Lock is already released"}
)

// compromised says why a lock is lost.
func compromised(why error) error {
	if why == nil {
		return ErrCompromised
	}
	return &nodeerror.Error{Code: ErrCompromised.Code, Message: "The lock is lost: " + why.Error(), Err: why}
}

// Lock waits for the lock, as long as ctx lasts.
//
// The context that it returns ends when the lock is lost, with a cause that has the code
// of ErrCompromised; when ctx ends; and when the lock is released. The function releases
// the lock; every call after the first returns what the first did and does nothing.
func (m *Mutex) Lock(ctx context.Context) (context.Context, func() error, error) {
	return m.lock(ctx, true)
}

// TryLock makes one attempt. If somebody holds the lock the error has the code that the
// protocol has for that.
func (m *Mutex) TryLock(ctx context.Context) (context.Context, func() error, error) {
	return m.lock(ctx, false)
}

// Reclaimed reports whether the lock was taken over from a holder that left it to go
// stale. It is for the holder to ask.
func (m *Mutex) Reclaimed() bool { return m.reclaimed.Load() }

// Guarded reports whether the last attempt, heartbeat or release could guard the lock's
// directory. Before the first it says false.
func (m *Mutex) Guarded() bool { return m.guarded.Load() }

func (m *Mutex) lock(ctx context.Context, wait bool) (context.Context, func() error, error) {
	e := m.engine
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	path, err := m.target.locate(e.filesystem)
	if err != nil {
		return nil, nil, err
	}
	if err := e.enter(ctx, path, wait); err != nil {
		if err == errTaken {
			err = m.target.held(path)
		}
		return nil, nil, err
	}
	l, err := m.contend(ctx, path, wait)
	if err != nil {
		e.leave(path)
		return nil, nil, err
	}
	m.reclaimed.Store(l.reclaimed)
	held, cancel := context.WithCancelCause(ctx)
	l.hold(cancel)
	return held, l.unlock, nil
}

// contend makes attempts until one succeeds.
func (m *Mutex) contend(ctx context.Context, path string, wait bool) (*lease, error) {
	// What was found stale, and is to be looked at again.
	var doubt mark
	for {
		doubted := doubt
		l, err := m.attempt(ctx, path, &doubt)
		if l != nil || err != nil {
			return l, err
		}
		switch {
		case !doubt.same(doubted) && (wait || doubted.same(mark{})):
			err = m.engine.clock.Wait(ctx, m.options.Doubt)
		case !wait:
			err = m.target.held(path)
		default:
			err = m.awaitChange(ctx)
		}
		if err != nil {
			return nil, err
		}
	}
}

// awaitChange waits until it is worth while to try again: nil. An error means that ctx
// has ended. This is the place for being woken when the lock is removed.
func (m *Mutex) awaitChange(ctx context.Context) error {
	return m.engine.clock.Wait(ctx, m.engine.jitter(m.options.Poll))
}

// jitter varies a pause by a quarter either way.
func (e *Engine) jitter(d time.Duration) time.Duration {
	return d*3/4 + time.Duration(float64(d/2)*e.Random())
}

// Clean removes every lock that is held and still is the holder's, in the order in which
// they were taken. It ignores errors.
func (e *Engine) Clean() {
	e.mutex.Lock()
	leases := make([]*lease, 0, len(e.held))
	for l := range e.held {
		leases = append(leases, l)
	}
	e.mutex.Unlock()
	slices.SortFunc(leases, func(a, b *lease) int { return cmp.Compare(a.order, b.order) })
	for _, l := range leases {
		_ = l.release(cleanPatience)
	}
}
