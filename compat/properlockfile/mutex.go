package properlockfile

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

// MutexOptions are the options of a [Mutex]. The zero value is Node's default: stale after
// 10 s, renewed every 5 s.
type MutexOptions struct {
	// Stale is how old the mtime of a lock must be for the lock to be taken over. 0 or less:
	// 10 s. Anything less than 2 s is 2 s (P3).
	Stale time.Duration
	// Update is the time between heartbeats. 0 or less: half of Stale. It is held within 1 s
	// and half of Stale (P3).
	Update time.Duration
	// Poll is the time between attempts while somebody else has the lock, which varies by
	// a quarter either way. 0 or less means 100 ms.
	Poll time.Duration
	// NoRealpath is as in [Options].
	NoRealpath bool
	// LockfilePath is the lock's directory; "": the file's name with ".lock" after it. A
	// relative one is relative to the working directory at the time of each Lock and
	// TryLock.
	LockfilePath string
}

const (
	mutexStale, leastMutexStale = 10 * time.Second, 2 * time.Second
	leastMutexUpdate            = time.Second
	mutexPoll                   = 100 * time.Millisecond
	// doubt is how long a lock that looks stale is watched before it is taken over.
	doubt = 50 * time.Millisecond
	// settle is how long after a takeover the lock is looked at once more: a Node program
	// that judged the same stale lock has acted by then.
	settle = 5 * time.Millisecond
)

// A Mutex is the lock of a file for Go: the same directory, and more is promised. See the
// package documentation under "Mutex".
//
// It can be used by several goroutines at once. Those of one process that wait for the
// same lock get it first come, first served, whichever Mutex they use.
type Mutex struct{ mutex *mutex.Mutex }

// NewMutex returns a Mutex for file, which it does not touch. The file is resolved by each
// Lock and TryLock; the release goes to the lock that was taken.
func NewMutex(file string, o MutexOptions) *Mutex {
	stale := max(cmp.Or(max(o.Stale, 0), mutexStale), leastMutexStale)
	update := max(min(cmp.Or(max(o.Update, 0), stale/2), stale/2), leastMutexUpdate)
	return &Mutex{mutexes.Mutex(mutex.ProperLockfile(file, o.LockfilePath, o.NoRealpath), mutex.Options{
		Stale: stale, Update: update, Poll: cmp.Or(max(o.Poll, 0), mutexPoll), Doubt: doubt, Settle: settle,
	})}
}

// Lock waits for the lock as long as ctx lasts.
//
// When the error is nil, the lock is held, and the caller owes a call of unlock. It can
// be called more than once and from several goroutines, in a defer too: the first call
// releases the lock, the others return what that returned. Its error is
// [ErrCompromised] if the lock was lost: then nothing on disk has been touched.
//
// The context held ends when the lock is lost, when it is released, and with ctx. Its
// cause tells which: [ErrCompromised] if it is lost, [ErrReleased] if it is released. A
// loss is found out by the heartbeat, so up to MutexOptions.Update later, or when a process
// that was stopped goes on.
//
// If ctx ends while Lock waits, it returns the context's cause, and has left nothing on
// disk. A ctx that has ended before leaves the disk untouched. An error other than that
// is of a system call: file cannot be resolved, the lock cannot be made, or what is at its
// path is no lock.
func (m *Mutex) Lock(ctx context.Context) (held context.Context, unlock func() error, err error) {
	return m.mutex.Lock(ctx)
}

// TryLock is [Mutex.Lock] with one attempt. If the lock is held, by this process too, the
// error is [ErrLocked]. A lock that is stale is watched for 50 ms before it is taken over.
func (m *Mutex) TryLock(ctx context.Context) (held context.Context, unlock func() error, err error) {
	return m.mutex.TryLock(ctx)
}

// Reclaimed reports whether the lock that was taken last was stale, and is for its holder
// to ask: what the lock protects may have been left half done.
func (m *Mutex) Reclaimed() bool { return m.mutex.Reclaimed() }

// Guarded reports whether the filesystem could guard the lock's directory when it was
// tried last. Without, the promises of takeover do not hold.
func (m *Mutex) Guarded() bool { return m.mutex.Guarded() }
