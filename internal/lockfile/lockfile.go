// Package lockfile is the engine of compat/lockfile: the protocol of
// @stackline/lockfile 1.0.6, call for call. The rows named here (L1 and so on) are
// those of its contract.
//
// A lock is a file of zero bytes that is created with O_EXCL. Nothing in it says who
// holds it, so nothing here can tell its own lock from another's.
package lockfile

import (
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
type Filetime uint32

// The file times of L22.
const (
	Ctime Filetime = iota
	Mtime
)

// An Engine is one participant in the protocol: what Node has in module scope.
// Its methods can be called from several goroutines at once.
type Engine struct {
	filesystem Filesystem
	clock      clock.Clock
	hook       exithook.Registry
	filetime   atomic.Uint32

	mutex sync.Mutex
	// tracked are the locks that are unlinked at exit (L15), in the order of their
	// creation.
	tracked []string
}

// New returns an engine that holds no lock.
func New(files Filesystem, c clock.Clock, hook exithook.Registry, filetime Filetime) *Engine {
	e := &Engine{filesystem: files, clock: c, hook: hook}
	e.SetFiletime(filetime)
	return e
}

// SetFiletime switches the file time for every call from now on (L22).
func (e *Engine) SetFiletime(filetime Filetime) { e.filetime.Store(uint32(filetime)) }

// Filetime returns the file time in use.
func (e *Engine) Filetime() Filetime { return Filetime(e.filetime.Load()) }

// filetimeOf returns the file time in use, in Node's milliseconds.
func (e *Engine) filetimeOf(stat filesystem.Stat) int64 {
	if e.Filetime() == Mtime {
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
	if e.find(path) >= 0 {
		return // it keeps its place
	}
	e.tracked = append(e.tracked, path)
	if len(e.tracked) == 1 {
		e.hook.Add(e)
	}
}

func (e *Engine) untrack(path string) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	i := e.find(path)
	if i < 0 {
		return
	}
	e.tracked = slices.Delete(e.tracked, i, i+1)
	if len(e.tracked) == 0 {
		e.hook.Remove(e)
	}
}

// find returns the place of a lock among those tracked, or -1. It looks at the youngest
// first: there are few, and locks are often released in the opposite order.
func (e *Engine) find(path string) int {
	for i, tracked := range slices.Backward(e.tracked) {
		if tracked == path {
			return i
		}
	}
	return -1
}

// Clean unlinks every lock that is tracked, in the order of their creation (L23).
func (e *Engine) Clean() {
	e.mutex.Lock()
	locks := slices.Clone(e.tracked)
	e.mutex.Unlock()
	for _, path := range locks {
		e.UnlockSync(path)
	}
}

// Unlock forgets the lock and removes the file; that there is none is success (L16).
func (e *Engine) Unlock(path string) error {
	e.untrack(path)
	return unlessMissing(e.filesystem.Unlink(path))
}

// UnlockSync removes the file, whatever comes of it, and forgets the lock (L17).
func (e *Engine) UnlockSync(path string) {
	_ = e.filesystem.Unlink(path)
	e.untrack(path)
}
