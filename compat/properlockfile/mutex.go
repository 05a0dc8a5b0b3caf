package properlockfile

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
	// ErrGuardBusy (EGUARDBUSY): another process has the guard of the directory that the lock
	// is in and does not go on. It is stopped, or hangs in a system call.
	ErrGuardBusy error = mutex.ErrGuardBusy
	// ErrHeartbeatHangs (EHEARTBEATHANGS): a heartbeat hangs in a system call. Release has
	// waited for it in vain for 5 s, and can be called again; or the lock is lost because of
	// that, and then the error matches [ErrCompromised] too.
	ErrHeartbeatHangs error = mutex.ErrHeartbeatHangs
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
//     be guarded against all of them: [Lease.Guarded] says whether the one that the lock is
//     in can, and the table below where. Elsewhere a takeover can make two owners, though it
//     takes more to go wrong than in Node.
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
//     by more than Stale makes every lock stale until its next heartbeat. A lock whose time
//     lies ahead by more than Stale, as after a clock was set back, is taken over when it has
//     not been renewed for as long as Stale says.
//   - A lock on a filesystem whose times have whole seconds, or two (FAT), counts as so much
//     younger than it looks.
//
// What is promised, to programs on one machine that use Mutex in a directory that can be
// guarded:
//
//   - One stale lock is taken over by one participant, which is told: [Lease.Reclaimed].
//   - A lock that is renewed in time is not taken over, touched or removed by anybody but
//     its holder.
//   - A holder that lost its lock is told, by [Lease.Context] and [Lease.Done], and its
//     release leaves the other's lock alone.
//   - When the holder dies, the next Mutex gets the lock at once, and is told:
//     [Lease.Reclaimed]. This holds where Guarded is true and the filesystem keeps access
//     times to the nanosecond; else the lock is free when it is stale.
//   - A system call that fails costs no lock that was good. Lock tries again for 250 ms, a
//     heartbeat until Stale has passed, Release for 250 ms, and again when it is called
//     again. A lock that is held needs no new descriptor for its heartbeats and its release.
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
// right one, and only then removing it; otherwise it is put back. Where that cannot be done,
// for whatever reason, it is looked at and removed in its place. The holder has a lock of
// the kernel's on the lock's directory, too, and notes that in the directory's access time,
// which no Node program reads: a day after the modification time, with the number of its
// process in the nanoseconds. So the next one can tell that it is dead.
//
// On disk: a directory whose name is the lock's and ".nodelock-new" comes and goes whenever
// a lock is made, and one with ".nodelock-claim" whenever one is removed. A program that
// watches the directory sees them. One may stay behind from a process that died at that
// moment. They mean nothing to anybody, and are removed when the name is needed next. A
// lock that is held keeps its filesystem from being unmounted, and not from being mounted
// anew without the right to write.
//
// How far the guard reaches depends on the filesystem, whose type the system tells:
//
//	filesystem                                         | the guard keeps out             | Guarded
//	ext4, xfs, btrfs, tmpfs, overlayfs, ZFS, f2fs, FAT | every process of this machine   | true
//	APFS, HFS+, UFS (macOS, FreeBSD)                   | every process of this machine   | true
//	a local disk on Windows                            | every process of this machine   | true
//	NFS, SMB, 9P, Ceph, every FUSE filesystem          | processes that use this mount   | false
//	any other                                          | not known                       | false
//	a directory that this process may not read         | goroutines of this process      | false
//
// The guard is used wherever there is one. Guarded is true where it is known to keep out
// every process of this machine. An overlay's files can be reached beside it, in its upper
// directory: a participant that does that is not kept out.
//
// A Mutex can be used by several goroutines at once. While it is held it costs a
// descriptor and a timer, and each directory with held locks one descriptor more. Use [NewMutex] to make one: the methods of a zero Mutex panic.
type Mutex struct{ mutex *mutex.Mutex }

// NewMutex returns a Mutex for file, which it does not touch. The file is resolved by each
// Lock and TryLock; the release goes to the lock that was taken.
//
// A path that is empty or ends in a slash, and options that cannot be, are errors of Lock
// and TryLock.
func NewMutex(file string, o MutexOptions) *Mutex {
	return &Mutex{mutexes.ProperLockfileMutex(file, mutex.ProperLockfileOptions{
		Stale: o.Stale, Update: o.Update, Poll: o.Poll, Wait: o.Wait, NoWatch: o.NoWatch,
		NoRealpath: o.NoRealpath, LockfilePath: o.LockfilePath,
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
// A file that is not there is an error at once. Any other error says which lock it is about.
// If there is something else at the lock's path it is [ErrNotLock]. If a system call failed
// it is that one's, and it has failed for 250 ms: what another program causes for a moment
// is waited for. If the call has had its effect although it failed, an empty directory that
// nobody holds may be on disk. A nil ctx panics.
func (m *Mutex) Lock(ctx context.Context) (*Lease, error) { return mutexLeaseOf(m.mutex.Lock(ctx)) }

// TryLock is [Mutex.Lock] with one attempt. If the lock is held, by this process too, the
// error is [ErrLocked]. A lock that is stale is watched for 50 ms before it is taken over.
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
