package mutex

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/seed-c461eb89/nodelock/compat/nodeerror"
	"github.com/seed-c461eb89/nodelock/internal/lease"
	"github.com/seed-c461eb89/nodelock/internal/watch"
)

// A contention is one call that takes the lock, and waits for it if it may.
type contention struct {
	*Mutex
	// path is that of the lock, which is called name in the directory at parentPath. File is
	// what is to be locked, if that is another one.
	path, parentPath, name, file string
	directory                    *directory
	wait                         bool
	parent                       context.Context
	began                        time.Time

	// doubt is what was found stale, and is to be looked at again.
	doubt mark
	// ahead is what was found with a time in the future, and aheadSince when that was first.
	ahead      mark
	aheadSince time.Time
	// reclaimed says that this call has removed a stale lock.
	reclaimed bool
	// seen is the lock that was in the way last.
	seen sight
	// inProcess says that the lock is this process's own.
	inProcess bool
	// failing is for how long every attempt has failed.
	failing time.Duration

	// kernel says that the lock is on a filesystem that is known to be this kernel's, and
	// dead that the holder of the lock that was seen last is.
	kernel, dead bool
	// staleIn is when that lock is stale, if it is not renewed; 0: it does not become so.
	staleIn time.Duration
	// hasty counts the attempts since the last pause.
	hasty int
	// unwatched is why the lock cannot be watched.
	unwatched error
}

// A sight is what was seen of a lock.
type sight struct {
	there   bool
	renewed int64 // in ms
	pid     int   // of the process that holds it; 0: unknown
}

// errWaitOver is the cause of a context that ends because Options.Wait is over.
var errWaitOver = errors.New("mutex: the wait is over")

// bound returns the context of the waiting, which Options.Wait bounds apart from the
// context of the caller.
func (c *contention) bound() (context.Context, func()) {
	if !c.wait || c.options.Wait == 0 {
		return c.parent, func() {}
	}
	patient, cancel := context.WithCancelCause(c.parent)
	timer := c.engine.clock.AfterFunc(c.options.Wait, func() { cancel(errWaitOver) })
	return patient, func() {
		timer.Stop()
		cancel(nil)
	}
}

// errMoved says that the directory of the lock is at another path by now.
var errMoved = errors.New("mutex: the directory of the lock has been moved")

// take takes the lock. The directory that the lock is in is looked up again if another has
// taken its place meanwhile.
func (c *contention) take(ctx context.Context) (*Lease, error) {
	e := c.engine
	for {
		d, err := c.find()
		if err != nil {
			if err = c.retry(ctx, err); err != nil {
				return nil, err
			}
			continue
		}
		c.directory = d
		if err := e.enter(ctx, d, c.name, c.wait); err != nil {
			e.unuse(d)
			c.inProcess = true
			return nil, c.refused(err)
		}
		l, err := c.contend(ctx)
		if err != nil || !l.hold() {
			e.leave(d, c.name)
		}
		e.unuse(d)
		if err != errMoved {
			return l, err
		}
	}
}

// find returns the directory of the lock. Where that is is settled once for a call.
func (c *contention) find() (*directory, error) {
	if c.path == "" {
		var err error
		if c.path, c.file, err = c.target.locate(c.engine.filesystem); err != nil {
			return nil, err
		}
		c.parentPath, c.name = split(c.path)
	}
	return c.engine.use(c.parentPath)
}

// contend makes attempts until one succeeds.
func (c *contention) contend(ctx context.Context) (*Lease, error) {
	for {
		doubted := c.doubt
		l, err := c.attempt(ctx)
		switch {
		case l != nil:
			return l, nil
		case err == errMoved:
			return nil, err
		case err != nil:
			if err = c.retry(ctx, err); err != nil {
				return nil, err
			}
			continue
		}
		c.failing = 0
		switch {
		case !c.doubt.same(doubted) && (c.wait || doubted.same(mark{})):
			err = lease.Wait(ctx, c.engine.clock, c.options.Doubt)
		case !c.wait:
			err = errTaken
		default:
			err = c.awaitChange(ctx)
		}
		if err != nil {
			return nil, c.refused(err)
		}
	}
}

// A system call that is refused may be so because another participant removes the lock just
// then, or another program has it open for a moment. So a call that waits tries again, for
// as long as patient says: which errors pass by themselves differs from system to system.
const (
	patient           = 250 * time.Millisecond
	longestRetryPause = 32 * time.Millisecond
)

// retry waits before the next attempt after one that has failed, and returns nil; or the
// error of the call if there is to be none.
func (c *contention) retry(ctx context.Context, err error) error {
	if _, ok := err.(lease.WaitEnded); ok {
		return c.refused(err)
	}
	if !c.wait || c.failing >= patient || errors.Is(err, ErrNotLock) || errors.Is(err, fs.ErrNotExist) {
		return c.failed(err)
	}
	pause := min(max(c.failing, shortestPause), longestRetryPause)
	c.failing += pause
	if ended := lease.Wait(ctx, c.engine.clock, pause); ended != nil {
		return c.failed(errors.Join(err, ended))
	}
	return nil
}

// failed is the error of a call that the system has refused. It says which lock it is.
func (c *contention) failed(err error) error {
	var e *nodeerror.Error
	if !errors.As(err, &e) || e.Path == c.path && errors.Is(err, ErrNotLock) || c.path == "" {
		return err
	}
	named := *e
	named.File, named.Err = c.file, err
	named.Message = fmt.Sprintf("the lock '%s' cannot be taken: %v", c.path, err)
	if c.reclaimed {
		named.Message += " (a stale one was removed)"
	}
	return &named
}

// awaitChange waits until it is worth while to try again: nil. An error means that ctx
// has ended.
//
// First the watch is set, and then the lock is looked at once more: what happens to it
// before the look is seen, and what happens after it fires the watch. The system does not
// tell of everything, such as the end of a process. So there is a look from time to time.
func (c *contention) awaitChange(ctx context.Context) error {
	// If every look says that the lock is to be had, and no attempt gets it, there is a pause
	// all the same.
	if c.hasty++; c.hasty > rounds || !c.watches() {
		return c.pause(ctx)
	}
	for {
		w, err := c.engine.watcher.Watch(c.path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			c.unwatched = err
			return c.pause(ctx)
		}
		held, err := c.sleep(ctx, w)
		w.Close()
		if err != nil || !held {
			return err
		}
	}
}

// errNoEvents says why a lock on such a filesystem is not watched.
var errNoEvents = errors.New("mutex: the filesystem is not known to tell of all changes")

// watches says whether the lock is to be watched, and can be as far as is known.
func (c *contention) watches() bool {
	if c.options.NoWatch {
		return false
	}
	if !c.kernel && c.unwatched == nil {
		c.unwatched = errNoEvents
	}
	return c.unwatched == nil
}

// pause waits for as long as it takes until the next attempt if nothing is watched.
func (c *contention) pause(ctx context.Context) error {
	c.hasty = 0
	return lease.Wait(ctx, c.engine.clock, c.engine.jitter(c.options.Poll))
}

// sleep waits until w fires, and reports whether the lock is held still.
func (c *contention) sleep(ctx context.Context, w watch.Watch) (held bool, err error) {
	for c.held() {
		nap := c.engine.jitter(c.options.SlowPoll)
		if c.staleIn > 0 {
			nap = min(nap, c.staleIn)
		}
		fired, err := w.Await(ctx, nap)
		if err != nil {
			return false, lease.WaitEnded{Cause: err}
		}
		c.hasty = 0
		if fired {
			return c.held(), nil
		}
	}
	return false, nil
}

// held reports whether the lock is not to be had now. If that cannot be seen, an attempt
// is to tell why.
func (c *contention) held() bool {
	verdict, _, pin, err := c.judge()
	if pin != noHandle {
		_ = c.engine.filesystem.Close(pin)
	}
	return err == nil && verdict == another
}

// jitter varies a pause by a quarter either way.
func (e *Engine) jitter(d time.Duration) time.Duration {
	return d - d/4 + time.Duration(float64(d/2)*e.Random())
}

// refused is the error of a call that has not got the lock because of err: that of a system
// call as it is, and else one that says which lock is held, when that was renewed last, and
// how long was waited.
func (c *contention) refused(err error) error {
	ended, isWait := err.(lease.WaitEnded)
	if !isWait && err != errTaken {
		return err
	}
	held := c.target.held(c.path)
	text := held.Error() + ":"
	if held.Syscall == "" {
		text += fmt.Sprintf(" '%s'", c.path)
	}
	held.Path, held.File = c.path, c.file
	switch {
	case c.inProcess:
		text += " held by this process"
	case c.seen.there:
		text += " " + lease.Renewed(c.engine.since(c.seen.renewed))
		if c.seen.pid != 0 {
			text += fmt.Sprintf(" by process %d", c.seen.pid)
		}
	default:
		text += " its directory is busy"
	}
	if c.wait {
		text += fmt.Sprintf(", waited %v", c.engine.clock.Now().Sub(c.began).Round(time.Millisecond))
	}
	if isWait && ended.Cause != errWaitOver {
		text += ": " + ended.Cause.Error()
		held.Err = errors.Join(ended.Cause, held.Err)
	}
	held.Message = text
	return held
}
