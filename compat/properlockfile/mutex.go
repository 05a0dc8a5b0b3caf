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
	defaultStale, leastStale = 10 * time.Second, 2 * time.Second
	leastUpdate              = time.Second
	defaultPoll              = 100 * time.Millisecond
	// doubt is how long a lock that looks stale is watched before it is taken over.
	doubt = 50 * time.Millisecond
	// settle is how long after a takeover the lock is looked at once more: a Node program
	// that judged the same stale lock has acted by then.
	settle = 5 * time.Millisecond
)

// A Mutex is the lock of a file for Go: the same directory on disk, and more is promised.
// Its limits first:
//
//   - Its promises are for programs on one machine that use Mutex, in a directory that can
//     be guarded: [Mutex.Guarded] says whether the one that the lock is in can. On network
//     filesystems it usually cannot be, nor can one that this process may not read. Then a
//     takeover can make two owners, though it takes more to go wrong than in Node.
//   - Node does not know the guard. A Node program that judged a lock stale may remove the
//     one that a Mutex has put in its place meanwhile. A stale lock is watched for 50 ms
//     before it is taken over, and looked at again 5 ms later, in which time a Node program
//     has usually acted; what comes later the heartbeat finds out. Node's release, and
//     [Lease.Release], remove whatever is there; [V1] renews it too.
//   - In the microseconds between renaming a stale lock and looking whether it was the right
//     one, the lock that a Node program has just made can be away from its place. It is
//     put back, but a Node program whose heartbeat falls into that instant gives it up.
//   - A holder that stops for longer than Stale, with the whole machine or alone, loses the
//     lock if somebody wants it. It is told when it goes on: up to one heartbeat
//     later. What must not be done twice has to be checked where it is done.
//   - A process that stops in the middle of a guarded section, which lasts microseconds,
//     stops all Mutexes in that directory until it goes on or ends; heartbeats go on.
//     Whoever may read the directory can do that at will: with flock on Unix.
//   - The directory that the lock is in is guarded by what it is, and the lock found by its
//     path. If that directory is moved away while a lock in it is held, the lock is lost.
//   - Participants must agree on Stale and on the lock's path. A clock that is set forward
//     by more than Stale makes every lock stale until its next heartbeat. On a filesystem
//     whose times have two seconds (FAT), Stale should be 5 s or more.
//
// What is promised, to programs on one machine that use Mutex in a directory that can be
// guarded:
//
//   - One stale lock is taken over by one participant, who knows it: [Mutex.Reclaimed].
//   - A lock that is renewed in time is not taken over, touched or removed by anybody but
//     its holder.
//   - A holder that lost its lock is told, by the context that Lock returns, and its
//     release leaves the other's lock alone.
//   - Whenever a process dies, the next one gets the lock, at once or when it is stale. A
//     directory whose name is the lock's and ".nodelock-claim" may stay behind from a
//     process that died in the middle of making or removing a lock. It means nothing to
//     anybody, and is removed when the next lock is made.
//   - In one process, those who wait for a lock get it first come, first served, whichever
//     Mutex they use.
//
// Who is safe from whom, as the explorer finds it in all schedules of two participants
// and a stale lock:
//
//	the lock of           | beside                | the path is free | both find a stale lock             | one is stopped at any point, for any time      | left on disk
//	properlockfile.Mutex  | properlockfile.Mutex  | safe             | safe                               | safe                                           | nothing
//	properlockfile.Mutex  | proper-lockfile 4.1.2 | safe             | removed or touched                 | two owners, removed or touched, lost unnoticed | a lock or a side file
//	properlockfile.Mutex  | proper-lockfile 1.2.0 | safe             | removed or touched                 | two owners, removed or touched, lost unnoticed | a lock or a side file
//	proper-lockfile 4.1.2 | properlockfile.Mutex  | safe             | removed or touched, lost unnoticed | two owners, removed or touched, lost unnoticed | a lock or a side file
//	proper-lockfile 1.2.0 | properlockfile.Mutex  | safe             | removed or touched, lost unnoticed | two owners, removed or touched, lost unnoticed | a lock or a side file
//
// How: whatever looks at a lock, makes, removes or renews it does so under a lock of the
// kernel's on the directory that it is in, which leaves nothing on disk and dies with its
// process (flock; on Windows a named mutex). The holder keeps the lock's directory open, by
// which, and by the time that its heartbeat set, it can tell its own from another's. A
// lock is removed by renaming it without replacing anything, looking whether it is the
// right one, and only then removing it; otherwise it is put back. Where the system cannot
// rename so (FreeBSD), it is looked at and removed.
//
// The guard works where flock works on directories: on the local filesystems of Linux,
// macOS and FreeBSD. Elsewhere it is refused and Guarded is false: on NFS for one.
//
// A Mutex can be used by several goroutines at once. While it is held it costs a
// descriptor and a timer.
type Mutex struct{ mutex *mutex.Mutex }

// NewMutex returns a Mutex for file, which it does not touch. The file is resolved by each
// Lock and TryLock; the release goes to the lock that was taken.
func NewMutex(file string, o MutexOptions) *Mutex {
	stale := max(cmp.Or(max(o.Stale, 0), defaultStale), leastStale)
	update := max(min(cmp.Or(max(o.Update, 0), stale/2), stale/2), leastUpdate)
	return &Mutex{mutexes.Mutex(mutex.ProperLockfile(file, o.LockfilePath, o.NoRealpath), mutex.Options{
		Stale: stale, Update: update, Poll: cmp.Or(max(o.Poll, 0), defaultPoll), Doubt: doubt, Settle: settle,
	})}
}

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
// error is [ErrLocked]. A lock that is stale is watched for 50 ms before it is taken over. Where
// the guard is busy for a second, the lock counts as held.
func (m *Mutex) TryLock(ctx context.Context) (held context.Context, unlock func() error, err error) {
	return m.mutex.TryLock(ctx)
}

// Reclaimed reports whether the lock that was taken last was stale, and is for its holder
// to ask: what the lock protects may have been left half done.
func (m *Mutex) Reclaimed() bool { return m.mutex.Reclaimed() }

// Guarded reports whether the filesystem could guard the lock's directory when it was
// tried last. Without, the promises of takeover do not hold.
func (m *Mutex) Guarded() bool { return m.mutex.Guarded() }
