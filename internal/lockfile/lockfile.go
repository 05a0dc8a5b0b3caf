// Package lockfile is the engine of compat/lockfile: the protocol of
// @stackline/lockfile 1.0.6, call for call. The rows named here (L1 and so on) are
// those of its contract.
//
// A lock is a file of zero bytes that is created with O_EXCL. Nothing in it says who
// holds it, so nothing here can tell its own lock from another's.
package lockfile

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-c461eb89/nodelock/internal/clock"
	"github.com/seed-c461eb89/nodelock/internal/exithook"
	"github.com/seed-c461eb89/nodelock/internal/filesystem"
	"github.com/seed-c461eb89/nodelock/internal/nodetime"
)

// A Filesystem has the calls that the protocol makes.
type Filesystem interface {
	OpenExclusive(path string) (filesystem.Handle, error)
	OpenRead(path string) (filesystem.Handle, error)
	Close(h filesystem.Handle) error
	Fstat(h filesystem.Handle) (filesystem.Stat, error)
	Stat(path string) (filesystem.Stat, error)
	Unlink(path string) error
	Link(from, to string) error
}

// A Filetime is the file time that the age of a lock is counted from.
type Filetime uint8

// The file times of L22. Current is the one that SetFiletime has chosen.
const (
	Current Filetime = iota
	Ctime
	Mtime
)

// An Engine is one participant in the protocol: what Node has in module scope.
// Its methods can be called from several goroutines at once.
type Engine struct {
	filesystem Filesystem
	clock      clock.Clock
	registry   exithook.Registry
	filetime   atomic.Uint32

	mutex sync.Mutex
	// tracked are the locks that are unlinked at exit (L15). The numbers grow in the order
	// of their creation.
	tracked map[string]uint64
	created uint64
	// leases are those that have not ended, by path.
	leases map[string]*Lease
}

// New returns an engine that holds no lock. Filetime is Ctime or Mtime.
func New(files Filesystem, c clock.Clock, registry exithook.Registry, filetime Filetime) *Engine {
	e := &Engine{
		filesystem: files, clock: c, registry: registry,
		tracked: map[string]uint64{}, leases: map[string]*Lease{},
	}
	e.SetFiletime(filetime)
	return e
}

// SetFiletime switches the file time for every call from now on that does not name one
// (L22).
func (e *Engine) SetFiletime(filetime Filetime) {
	if filetime == Ctime || filetime == Mtime {
		e.filetime.Store(uint32(filetime))
	}
}

// Filetime returns the file time in use.
func (e *Engine) Filetime() Filetime { return Filetime(e.filetime.Load()) }

// filetimeOf returns the file time that the options ask for, in Node's milliseconds.
func (e *Engine) filetimeOf(stat filesystem.Stat, o *Options) int64 {
	filetime := o.Filetime
	if filetime == Current {
		filetime = e.Filetime()
	}
	if filetime == Mtime {
		return nodetime.Milliseconds(stat.ModTime)
	}
	return nodetime.Milliseconds(stat.ChangeTime)
}

func (e *Engine) now() int64 { return e.clock.Now().UnixMilli() }

// age returns the time since filetime, both in milliseconds. It is negative for one
// in the future.
func (e *Engine) age(filetime int64) time.Duration {
	return nodetime.Duration(e.now() - filetime)
}

// create makes the lock file (L1).
func (e *Engine) create(path string) error {
	e.registry.Begin(e)
	defer e.registry.End()
	h, err := e.filesystem.OpenExclusive(path)
	if err != nil {
		return err
	}
	e.track(path)
	// The lock is held whether or not the descriptor could be closed.
	_ = e.filesystem.Close(h)
	return nil
}

func (e *Engine) track(path string) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if _, ok := e.tracked[path]; ok {
		return // it keeps its place
	}
	e.created++
	e.tracked[path] = e.created
}

// forget takes a path off the books: it is not tracked any more, and the lease of it, if
// there is one, has ended for the reason why.
func (e *Engine) forget(path string, why error) {
	e.mutex.Lock()
	delete(e.tracked, path)
	l := e.leases[path]
	delete(e.leases, path)
	e.mutex.Unlock()
	if l != nil {
		l.End(why)
	}
}

// Clean unlinks every lock that is tracked, in the order of their creation (L23). A lock
// that another call forgets meanwhile is left to that one.
func (e *Engine) Clean(ctx context.Context) {
	e.mutex.Lock()
	tracked := maps.Clone(e.tracked)
	e.mutex.Unlock()
	paths := slices.SortedFunc(maps.Keys(tracked), func(a, b string) int {
		return cmp.Compare(tracked[a], tracked[b])
	})
	for _, path := range paths {
		if ctx.Err() != nil {
			return
		}
		e.mutex.Lock()
		still := e.tracked[path] == tracked[path]
		e.mutex.Unlock()
		if still {
			e.forget(path, ErrReleased)
			_ = e.filesystem.Unlink(path)
		}
	}
}

// Unlock forgets the lock and removes the file; that there is none is success (L16). A
// clean-up of the process does not come between the two, or the file would stay.
func (e *Engine) Unlock(path string) error {
	e.registry.Begin(e)
	defer e.registry.End()
	e.forget(path, ErrReleased)
	return unlessMissing(e.filesystem.Unlink(path))
}

// UnlockSync removes the file, whatever comes of it, and forgets the lock (L17).
func (e *Engine) UnlockSync(path string) {
	_ = e.filesystem.Unlink(path)
	e.forget(path, ErrReleased)
}
