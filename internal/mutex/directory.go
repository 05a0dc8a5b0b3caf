package mutex

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed-c461eb89/nodelock/internal/filesystem"
	"github.com/seed-c461eb89/nodelock/internal/lease"
)

// A directory is one that locks are in. Its descriptor is kept as long as one of them is
// held or waited for, so that neither a heartbeat nor a release has to open one.
type directory struct {
	path string
	id   filesystem.Identity

	// The following belong to the section that is under way.

	// handle is for the guard. It is not open if the directory may not be read.
	handle filesystem.Handle
	open   bool
	reach  filesystem.Reach

	// The rest is guarded by the engine's mutex.

	// users are the leases and the calls that use it.
	users int
	// guarding says that this process is in a guarded section of the directory.
	guarding bool
	// turns has the callers that have their turn with a lock, or wait for it, by the name
	// of the lock.
	turns map[string]*queue
}

// use returns the directory at path, which it opens unless this process has it open. It is
// known by what it is, and not by its path.
func (e *Engine) use(path string) (*directory, error) {
	if e.uses() {
		_, id, err := e.filesystem.StatIdentity(path)
		if err != nil {
			return nil, err
		}
		if d := e.usedAs(id, nil); d != nil {
			return d, nil
		}
	}
	d := &directory{path: path, turns: map[string]*queue{}}
	err := e.open(d)
	if errors.Is(err, fs.ErrPermission) {
		_, d.id, err = e.filesystem.StatIdentity(path)
	}
	if err != nil {
		return nil, err
	}
	used := e.usedAs(d.id, d)
	if used != d {
		e.close(d)
	}
	return used, nil
}

// open opens the directory for its guard.
func (e *Engine) open(d *directory) error {
	h, err := e.filesystem.OpenDirectory(d.path)
	if err != nil {
		return err
	}
	_, id, err := e.filesystem.FstatIdentity(h)
	if err == nil && d.id != (filesystem.Identity{}) && d.id != id {
		err = errMoved
	}
	if err != nil {
		_ = e.filesystem.Close(h)
		return err
	}
	d.handle, d.open, d.id = h, true, id
	return nil
}

// uses reports whether the process uses any directory.
func (e *Engine) uses() bool {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	return len(e.directories) > 0
}

// usedAs returns the directory that is known by id, with one user more. If there is none it
// is d from now on.
func (e *Engine) usedAs(id filesystem.Identity, d *directory) *directory {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if used := e.directories[id]; used != nil {
		d = used
	}
	if d != nil {
		e.directories[id] = d
		d.users++
	}
	return d
}

// unuse takes one user off, and closes the directory after the last one.
func (e *Engine) unuse(d *directory) {
	e.mutex.Lock()
	d.users--
	last := d.users == 0
	if last {
		delete(e.directories, d.id)
	}
	e.mutex.Unlock()
	if last {
		e.close(d)
	}
}

func (e *Engine) close(d *directory) {
	if d.open {
		_ = e.filesystem.Close(d.handle)
	}
	d.open = false
}

// moved reports whether path does not lead to d any more: contenders that come by it
// guard another directory.
func (e *Engine) moved(d *directory, path string) (bool, error) {
	_, id, err := e.filesystem.StatIdentity(path)
	return id != d.id, err
}

// split returns the directory of an absolute path, and the name in it.
func split(path string) (directory, name string) {
	directory, name = filepath.Split(path)
	if bare := directory[:max(len(directory)-1, 0)]; bare != "" && !strings.HasSuffix(bare, ":") {
		directory = bare // it is no root
	}
	return directory, name
}

// The guard is busy for some microseconds at a time, unless its holder is stopped. So it is
// tried again at once a number of times, and others may run in between. Then the pauses
// between attempts to get it start short, double, and stay at the longest, which is shorter
// for the holder of the lock than for a contender: it comes first.
const (
	spins               = 20
	shortestPause       = time.Millisecond
	longestPause        = 32 * time.Millisecond
	longestPauseOfOwner = 4 * time.Millisecond
)

// How long a call tries to get the guard that no context bounds.
const (
	tryPatience     = time.Second
	releasePatience = 5 * time.Second
	cleanPatience   = 100 * time.Millisecond
)

// A section is a guarded section: a few system calls that no other participant of this
// engine's kind comes between.
type section struct {
	engine    *Engine
	directory *directory
	guard     filesystem.Handle
	// guarded is not set where the filesystem has no guard. Then the section is one among
	// this process's own only.
	guarded bool
	// everywhere says that it is guarded against every process of this machine.
	everywhere bool
}

// guard waits for the guard, and gives up with ErrGuardBusy when patience is over: its
// holder is stopped, or hangs in a system call. The holder of the lock gives a function to
// be called before each pause, with whose error it gives up.
func (e *Engine) guard(ctx context.Context, d *directory, patience time.Duration, busy func() error) (section, error) {
	longest := longestPauseOfOwner
	if busy == nil {
		longest = longestPause
	}
	for range e.Spins {
		if s, ok := e.tryGuard(d); ok {
			return s, nil
		}
		yield()
	}
	var waited time.Duration
	for pause := shortestPause; ; pause = min(2*pause, longest) {
		if s, ok := e.tryGuard(d); ok {
			return s, nil
		}
		if busy != nil {
			if err := busy(); err != nil {
				return section{}, err
			}
		}
		if waited >= patience {
			return section{}, ErrGuardBusy
		}
		delay := shortestPause + time.Duration(e.Random()*float64(pause))
		waited += delay
		if err := lease.Wait(ctx, e.clock, delay); err != nil {
			return section{}, err
		}
	}
}

// tryGuard enters a section, if no other is under way.
func (e *Engine) tryGuard(d *directory) (section, bool) {
	e.mutex.Lock()
	busy := d.guarding
	d.guarding = true
	e.mutex.Unlock()
	if busy {
		return section{}, false
	}
	s := section{engine: e, directory: d}
	if !d.open && e.open(d) != nil {
		return s, true
	}
	if d.reach == filesystem.ReachUnknown {
		d.reach = e.filesystem.Reach(d.handle)
	}
	guard, err := e.filesystem.TryGuard(d.handle)
	if err == filesystem.ErrGuarded {
		s.end()
		return section{}, false
	}
	s.guard, s.guarded = guard, err == nil
	s.everywhere = s.guarded && d.reach == filesystem.ReachKernel
	return s, true
}

// end ends the section.
func (s section) end() {
	if s.guarded && s.engine.filesystem.Unguard(s.guard) != nil {
		s.engine.close(s.directory) // with which the guard goes
	}
	s.engine.mutex.Lock()
	defer s.engine.mutex.Unlock()
	s.directory.guarding = false
}
