// Package lockfile locks with a file of zero bytes, exactly as the Node package
// @stackline/lockfile 1.0.6 does (and lockfile 1.0.4, but for the errors of unlock
// that it lost): a Go program and a Node program can share a lock.
//
// # Limits
//
//   - The lock is advisory and cooperative. It keeps out programs that ask for it, and
//     no others.
//   - A zero-byte file does not say which program made it. Unlock removes what is at the
//     path, also a lock that another program has taken meanwhile; no call can tell
//     its own lock from another's.
//   - Without Stale, a lock whose holder died stays until it is removed by hand.
//     With Stale, a holder that keeps the lock longer than that loses it and is not
//     told: there is no heartbeat. Participants must agree on Stale; one with a
//     shorter one takes locks that others believe to be good.
//   - Takeover can make two owners. In [Lock], between its second look at the
//     stale lock and its unlink, the owner may unlock and another program lock: that
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
//     be guarded against all of them: [Lease.Guarded] says whether this one can, and the
//     table below where. Elsewhere a takeover can make two owners, though it takes more to
//     go wrong than in Node.
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
//     heartbeat. A lock whose time lies ahead by more than Stale, as after a clock was set
//     back, is taken over when it has not been renewed for as long as Stale says.
//   - A file that has something in it is no lock, and is not taken over however old it is:
//     [ErrNotLock]. Node would delete it.
//
// What is promised, to programs on one machine that use Mutex in a directory that can be
// guarded:
//
//   - One stale lock is taken over by one participant, which is told: [Lease.Reclaimed].
//   - A lock that is renewed in time is not taken over, touched or removed by anybody but
//     its holder.
//   - A holder that lost its lock is told, by [Lease.Context] and [Lease.Done], and its
//     release leaves the other's lock alone.
//   - When the holder dies, the next Mutex gets the lock at once, whatever Stale is, and is
//     told: [Lease.Reclaimed]. This holds where Guarded is true and the filesystem keeps
//     access times to the nanosecond; else the lock is free when it is stale.
//   - A system call that fails costs no lock that was good. Lock tries again for 250 ms, a
//     heartbeat until Stale has passed, Release for 250 ms, and again when it is called
//     again. A lock that is held needs no new descriptor for its heartbeats and its release.
//   - In one process, those who wait for a lock get it first come, first served.
//
// Who is safe from whom, as the explorer finds it in every order of the calls of two
// participants (README.md says how far it looks):
//
//	the lock of       | beside            | the path is free | both find a stale lock             | one is stopped once, at any point              | left on disk
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
// that cannot be done, for whatever reason, it is looked at and removed in its place. The
// holder has a lock of the kernel's on the file, too, and notes that in the file's access
// time, which no Node program reads: a day after the modification time, with the number
// of its process in the nanoseconds. So the next one can tell that it is dead.
//
// On disk: a file whose name is the lock's and ".nodelock-claim" comes and goes whenever a
// lock is removed, and with Stale 0 one with ".nodelock-new" whenever one is made. A program
// that watches the directory sees them. One may stay behind from a process that died at
// that moment. They mean nothing to anybody, and are removed when the name is needed next.
// The file is open for reading only. It keeps its filesystem from being unmounted, and not
// from being mounted anew without the right to write.
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
// A held Mutex costs a descriptor and a timer, and each directory with held locks one
// descriptor more.
//
// # Errors
//
// Errors are [*Error] and read like Node's: code, number, system call, path and text.
// errors.Is matches a lock that is held with [ErrLocked], and every error with
// [io/fs.ErrExist] and its like; errors.As finds the [*io/fs.PathError] or [*os.LinkError].
// Control characters in paths are escaped in the text. A path that is empty, too long, has
// a NUL in it, or leads nowhere is an error; nothing is created then and nothing stays
// open.
//
// Those of [Mutex] and [Lease] also say which lock it is, when it was renewed last and how
// long was waited. A wait that a context ends matches both ErrLocked and the context's
// cause.
//
// # Exit
//
// Locks that were created, and not those that were won by takeover (L15), can be removed
// on exit (L23). Go has no hook for a normal exit: call [Cleanup] before os.Exit and at
// the end of main. Signals are left to the program: call [CleanupOnSignals] in main to have
// the locks removed before a signal ends the process. (Node's package does that by itself.
// A Go library must not: it would end programs that handle a signal in their own way.)
//
// The names L1 to L28 in this documentation are the rows of the contract in
// conformance/contracts/lockfile.md. "go run ./conformance/conform" shows how many
// recordings there are for each.
package lockfile

import (
	"context"
	"os"
	"time"

	"github.com/seed-c461eb89/nodelock/compat/nodeerror"
	"github.com/seed-c461eb89/nodelock/internal/clock"
	"github.com/seed-c461eb89/nodelock/internal/exithook"
	"github.com/seed-c461eb89/nodelock/internal/filesystem"
	"github.com/seed-c461eb89/nodelock/internal/lease"
	engine "github.com/seed-c461eb89/nodelock/internal/lockfile"
)

// process is what Node keeps in module scope: the locks of this process.
var process = engine.New(filesystem.OS{}, clock.System{}, &exithook.Process, defaultFiletime)

// An Error is a failed call as Node describes it: Code, Errno, Syscall, Path and Dest are
// Node's fields, and errors.As finds Go's own account of it. See [nodeerror.Error] for all
// of them.
type Error = nodeerror.Error

// The errors that a program may want to tell apart; use errors.Is.
var (
	// ErrLocked (EEXIST): the lock is held. The process that holds it may be this one.
	ErrLocked error = engine.ErrLocked
	// ErrReleased (ERELEASED): the lease was released before.
	ErrReleased error = engine.ErrReleased
	// ErrCompromised (ECOMPROMISED): the lock was lost. See [Lease.Err].
	ErrCompromised error = engine.ErrCompromised
	// ErrSyncWait: the options of a synchronous call ask it to wait.
	ErrSyncWait error = engine.ErrSyncWait
)

// Options are Node's options. The zero value is Node's default: one attempt, no
// waiting, and no lock is ever stale. A negative duration is not an error; what it
// means is said at each field. Node counts in whole milliseconds, and so do the
// pauses: they are cut to whole milliseconds and last 1 ms at the least.
//
// A duration between 0 and 1 ms is refused with [nodeerror.ErrOutOfRange]: it is a number of
// milliseconds that was not converted. Node's stale: 60000 is 60000 * time.Millisecond.
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
	// Filetime is the file time that ages are counted from; 0: the one that [SetFiletime]
	// has chosen (L22).
	Filetime Filetime
}

// engine returns the options as the engine has them, or what is wrong with them.
func (o Options) engine() (*engine.Options, error) {
	options := &engine.Options{
		Wait: o.Wait, PollPeriod: o.PollPeriod, Stale: o.Stale, Retries: o.Retries, RetryWait: o.RetryWait,
		Filetime: engine.Filetime(o.Filetime),
	}
	return options, options.Check()
}

// Lock creates the lock file path (L1 to L15).
//
// When the error is nil, path was created by this call, or was stale and has been
// replaced by it. The caller owes a call of [Lease.Release], or of [Unlock].
//
// If the lock is held, and not stale, Lock polls for it as o.Wait says and then returns
// the EEXIST of its last attempt, which matches [ErrLocked]. Any other error of an attempt
// is returned at once (L2). Each of o.Retries starts over, after any error.
//
// A stale lock is taken over with the help of path.STALE, itself a lock that obeys the
// same options (L8, L13). If the takeover fails half way, path.STALE may stay
// behind, as it does in Node (L11, L14), until it is stale itself or the process
// exits. A file that has something in it is taken over like any other, as in Node: what was
// in it is lost.
//
// If ctx ends while Lock waits, it returns the context's cause at once, and neither
// path nor a path.STALE of this call stays behind. A ctx that has ended before leaves
// the disk untouched. Lock does not look at ctx while it is not waiting: an error that
// is nil means a lock that is held, whatever became of ctx. A waiting Lock costs a
// timer and no goroutine. A nil ctx panics.
//
// Which of several participants that wait gets the lock is not specified.
func Lock(ctx context.Context, path string, o Options) (*Lease, error) {
	options, err := o.engine()
	if err != nil {
		return nil, err
	}
	return leaseOf(process.Lock(ctx, path, options))
}

// LockSync creates the lock file path in one pass (L20, L21).
//
// When the error is nil, path was created by this call. The caller owes a call of
// [Lease.Release], or of [Unlock].
//
// A stale lock is removed, even if it is another one by then, and the attempt repeated,
// without a path.STALE: this is weaker than Lock's takeover. If the lock's file time falls
// on a whole second, o.Stale is rounded up to whole seconds first, since the filesystem
// probably has no finer times. An error of looking at the lock is returned and not
// tried again, also where the lock has just vanished.
//
// A stale lock that cannot be removed (a directory, a parent that is read-only) is an
// EEXIST, to which the error of the removal is a further cause. Node overflows its
// stack there: this is the one difference.
//
// With o.Wait or o.RetryWait the error is [ErrSyncWait].
func LockSync(path string, o Options) (*Lease, error) {
	options, err := o.engine()
	if err != nil {
		return nil, err
	}
	return leaseOf(process.LockSync(path, options))
}

func leaseOf(l *engine.Lease, err error) (*Lease, error) {
	if err != nil {
		return nil, err
	}
	return &Lease{l}, nil
}

// Unlock removes the lock file path, no matter which program made it (L16). When the error
// is nil, it was removed or was not there. With any error the lock is not removed at exit.
// A [Lease] that this process has of path ends with [ErrReleased].
func Unlock(path string) error { return process.Unlock(path) }

// UnlockSync removes the lock file path if it can, and says nothing if it cannot
// (L17). Use Unlock to hear of it.
func UnlockSync(path string) { process.UnlockSync(path) }

// Check reports whether path is locked: whether it is there, and with o.Stale not
// older than that (L18). It follows symlinks. Of o it looks at Stale and Filetime only.
//
// When the error is nil, the answer was true at some point during the call. An error
// of closing the file comes together with an answer that is good; with any other error
// the answer means nothing.
func Check(path string, o Options) (bool, error) {
	options, err := o.engine()
	if err != nil {
		return false, err
	}
	return process.Check(path, options)
}

// CheckSync is [Check] as Node's checkSync is (L19): with o.Wait the error is
// [ErrSyncWait], without o.Stale an error of closing is ignored, and with it that
// error comes alone.
func CheckSync(path string, o Options) (bool, error) {
	options, err := o.engine()
	if err != nil {
		return false, err
	}
	return process.CheckSync(path, options)
}

// A Lease is a lock that is held: what [Lock] and [Mutex.Lock] return. Its methods can be
// called from several goroutines at once.
type Lease struct{ lease held }

// held is what the engines' leases are.
type held interface {
	lease.Lease
	Guarded() bool
	WatchError() error
}

// Release gives the lock back. It can be called more than once, and belongs into a defer:
// when it has succeeded, every further call returns [ErrReleased] and does nothing.
//
// For a lease of [Lock] or [LockSync] it does what [Unlock] does: it removes the file at
// the path, no matter which program made it. When the error is nil, that was removed, or
// was not there.
//
// For a lease of a [Mutex] it removes the file only if it still is this lock. When the
// error is nil, the lock was held until now. If it was lost, the error is
// [ErrCompromised], and nothing on disk has been touched.
//
// After any other error the lock is on disk, or was removed by a call that failed all the
// same. The lease is over, and the lock is not renewed any more. Call Release again to try
// again; [Cleanup] tries again too. If neither is done, the next Mutex takes the lock over:
// at once where it can tell that nobody holds it, else when it is stale.
func (l *Lease) Release() error { return l.lease.Release() }

// Done returns a channel that is closed when the lock was lost, or Release has been
// called. A lease of [Lock] or [LockSync] is lost only if this process takes the same lock
// again: the protocol has no way to tell.
func (l *Lease) Done() <-chan struct{} { return l.lease.Done() }

// Err returns nil while the lock is held, as far as this process knows. Then it returns
// [ErrReleased], or an error that says how the lock was lost and matches [ErrCompromised].
func (l *Lease) Err() error { return l.lease.Err() }

// Context returns a context for what is done under the lock. It ends when Done is closed,
// with the cause that Err returns, and when the context ends that the lock was taken with.
func (l *Lease) Context() context.Context { return l.lease.Context() }

// Path returns the path of the lock: for a lease of [Lock] or [LockSync] as it was given
// (L25), and else the absolute one.
func (l *Lease) Path() string { return l.lease.Path() }

// Reclaimed reports whether the lock was taken over, because it was stale or its holder
// dead. What it protects may have been left half done.
func (l *Lease) Reclaimed() bool { return l.lease.Reclaimed() }

// Guarded reports whether the lock's directory was guarded against every process of this
// machine when it was tried last: see the table under "Mutex". Else the promises of
// [Mutex] about takeover do not hold. A lease of [Lock] or [LockSync] has no guard.
func (l *Lease) Guarded() bool { return l.lease.Guarded() }

// WatchError returns why the call that took the lock could not watch the one that was in
// its way, so that it polled. It is nil if it could, if nothing was in its way, and with
// MutexOptions.NoWatch. A lease of [Lock] or [LockSync] watches nothing.
func (l *Lease) WatchError() error { return l.lease.WatchError() }

// String returns the path and the state of the lease, for messages.
func (l *Lease) String() string { return lease.String(l.lease) }

// Cleanup removes the locks that are to be removed at exit (L15, L23), in the order
// in which they were made, and ignores errors. Those of a [Mutex] are removed if they
// still are its own. The leases end with [ErrReleased]. Cleanup gives up after 2 s. Call
// it before os.Exit and at the end of main.
func Cleanup() { exithook.Clean(process, mutexes) }

// CleanupOnSignals has the process remove its locks and die when one of the signals
// arrives (L23). It is for main, and not for libraries: a program that has not called it
// keeps what signals do to it.
//
// With no argument the signals are those that end a Go program by default: HUP, INT and
// TERM; except on Windows ABRT, QUIT, TRAP and SYS; on Linux also STKFLT. Those that are
// ignored when it is called, as HUP is under nohup, stay ignored. A signal that the program
// handles by itself should not be among them: the process dies of it.
//
// The locks are those of all packages of this module. From the moment that the clean-up
// begins this process makes no new lock, and a call that would make one does not return.
// Goroutines go on until the process has ended, at most 2 s later. It ends as the signal
// ends a Go program: HUP, INT and TERM kill it, the others print the stacks of all
// goroutines and exit with status 2. If Go's runtime takes no notice of the signal, the
// status is 128 and the number of the signal.
//
// Stop takes it back. CleanupOnSignals can be called more than once, and by several
// packages; each call is taken back by its own stop. Once the clean-up has begun, stop
// does not return.
func CleanupOnSignals(signals ...os.Signal) (stop func()) {
	return exithook.Process.CleanupOnSignals(signals...)
}

// A Filetime is the file time that the age of a lock is counted from.
type Filetime uint8

const (
	// Ctime is the time of the last change of the inode: on Windows NTFS's ChangeTime.
	// It cannot be set back, so touching a lock keeps it from going stale.
	Ctime = Filetime(engine.Ctime)
	// Mtime is the time of the last modification. It can be set to anything.
	Mtime = Filetime(engine.Mtime)
)

// SetFiletime chooses the file time for all calls from now on that do not choose one
// themselves, also those under way (L22). The default is Ctime, and on Windows Mtime.
// Participants must agree on it. It is for ports of programs that set lockfile.filetime;
// a library sets [Options].Filetime or [MutexOptions].Filetime instead. Anything but Ctime
// and Mtime changes nothing.
func SetFiletime(f Filetime) { process.SetFiletime(engine.Filetime(f)) }

// CurrentFiletime returns the file time that SetFiletime has chosen.
func CurrentFiletime() Filetime { return Filetime(process.Filetime()) }
