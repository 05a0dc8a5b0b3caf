package lockfile

import (
	"cmp"
	"context"
	"time"

	"github.com/seed-c461eb89/nodelock/internal/clock"
	"github.com/seed-c461eb89/nodelock/internal/exithook"
	"github.com/seed-c461eb89/nodelock/internal/filesystem"
	"github.com/seed-c461eb89/nodelock/internal/mutex"
)

// mutexes are those of this process.
var mutexes = mutex.New(filesystem.OS{}, clock.System{}, &exithook.Process)

// ErrCompromised is why the context of a [Mutex] ends when the lock is lost.
var ErrCompromised error = mutex.ErrCompromised

// MutexOptions are the options of a [Mutex]. The zero value is a lock that never goes
// stale, with a heartbeat every 5 s all the same, for participants that have a threshold.
type MutexOptions struct {
	// Stale is the age beyond which another's lock may be taken over; 0 or less: none is.
	Stale time.Duration
	// Update is the time between heartbeats. 0 or less means 5 s, and it is half of Stale
	// at most.
	Update time.Duration
	// Poll is the time between attempts while somebody else has the lock, which varies by
	// a quarter either way. 0 or less means 100 ms.
	Poll time.Duration
}

const (
	defaultUpdate = 5 * time.Second
	// doubt is how long a lock that looks stale is watched before it is taken over.
	doubt = 50 * time.Millisecond
	// settle is how long after a takeover the lock is looked at once more: a Node program
	// that judged the same stale lock has acted by then.
	settle = 5 * time.Millisecond
)

// A Mutex is the lock file for Go: the same file, and more is promised. See the package
// documentation under "Mutex".
//
// It can be used by several goroutines at once. Those of one process that wait for the
// same path get it first come, first served, whichever Mutex they use.
type Mutex struct{ mutex *mutex.Mutex }

// NewMutex returns a Mutex for the lock file path, which it does not touch. A relative
// path is relative to the working directory at the time of each Lock and TryLock; the
// release goes to the lock that was taken.
func NewMutex(path string, o MutexOptions) *Mutex {
	stale := max(o.Stale, 0)
	update := cmp.Or(max(o.Update, 0), defaultUpdate)
	if stale > 0 {
		update = min(update, stale/2)
	}
	target := mutex.Lockfile(path, func() bool { return CurrentFiletime() == Ctime })
	return &Mutex{mutexes.Mutex(target, mutex.Options{
		Stale: stale, Update: update, Poll: cmp.Or(max(o.Poll, 0), defaultPoll), Doubt: doubt, Settle: settle,
	})}
}

const defaultPoll = 100 * time.Millisecond

// Lock waits for the lock as long as ctx lasts.
//
// When the error is nil, the lock is held, and the caller owes a call of unlock. It can
// be called more than once and from several goroutines, in a defer too: the first call
// releases the lock, the others return what that returned. Its error is
// [ErrCompromised] if the lock was lost: then nothing on disk has been touched. If another
// process that has the guard does not go on for 5 s, the error says so; the lock is not
// renewed any more, and unlock can be called again.
//
// The context held ends when the lock is lost, when it is released, and with ctx. Its
// cause tells which: [ErrCompromised] if it is lost. That is found out by the
// heartbeat, so up to MutexOptions.Update later, or when a process that was stopped
// goes on.
//
// If ctx ends while Lock waits, it returns the context's cause, and has left nothing on
// disk. A ctx that has ended before leaves the disk untouched. An error other than that
// is of a system call: the lock cannot be made, or what is at the path is no lock.
func (m *Mutex) Lock(ctx context.Context) (held context.Context, unlock func() error, err error) {
	return m.mutex.Lock(ctx)
}

// TryLock is [Mutex.Lock] with one attempt. If the lock is held, by this process too, the
// error is that of Node's open: its code is EEXIST, and errors.Is matches it with
// [io/fs.ErrExist]. A lock that is stale is watched for 50 ms before it is taken over.
// Where the guard is busy for a second, the lock counts as held.
func (m *Mutex) TryLock(ctx context.Context) (held context.Context, unlock func() error, err error) {
	return m.mutex.TryLock(ctx)
}

// Reclaimed reports whether the lock that was taken last was stale, and is for its holder
// to ask: what the lock protects may have been left half done.
func (m *Mutex) Reclaimed() bool { return m.mutex.Reclaimed() }

// Guarded reports whether the filesystem could guard the lock's directory when it was
// tried last. Without, the promises of takeover do not hold.
func (m *Mutex) Guarded() bool { return m.mutex.Guarded() }
