// Package properlockfile is the engine of compat/properlockfile: the protocols of
// proper-lockfile 4.1.2 and 1.2.0, call for call. The rows named here (P1 and so on)
// are those of its contract.
//
// A lock is a directory. Its mtime, which the holder renews at intervals (the
// heartbeat), says that it is held; nothing says by which process.
//
// No mutex is held while a system call is made or a pause is waited for. Setting a
// timer is neither.
package properlockfile

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/seed-c461eb89/nodelock/compat/nodeerror"
	"github.com/seed-c461eb89/nodelock/internal/clock"
	"github.com/seed-c461eb89/nodelock/internal/exithook"
	"github.com/seed-c461eb89/nodelock/internal/filesystem"
	"github.com/seed-c461eb89/nodelock/internal/nodetime"
)

// A Filesystem has the calls that the protocol makes, and resolves paths.
type Filesystem interface {
	calls
	// Resolve makes a path absolute without looking at what is there.
	Resolve(path string) (string, error)
}

type calls interface {
	Mkdir(path string) error
	Rmdir(path string) error
	Stat(path string) (filesystem.Stat, error)
	Utimes(path string, ms int64) error
	Realpath(path string) (string, error)
}

// An Engine is one participant in the protocol: what the Node packages have in module
// scope, each version its own. Its methods can be called from several goroutines at
// once.
type Engine struct {
	filesystem Filesystem
	clock      clock.Clock
	registry   exithook.Registry

	precisions precisions

	mutex sync.Mutex
	// held are the locks that can be unlocked, by contract and by what they are known by:
	// the file, and not the path of the lock (P2).
	held [V1 + 1]map[string]*Lease
	// created counts the locks, for the order in which they are removed at exit.
	created uint64
}

// New returns an engine that holds no lock.
func New(files Filesystem, c clock.Clock, registry exithook.Registry) *Engine {
	e := &Engine{filesystem: files, clock: c, registry: registry}
	for contract := range e.held {
		e.held[contract] = map[string]*Lease{}
	}
	return e
}

func (e *Engine) now() int64 { return e.clock.Now().UnixMilli() }

// since returns the time since ms, by the wall clock.
func (e *Engine) since(ms int64) time.Duration { return nodetime.Duration(e.now() - ms) }

// resolve returns the file that a lock is known by (P2).
func (e *Engine) resolve(files calls, file string, o *Options) (string, error) {
	if o.NoRealpath {
		return e.filesystem.Resolve(file)
	}
	return files.Realpath(file)
}

// hold enters a lock that has been made, and starts its heartbeat. Another lock of the
// same file, which can be there if its directory was removed by another participant or is
// under another path, is forgotten; its place in the order at exit is kept.
func (e *Engine) hold(l *Lease) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	held := e.held[l.contract]
	if before := held[l.file]; before != nil {
		before.listed, l.order = false, before.order
	} else {
		e.created++
		l.order = e.created
	}
	held[l.file], l.listed = l, true
	l.lastUpdate = e.now()
	e.arm(l, &l.settings)
}

// Clean removes every lock that is held, in the order in which they were made (P20). It
// ignores errors.
func (e *Engine) Clean(ctx context.Context) {
	var locks []*Lease
	e.mutex.Lock()
	for contract := range e.held {
		locks = slices.AppendSeq(locks, maps.Values(e.held[contract]))
	}
	for _, l := range locks {
		e.release(l)
	}
	e.mutex.Unlock()
	slices.SortFunc(locks, func(a, b *Lease) int { return cmp.Compare(a.order, b.order) })
	for _, l := range locks {
		l.End(ErrReleased)
	}
	for _, l := range locks {
		if ctx.Err() != nil {
			return
		}
		_ = l.files.Rmdir(l.path)
	}
}

// remove removes a lock's directory; that there is none is success (P7, P14).
func remove(files calls, path string) error {
	err := files.Rmdir(path)
	if nodeerror.Code(err) == "ENOENT" {
		return nil
	}
	return err
}
