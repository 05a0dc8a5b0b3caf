// Package lockfile locks with a file of zero bytes, exactly as the Node package
// @stackline/lockfile 1.0.6 does (and lockfile 1.0.4, but for the errors of unlock
// that it lost): a Go program and a Node program can share a lock.
//
// # Limits
//
//   - The lock is advisory and cooperative. It keeps out those who ask for it, and
//     nobody else.
//   - A zero-byte file does not say who made it. Unlock removes whatever is at the
//     path, also a lock that somebody else has taken meanwhile; no call can tell
//     its own lock from a stranger's.
//   - Without Stale, a lock whose holder died stays until it is removed by hand.
//     With Stale, a holder who keeps the lock longer than that loses it and is not
//     told: there is no heartbeat. Participants must agree on Stale; one with a
//     shorter one takes locks that others believe to be good.
//   - Takeover can make two owners. In [Lock], between its second look at the
//     stale lock and its unlink, the owner may unlock and somebody else lock: that
//     lock is removed. [LockSync] takes no second look at all.
//   - The age of a lock is the wall clock's time minus a file time, which on a network
//     filesystem is another machine's. A clock that is set changes it.
//   - O_EXCL is as good as the filesystem. On NFS it needs version 3 or later.
//   - Files are not removed when the process is killed by SIGKILL, crashes, panics, or
//     calls os.Exit without [Cleanup].
//
// These are the protocol's, and the functions here have them because Node has
// them.
//
// # Participants
//
// What was asynchronous in Node is a function that blocks, and takes a context where
// it may wait. What was synchronous makes one pass and never waits. The two differ
// in more than that, as they do in Node: compare [Lock] with [LockSync], and [Check]
// with [CheckSync]. All functions can be called from several goroutines at once.
// Locks are not reentrant: a second Lock in the same process waits or fails like
// another process's (L26).
//
// Paths are used as given. A relative one means the working directory at the time of
// each call, the clean-up at exit included (L25).
//
// # Mutex
//
// [Mutex] locks with the same file and has stronger promises. Its limits first:
//
//   - Its promises are for programs on one machine that use Mutex, in a directory that can
//     be guarded: [Mutex.Guarded] says whether this one can. On network filesystems it
//     usually cannot be, nor can one that this process may not read. Then a takeover can
//     make two owners, though it takes more to go wrong than in Node.
//   - Node does not know the guard. A Node program that judged a lock stale may remove the
//     one that a Mutex has put in its place meanwhile. A stale lock is watched for 50 ms
//     before it is taken over, and looked at again 5 ms later, in which time a Node program
//     has usually acted; what comes later the heartbeat finds out. [Unlock] and
//     [UnlockSync], Node's and those here, remove whatever is there.
//   - In the microseconds between renaming a stale lock and looking whether it was the right
//     one, the lock that a Node program has just made can be away from its place. It is
//     put back, unless a third program has locked meanwhile.
//   - A Node program has no heartbeat. If it holds the lock for longer than Stale, Mutex
//     takes the lock over, as Node does.
//   - A holder that stops for longer than Stale, with the whole machine or alone, loses the
//     lock if somebody wants it. It is told when it goes on: up to one heartbeat
//     later. What must not be done twice has to be checked where it is done.
//   - A process that stops in the middle of a guarded section, which lasts microseconds,
//     stops all Mutexes in that directory until it goes on or ends; heartbeats go on.
//     Whoever may read the directory can do that at will: with flock on Unix.
//   - The directory is guarded by what it is, and the lock found by its path. If the
//     directory is moved away while a lock in it is held, the lock is lost.
//   - Participants must agree on Stale and on the file time, see [SetFiletime]. A clock
//     that is set forward by more than Stale makes every lock stale until its next
//     heartbeat.
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
//     file whose name is the lock's and ".nodelock-claim" may stay behind from a process
//     that died in the middle of a removal. It means nothing to anybody, and is removed
//     at the next removal.
//   - In one process, those who wait for a lock get it first come, first served.
//
// Who is safe from whom, as the explorer finds it in all schedules of two participants
// and a stale lock:
//
//	the lock of       | beside            | the path is free | both find a stale lock             | one is stopped at any point, for any time      | left on disk
//	lockfile.Mutex    | lockfile.Mutex    | safe             | safe                               | safe                                           | nothing
//	lockfile.Mutex    | lockfile lock     | safe             | removed or touched                 | two owners, removed or touched, lost unnoticed | a lock or a side file
//	lockfile.Mutex    | lockfile lockSync | safe             | removed or touched                 | two owners, removed or touched, lost unnoticed | a lock or a side file
//	lockfile lock     | lockfile.Mutex    | safe             | removed or touched, lost unnoticed | two owners, removed or touched, lost unnoticed | a lock or a side file
//	lockfile lockSync | lockfile.Mutex    | safe             | removed or touched, lost unnoticed | two owners, removed or touched, lost unnoticed | a lock or a side file
//
// The holder renews the file's times, so Node programs that have a Stale see a fresh lock
// however long it is held. They do not notice anything else.
//
// How: whatever looks at a lock, removes or renews it does so under a lock of the kernel's
// on the directory, which leaves nothing on disk and dies with its process (flock; on
// Windows a named mutex). The holder keeps the file open, by which it can tell its own lock
// from another's. A lock is removed by renaming it without replacing anything, looking
// whether it is the right one, and only then removing it; otherwise it is put back. Where
// the system cannot rename so, a second link serves, and where that fails too, a look
// before the removal.
//
// The guard works where flock works on directories: on the local filesystems of Linux,
// macOS and FreeBSD. Elsewhere it is refused and Guarded is false: on NFS for one.
// A held Mutex costs a descriptor and a timer.
//
// # Errors
//
// Errors are [*Error] and read like Node's: code, number, system call, path and text.
// errors.Is matches them with [io/fs.ErrExist] and its like, and errors.As finds the
// [*io/fs.PathError] or [*os.LinkError]. Control characters in paths are escaped in
// the text. A path that is empty, too long, has a NUL in it, or leads nowhere is an
// error; nothing is created then and nothing stays open.
//
// # Exit
//
// Locks that were created, and not those that were won by takeover (L15), are
// removed on exit (L23). Go has no hook for a normal exit: call [Cleanup] before
// os.Exit and at the end of main. Fatal signals are taken care of while a lock is
// held: the locks are removed and the process dies of the signal. The signals are
// ABRT, ALRM, HUP, INT and TERM; except on Windows VTALRM, XCPU, XFSZ, USR2, TRAP,
// SYS and QUIT; on Linux also IO, PWR and STKFLT. Some of these do nothing to a
// Go program otherwise; while a lock is held they end it, as they end Node.
//
// A program that listens to a signal with os/signal keeps it: the locks stay, nothing
// is raised again. On Linux this is found out in the milliseconds after the signal has
// arrived. It cannot be where the program stops listening by then, as with a call of the
// stop function of signal.NotifyContext as soon as its context ends; nor for TRAP, SYS
// and STKFLT; nor on other systems. There, tell it with [LeaveSignals], or the program
// does not outlive the signal.
//
// The names L1 to L28 in this documentation are the rows of the contract that the
// recordings in testdata cover; run "go run ./conformance/conform" to see them.
package lockfile

import (
	"context"
	"os"
	"time"

	"github.com/seed-c461eb89/nodelock/compat/nodeerror"
	"github.com/seed-c461eb89/nodelock/internal/clock"
	"github.com/seed-c461eb89/nodelock/internal/exithook"
	"github.com/seed-c461eb89/nodelock/internal/filesystem"
	engine "github.com/seed-c461eb89/nodelock/internal/lockfile"
)

// process is what Node keeps in module scope: the locks of this process.
var process = engine.New(filesystem.OS{}, clock.System{}, &exithook.Process, defaultFiletime)

// An Error is a failed call as Node describes it. Its Err field, to which it unwraps,
// is Go's own account of it.
type Error = nodeerror.Error

// ErrSyncWait is the error of a synchronous call whose options ask it to wait.
var ErrSyncWait error = engine.ErrSyncWait

// Options are Node's options. The zero value is Node's default: one attempt, no
// waiting, and no lock is ever stale. A negative duration is not an error; what it
// means is said at each field. Node counts in whole milliseconds, and so do the
// pauses: they are cut to whole milliseconds and last 1 ms at the least.
type Options struct {
	// Wait is how long Lock polls for a lock that is held, per round. 0 or less: it
	// does not. It sleeps min(Wait, PollPeriod) between attempts, counted from the whole
	// Wait and not from what is left of it: a Wait of 80 ms with a PollPeriod of 50 ms
	// gives up after 100 ms (L4). LockSync and CheckSync refuse a Wait that is not 0.
	Wait time.Duration
	// PollPeriod is the pause between attempts. 0 means 100 ms; a negative one is
	// 1 ms (L5).
	PollPeriod time.Duration
	// Stale is the age beyond which a lock may be taken over; 0: none is. A lock is
	// stale when its age is greater, and never when its time lies in the future (L7). If
	// Stale is negative, every lock that is not that far in the future is stale.
	Stale time.Duration
	// Retries is how many further rounds follow any error at all (L6). 0 or less: none.
	Retries int
	// RetryWait is the pause before each further round. 0: none; a negative one is
	// 1 ms. LockSync refuses a RetryWait that is not 0.
	RetryWait time.Duration
}

func (o Options) engine() *engine.Options {
	return &engine.Options{
		Wait: o.Wait, PollPeriod: o.PollPeriod, Stale: o.Stale, Retries: o.Retries, RetryWait: o.RetryWait,
	}
}

// Lock creates the lock file path (L1 to L15).
//
// When the error is nil, path was created by this call, or was stale and has been
// replaced by it. The caller owes an [Unlock].
//
// If the lock is held, and not stale, Lock polls for it as o.Wait says and then returns
// the EEXIST of its last attempt. Any other error of an attempt is returned at once
// (L2). Each of o.Retries starts over, after any error.
//
// A stale lock is taken over with the help of path.STALE, itself a lock that obeys the
// same options (L8, L13). If the takeover fails half way, path.STALE may stay
// behind, as it does in Node (L11, L14), until it is stale itself or the process
// exits.
//
// If ctx ends while Lock waits, it returns the context's cause at once, and neither
// path nor a path.STALE of this call stays behind. A ctx that has ended before leaves
// the disk untouched. Lock does not look at ctx while it is not waiting: an error that
// is nil means a lock that is held, whatever became of ctx. A waiting Lock costs a
// timer and no goroutine.
//
// Which of several participants that wait gets the lock is not specified.
func Lock(ctx context.Context, path string, o Options) error {
	return process.Lock(ctx, path, o.engine())
}

// LockSync creates the lock file path in one pass (L20, L21).
//
// When the error is nil, path was created by this call. The caller owes an [Unlock].
//
// A stale lock is removed, whoever's it is by then, and the attempt repeated, without
// a path.STALE: this is weaker than Lock's takeover. If the lock's file time falls on
// a whole second, o.Stale is rounded up to whole seconds first, since the filesystem
// probably has no finer times. An error of looking at the lock is returned and not
// tried again, also where the lock has just vanished.
//
// A stale lock that cannot be removed (a directory, a parent that is read-only) is an
// EEXIST, to which the error of the removal is a further cause. Node overflows its
// stack there: this is the one difference.
//
// With o.Wait or o.RetryWait the error is [ErrSyncWait].
func LockSync(path string, o Options) error { return process.LockSync(path, o.engine()) }

// Unlock removes the lock file path, whoever made it (L16). When the error is nil, it
// was removed or was not there. Whatever the error, the lock is not removed at exit.
func Unlock(path string) error { return process.Unlock(path) }

// UnlockSync removes the lock file path if it can, and says nothing if it cannot
// (L17). Use Unlock to hear of it.
func UnlockSync(path string) { process.UnlockSync(path) }

// Check reports whether path is locked: whether it is there, and with o.Stale not
// older than that (L18). It follows symlinks. Of o it looks at Stale only.
//
// When the error is nil, the answer was true at some point during the call. An error
// of closing the file comes together with an answer that is good; with any other error
// the answer means nothing.
func Check(path string, o Options) (bool, error) { return process.Check(path, o.engine()) }

// CheckSync is [Check] as Node's checkSync is (L19): with o.Wait the error is
// [ErrSyncWait], without o.Stale an error of closing is ignored, and with it that
// error comes alone.
func CheckSync(path string, o Options) (bool, error) { return process.CheckSync(path, o.engine()) }

// Cleanup removes the locks that are to be removed at exit (L15, L23), in the order
// in which they were made, and ignores errors. Those of a [Mutex] are removed if they
// still are its own, and their contexts end. Call it before os.Exit.
func Cleanup() {
	process.Clean()
	mutexes.Clean()
}

// LeaveSignals tells that the program listens to these signals itself, or to all if
// none is given: no clean-up happens on them, and they are not raised again. It
// is for the whole process and cannot be taken back.
//
// On Linux most programs need not: see the package documentation.
func LeaveSignals(signals ...os.Signal) { exithook.Process.Leave(signals...) }

// A Filetime is the file time that the age of a lock is counted from.
type Filetime = engine.Filetime

const (
	// Ctime is the time of the last change of the inode: on Windows NTFS's ChangeTime.
	// It cannot be set back, so touching a lock keeps it from going stale.
	Ctime = engine.Ctime
	// Mtime is the time of the last modification. It can be set to anything.
	Mtime = engine.Mtime
)

// SetFiletime chooses the file time for all calls from now on, also those under way
// (L22). The default is Ctime, and on Windows Mtime. Participants must agree on it.
func SetFiletime(f Filetime) { process.SetFiletime(f) }

// CurrentFiletime returns the file time in use.
func CurrentFiletime() Filetime { return process.Filetime() }
