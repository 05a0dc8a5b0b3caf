package lockfile

import (
	"context"
	"time"

	"github.com/seed-c461eb89/nodelock/internal/clock"
	"github.com/seed-c461eb89/nodelock/internal/exithook"
	"github.com/seed-c461eb89/nodelock/internal/filesystem"
	"github.com/seed-c461eb89/nodelock/internal/mutex"
	"github.com/seed-c461eb89/nodelock/internal/watch"
)

// mutexes are those of this process.
var mutexes = mutex.New(filesystem.OS{}, clock.System{}, &exithook.Process, &watch.Process)

// Errors of a [Mutex] alone; use errors.Is.
var (
	// ErrGuardBusy (EGUARDBUSY): another process has the guard of the lock's directory and
	// does not go on. It is stopped, or hangs in a system call.
	ErrGuardBusy error = mutex.ErrGuardBusy
	// ErrHeartbeatHangs (EHEARTBEATHANGS): a heartbeat hangs in a system call. Release has
	// waited for it in vain for 5 s, and can be called again; or the lock is lost because of
	// that, and then the error matches [ErrCompromised] too.
	ErrHeartbeatHangs error = mutex.ErrHeartbeatHangs
	// ErrNotLock: there is something else than a lock at the path, such as a directory, or a
	// file that has something in it. To take it over would delete that.
	ErrNotLock = mutex.ErrNotLock
)

// MutexOptions are the options of a [Mutex]. The zero value is a lock that never goes
// stale, with a heartbeat every 5 s all the same, for participants that have a threshold.
//
// A duration that is negative, or between 0 and 1 ms, is refused: Lock and TryLock return
// an error that matches [nodeerror.ErrOutOfRange].
type MutexOptions struct {
	// Stale is the age beyond which another's lock may be taken over; 0: none is.
	Stale time.Duration
	// Update is the time between heartbeats. 0 means 5 s, and it is half of Stale at most.
	Update time.Duration
	// Poll is the longest time between two looks at a lock that another process has. It varies
	// by a quarter either way. A lock that is removed wakes who waits for it; by looking it
	// finds out what the system does not tell, such as the death of the holder. 0, and
	// anything longer, means 1 s. Where the lock cannot be watched (see [Lease.WatchError])
	// nothing wakes, and Poll is the time between attempts: then 0 means 100 ms.
	Poll time.Duration
	// NoWatch has Lock not watch the lock, but only look every Poll. It is for programs
	// that have no descriptor to spare, and for testing/synctest: what waits for the system
	// keeps the time of a bubble from passing.
	NoWatch bool
	// Wait bounds how long Lock waits; 0: only the context does. When it is over, the error
	// is [ErrLocked]. It does not bound what is done under the lock, as a deadline of the
	// context does.
	Wait time.Duration
	// Filetime is the file time that the age of a lock is counted from; 0: the one that
	// [SetFiletime] has chosen.
	Filetime Filetime
}

// A Mutex is the lock file for Go: the same file, and more is promised. See the package
// documentation under "Mutex".
//
// It can be used by several goroutines at once. Those of one process that wait for the
// same path get it first come, first served, whichever Mutex they use. Use [NewMutex] to
// make one: the methods of a zero Mutex panic.
type Mutex struct{ mutex *mutex.Mutex }

// NewMutex returns a Mutex for the lock file path, which it does not touch. A relative
// path is relative to the working directory at the time of each Lock and TryLock; the
// release goes to the lock that was taken.
//
// A path that is empty or ends in a slash, and options that cannot be, are errors of Lock
// and TryLock.
func NewMutex(path string, o MutexOptions) *Mutex {
	return &Mutex{mutexes.LockfileMutex(path, mutex.LockfileOptions{
		Stale: o.Stale, Update: o.Update, Poll: o.Poll, Wait: o.Wait, NoWatch: o.NoWatch,
		Filetime: uint8(o.Filetime), ByCtime: func() bool { return CurrentFiletime() == Ctime },
	})}
}

// Lock waits for the lock as long as ctx lasts, and no longer than MutexOptions.Wait.
//
// When the error is nil, the lock is held, and the caller owes a call of [Lease.Release].
//
// If MutexOptions.Wait is over, the error matches [ErrLocked]. If ctx ends while Lock
// waits, it matches ErrLocked and the context's cause. Either way nothing of this call is
// on disk. A ctx that has ended before leaves the disk untouched, and its cause is the
// error. If ctx ends when the lock has just been taken, the error is nil, and the context of
// the lease has ended.
//
// Any other error says which lock it is about. If there is something else at the path it is
// [ErrNotLock]. If a system call failed it is that one's, and it has failed for 250 ms: what
// another program causes for a moment is waited for. If the call has had its effect
// although it failed, an empty file that nobody holds may be on disk. A nil ctx panics.
func (m *Mutex) Lock(ctx context.Context) (*Lease, error) { return mutexLeaseOf(m.mutex.Lock(ctx)) }

// TryLock is [Mutex.Lock] with one attempt. If the lock is held, by this process too, the
// error is that of Node's open: its code is EEXIST, and it matches [ErrLocked] and
// [io/fs.ErrExist]. A lock that is stale is watched for 50 ms before it is taken over.
// Where the guard is busy for a second, the lock counts as held. A system call that fails is
// not tried again.
func (m *Mutex) TryLock(ctx context.Context) (*Lease, error) {
	return mutexLeaseOf(m.mutex.TryLock(ctx))
}

// Do takes the lock as Lock does, calls f, and releases the lock when f returns or panics.
// The context that f is given is [Lease.Context]: it ends when the lock is lost.
//
// The error is that of Lock, or that of f. If the lock was lost, or could not be released,
// it also matches that error, even if f returned nil: a loss matches [ErrCompromised].
func (m *Mutex) Do(ctx context.Context, f func(ctx context.Context) error) error {
	return m.mutex.Do(ctx, f)
}

func mutexLeaseOf(l *mutex.Lease, err error) (*Lease, error) {
	if err != nil {
		return nil, err
	}
	return &Lease{l}, nil
}
