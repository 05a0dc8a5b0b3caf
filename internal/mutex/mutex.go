// Package mutex is the engine of the Mutex types of compat/lockfile and
// compat/properlockfile: locks that look on disk like Node's, and whose takeover cannot
// make two owners among those who use this engine.
//
// # How
//
// Guard: whatever creates, judges, removes or touches a lock does so while it guards the
// directory that the lock is in. The guard is a lock of the kernel's that dies with its
// process. A guarded section makes a few system calls and waits for nothing. See
// directory.go.
//
// Identity: the holder keeps its lock open, so that no other file can get its identity,
// and remembers its mtime as the filesystem gave it back. What is at the path is its own if
// both are as it knows them. A contender opens the lock that it judges, and so on.
//
// Claim: a lock is removed by renaming it aside, replacing nothing; then it is seen
// whether that was the right one, and only then is it removed. If it was not, it is put
// back, replacing nothing. See claim.go.
//
// Note: the holder has the kernel's lock on its own lock too, and says so in its times. By
// that a contender knows when the holder is dead. See note.go.
//
// With the guard, identity and claim never fail among Mutexes: they are for those that do
// not know the guard, such as Node, and for filesystems that have none.
//
// # What a crash leaves
//
// A participant may end between any two calls:
//
//   - after it created the lock: the lock has no owner. If the note was made, the next
//     contender knows that, and takes the lock over at once; else when it is stale;
//   - after it renamed the lock aside, or made a directory beside it that is to become the
//     lock: the path is free. What lies beside is no lock to any participant. It is in the
//     way of the next one that needs the name, which removes it (see claim.clear); so there
//     are two such files at most for each lock;
//   - after it removed what it had renamed aside: the path is free.
//
// The guard and the lock on the lock are released by the system in every case.
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
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/seed-c461eb89/nodelock/internal/clock"
	"github.com/seed-c461eb89/nodelock/internal/exithook"
	"github.com/seed-c461eb89/nodelock/internal/filesystem"
	"github.com/seed-c461eb89/nodelock/internal/lease"
	"github.com/seed-c461eb89/nodelock/internal/nodetime"
	"github.com/seed-c461eb89/nodelock/internal/watch"
)

// A Filesystem has the calls that the engine makes. filesystem.OS says what each is to
// do.
type Filesystem interface {
	Resolve(path string) (string, error)
	Realpath(path string) (string, error)

	OpenDirectory(path string) (filesystem.Handle, error)
	Reach(directory filesystem.Handle) filesystem.Reach
	TryGuard(directory filesystem.Handle) (filesystem.Handle, error)
	Unguard(guard filesystem.Handle) error

	PinNew(path string) (filesystem.Handle, error)
	Mkdir(path string) error
	PinDirectory(path string) (filesystem.Handle, error)
	Pin(path string) (filesystem.Handle, error)
	PinForFlock(path string) (filesystem.Handle, error)
	TryFlock(h filesystem.Handle) error
	Funlock(h filesystem.Handle) error
	FstatIdentity(h filesystem.Handle) (filesystem.Stat, filesystem.Identity, error)
	StatIdentity(path string) (filesystem.Stat, filesystem.Identity, error)
	LstatIdentity(path string) (filesystem.Stat, filesystem.Identity, error)
	Futimes(h filesystem.Handle, path string, atime, mtime time.Time) error
	Close(h filesystem.Handle) error

	RenameNoReplace(from, to string) error
	Unlink(path string) error
	Rmdir(path string) error
}

// An Engine is one participant in the protocols: the mutexes of one process. Its
// methods can be called from several goroutines at once.
type Engine struct {
	filesystem Filesystem
	clock      clock.Clock
	registry   exithook.Registry
	watcher    watch.Watcher

	// Random returns a number from 0 to 1, for the jitter of pauses.
	Random func() float64
	// Pid is the number of the process.
	Pid int
	// Spins is how often a guard that is busy is tried again at once, before there is a pause.
	Spins int

	mutex sync.Mutex
	// directories are those that locks of this process are in, by what they are.
	directories map[filesystem.Identity]*directory
	// held are the locks that are removed at exit.
	held    map[*Lease]struct{}
	created uint64
}

// New returns an engine that holds no lock.
func New(files Filesystem, c clock.Clock, registry exithook.Registry, watcher watch.Watcher) *Engine {
	return &Engine{
		filesystem: files, clock: c, registry: registry, watcher: watcher,
		Random: rand.Float64, Pid: os.Getpid(), Spins: spins,
		directories: map[filesystem.Identity]*directory{}, held: map[*Lease]struct{}{},
	}
}

func (e *Engine) now() int64 { return e.clock.Now().UnixMilli() }

// since returns the time since ms, by the wall clock.
func (e *Engine) since(ms int64) time.Duration { return nodetime.Duration(e.now() - ms) }

// A Mutex is a lock that participants of this machine, and other programs of the same
// protocol, exclude each other with.
type Mutex struct {
	engine  *Engine
	target  Target
	options Options
	// err is what is wrong with the options.
	err error
}

// Mutex returns a mutex that is not locked.
func (e *Engine) Mutex(t Target, o Options) *Mutex {
	return &Mutex{engine: e, target: t, options: o}
}

// Lock waits for the lock, as long as ctx lasts, and as Options.Wait says.
func (m *Mutex) Lock(ctx context.Context) (*Lease, error) { return m.lock(ctx, true) }

// TryLock makes one attempt. If the lock is held, the error has the code that the protocol
// has for that.
func (m *Mutex) TryLock(ctx context.Context) (*Lease, error) { return m.lock(ctx, false) }

// Do calls f with the lock held, and with a context that ends when the lock is lost.
func (m *Mutex) Do(ctx context.Context, f func(context.Context) error) error {
	l, err := m.Lock(ctx)
	if err != nil {
		return err
	}
	return lease.Do(l, ErrCompromised, f)
}

func (m *Mutex) lock(ctx context.Context, wait bool) (*Lease, error) {
	if m == nil {
		panic("nodelock: a Mutex that was not made by NewMutex is used")
	}
	lease.CheckContext(ctx)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if m.err != nil {
		return nil, m.err
	}
	e := m.engine
	c := &contention{Mutex: m, wait: wait, parent: ctx, began: e.clock.Now()}
	patient, stop := c.bound()
	defer stop()
	return c.take(patient)
}

// Clean removes every lock that is held and still is the holder's, in the order in which
// they were taken. It ignores errors.
func (e *Engine) Clean(ctx context.Context) {
	e.mutex.Lock()
	leases := slices.SortedFunc(maps.Keys(e.held), func(a, b *Lease) int { return cmp.Compare(a.order, b.order) })
	e.mutex.Unlock()
	for _, l := range leases {
		if ctx.Err() != nil {
			return
		}
		_ = l.release(cleanPatience)
	}
}
