package properlockfile

import (
	"context"
	"time"

	"github.com/seed-c461eb89/nodelock/internal/clock"
	"github.com/seed-c461eb89/nodelock/internal/exithook"
	"github.com/seed-c461eb89/nodelock/internal/filesystem"
	"github.com/seed-c461eb89/nodelock/internal/mutex"
)

// mutexes are those of this process.
var mutexes = mutex.New(filesystem.OS{}, clock.System{}, &exithook.Process)

// Errors of a [Mutex] alone; use errors.Is.
var (
	// ErrGuardBusy (EGUARDBUSY): another process has the guard of the directory that the lock
	// is in and does not go on. It is stopped, or hangs in a system call.
	ErrGuardBusy error = mutex.ErrGuardBusy
	// ErrNotLock: there is something else than a directory at the lock's path.
	ErrNotLock = mutex.ErrNotLock
)

// MutexOptions are the options of a [Mutex]. The zero value is Node's default: stale after
// 10 s, renewed every 5 s.
//
// A duration that is negative, or between 0 and 1 ms, is refused: Lock and TryLock return
// an error that matches [nodeerror.ErrOutOfRange].
type MutexOptions struct {
	// Stale is how old the mtime of a lock must be for the lock to be taken over. 0: 10 s.
	// Anything less than 2 s is 2 s (P3).
	Stale time.Duration
	// Update is the time between heartbeats. 0: half of Stale. It is held within 1 s and half
	// of Stale (P3).
	Update time.Duration
	// Poll is the time between attempts while another process has the lock, which varies
	// by a quarter either way. 0 means 100 ms.
	Poll time.Duration
	// Wait bounds how long Lock waits; 0: only the context does. When it is over, the error
	// is [ErrLocked]. It does not bound what is done under the lock, as a deadline of the
	// context does.
	Wait time.Duration
	// NoRealpath is as in [Options].
	NoRealpath bool
	// LockfilePath is the lock's directory; "": the file's name with ".lock" after it. A
	// relative one is relative to the working directory at the time of each Lock and
	// TryLock.
	LockfilePath string
}

// A Mutex is the lock of a file for Go: the same directory on disk, and more is promised.
// Its limits first:
//
//   - Its promises are for programs on one machine that use Mutex, in a directory that can
//     be guarded: [Lease.Guarded] says whether the one that the lock is in can. On network
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
//   - One stale lock is taken over by one participant, which is told: [Lease.Reclaimed].
//   - A lock that is renewed in time is not taken over, touched or removed by anybody but
//     its holder.
//   - A holder that lost its lock is told, by [Lease.Context] and [Lease.Done], and its
//     release leaves the other's lock alone.
//   - Whenever a process dies, the next one gets the lock, at once or when it is stale. A
//     directory whose name is the lock's and ".nodelock-claim" may stay behind from a
//     process that died in the middle of making or removing a lock. It means nothing to
//     anybody, and is removed when the next lock is made.
//   - In one process, those who wait for a lock get it first come, first served, whichever
//     Mutex they use.
//
// Who is safe from whom, as the explorer finds it in every order of the calls of two
// participants (README.md says how far it looks):
//
//	the lock of           | beside                | the path is free | both find a stale lock             | one is stopped once, at any point              | left on disk
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
// descriptor and a timer. Use [NewMutex] to make one: the methods of a zero Mutex panic.
type Mutex struct{ mutex *mutex.Mutex }

// NewMutex returns a Mutex for file, which it does not touch. The file is resolved by each
// Lock and TryLock; the release goes to the lock that was taken.
//
// A path that is empty or ends in a slash, and options that cannot be, are errors of Lock
// and TryLock.
func NewMutex(file string, o MutexOptions) *Mutex {
	return &Mutex{mutexes.ProperLockfileMutex(file, mutex.ProperLockfileOptions(o))}
}

// Lock waits for the lock as long as ctx lasts, and no longer than MutexOptions.Wait.
//
// When the error is nil, the lock is held, and the caller owes a call of [Lease.Release].
//
// If MutexOptions.Wait is over, the error matches [ErrLocked]. If ctx ends while Lock
// waits, it matches ErrLocked and the context's cause. Either way nothing of this call is
// on disk. A ctx that has ended before leaves the disk untouched, and its cause is the
// error. Any other error is of a system call: file cannot be resolved, the lock cannot be
// made, or there is something else at its path ([ErrNotLock]). A nil ctx panics.
func (m *Mutex) Lock(ctx context.Context) (*Lease, error) { return mutexLeaseOf(m.mutex.Lock(ctx)) }

// TryLock is [Mutex.Lock] with one attempt. If the lock is held, by this process too, the
// error is [ErrLocked]. A lock that is stale is watched for 50 ms before it is taken over. Where
// the guard is busy for a second, the lock counts as held.
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
