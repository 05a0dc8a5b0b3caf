// Package lockdir is the engine of compat/lockdir: PALEE's lock directories under its
// decision record ADR-0036. The sections named here (§4.A and so on), the conflicts (C1
// to C5) and the weak spots (W1 to W8) are those of its contract.
//
// A lock is a directory with one record in it: a JSON file that says which process holds
// the lock and whose mtime is touched while it does. A contender that finds only stale
// records sweeps the directory out, removes it, and makes it anew.
//
// Every acquisition ends: nothing here waits but in a park of known length, and every
// loop has a count. bound_test.go searches all that the system can answer for a path
// that is longer than the bounds that compat/lockdir promises.
package lockdir

import (
	"cmp"
	"context"
	"maps"
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

// A Filesystem has the calls that the protocol makes.
type Filesystem interface {
	OpenTruncate(path string) (filesystem.Handle, error)
	Write(h filesystem.Handle, data []byte) error
	OpenNoFollow(path string) (filesystem.Handle, error)
	Read(h filesystem.Handle, limit int) ([]byte, error)
	Close(h filesystem.Handle) error
	Fstat(h filesystem.Handle) (filesystem.Stat, error)
	Lstat(path string) (filesystem.Stat, error)
	Unlink(path string) error
	Link(from, to string) error
	Rename(from, to string) error
	RenameNoReplace(from, to string) error
	Mkdir(path string) error
	Rmdir(path string) error
	Readdir(path string) ([]string, error)
	Utimes(path string, mtimeMs int64) error
	Realpath(path string) (string, error)
	Resolve(path string) (string, error)
}

// A Host is the machine that the participant runs on.
type Host interface {
	Hostname() (string, error)
	Pid() int
	// Kill sends no signal but fails as kill(pid, 0) does.
	Kill(pid int) error
	Random(p []byte)
	// Fraction returns a number in [0, 1).
	Fraction() float64
}

// A Platform is what the protocol does differently from system to system.
type Platform struct {
	// Stale is the default of Options.Stale.
	Stale time.Duration
	// RetryRemoval: EPERM and EBUSY of rmdir may pass (§4.F).
	RetryRemoval bool
	Syntax       Syntax
}

// An Engine is one participant: the locks of one process. Its methods, and those of the
// locks that it makes, can be called from several goroutines at once.
type Engine struct {
	// handovers counts acquisitions and releases. It is never read: what orders them for
	// Go's memory model is that all of them change it. The order that the disk gives them is
	// none to the runtime.
	handovers atomic.Uint64

	filesystem Filesystem
	clock      clock.Clock
	host       Host
	platform   Platform
	registry   exithook.Registry

	mutex sync.Mutex
	// held are the locks that are removed at exit. The numbers grow in the order in which
	// they were taken.
	held  map[*Lease]uint64
	taken uint64
}

// New returns an engine that holds no lock.
func New(files Filesystem, c clock.Clock, host Host, platform Platform, registry exithook.Registry) *Engine {
	return &Engine{
		filesystem: files, clock: c, host: host, platform: platform, registry: registry, held: map[*Lease]uint64{},
	}
}

// Clean removes the record of every lock that is held, in the order in which they were
// taken. It ignores errors.
func (e *Engine) Clean(ctx context.Context) {
	e.mutex.Lock()
	leases := slices.SortedFunc(maps.Keys(e.held), func(a, b *Lease) int { return cmp.Compare(e.held[a], e.held[b]) })
	e.mutex.Unlock()
	for _, l := range leases {
		if ctx.Err() != nil {
			return
		}
		_ = l.Release()
	}
}

func (e *Engine) now() int64 { return e.clock.Now().UnixMilli() }

// age returns the time since mtime, which is negative for one in the future.
func (e *Engine) age(mtime int64) time.Duration { return nodetime.Duration(e.now() - mtime) }

func mtimeOf(stat filesystem.Stat) int64 { return nodetime.Milliseconds(stat.ModTime) }

func (e *Engine) join(dir string, names ...string) string {
	for _, name := range names {
		dir = e.platform.Syntax.join(dir, name)
	}
	return dir
}

// missing reports whether err is ENOENT.
func missing(err error) bool { return nodeerror.Code(err) == "ENOENT" }

// notEmpty reports whether err says that a directory has something in it. POSIX leaves
// the choice between two codes (§7).
func notEmpty(err error) bool {
	code := nodeerror.Code(err)
	return code == "ENOTEMPTY" || code == "EEXIST"
}
