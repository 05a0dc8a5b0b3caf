// Package properlockfile locks files as the Node package proper-lockfile does, in its
// version 4.1.2 or 1.2.0: a Go program and a Node program can share a lock.
//
// # Limits
//
//   - The lock is advisory and cooperative. It keeps out programs that ask for it, and
//     no others.
//   - The lock is a directory without anything in it. Nothing says which program made
//     it: a release removes what is there, also a directory that another program has made
//     after the first was removed. The heartbeat of [V4] notices another's
//     directory by its mtime, [V1] does not.
//   - A holder that cannot renew its lock for the time of Stale (the machine sleeps, the
//     process is stopped, the filesystem hangs) loses it to the next program that asks, and is
//     told at its next heartbeat, not before: look at [Lease.Done] and [Lease.Err]
//     before doing what cannot be undone. With [V4] that is up to half of Stale later.
//   - Takeover can make two owners. Of two participants that find the same stale lock,
//     the slower one may remove the directory that the faster one has just made, and
//     both believe to hold the lock (open upstream as issue 121).
//   - Participants must agree on Stale and on the path of the lock. One with a shorter
//     Stale takes locks that others believe to be good.
//   - Ages are the wall clock's time minus a file time, which on a network filesystem
//     is another machine's. A clock that is set changes them.
//   - File times of two seconds (FAT) do not work with [V4]: the heartbeat finds another
//     time than the one it has set. So it is with some of whole milliseconds.
//   - How exact file times are [V4] finds out at its first lock, and remembers (P10). A lock on
//     a second filesystem whose times are coarser is lost at its second heartbeat,
//     unless it has an [FS] of its own. [Mutex] does not depend on that.
//   - Two locks of one file in one process, under two LockfilePaths or because
//     the first one's directory was removed by another program, are not kept apart, see [Lease.Release].
//   - Directories stay behind when the process is killed by SIGKILL, crashes, panics, or
//     calls os.Exit without [Cleanup]. They go stale, and are taken over then.
//
// These are the protocol's, and the functions here have them because Node has them.
//
// [Mutex] locks with the same directories, can tell its own, and makes no two owners where
// the filesystem lets it. Its documentation says what it promises, and to which programs.
//
// # The path of the lock
//
// The lock of a file is the directory whose name is that of the file with ".lock" after
// it, once all links are resolved. If /etc/app.json is a link to /data/app.json,
// then
//
//	lease, err := properlockfile.Lock(ctx, "/etc/app.json", properlockfile.Options{})
//
// makes the directory /data/app.json.lock, and so does Node's lock('/etc/app.json').
// The file must exist, unless NoRealpath is set. With NoRealpath links are not resolved,
// and the lock would be /etc/app.json.lock: another one. Options.LockfilePath names the
// directory itself.
//
// # Participants
//
// What was asynchronous in Node is a function that blocks, and takes a context where it
// may wait. What was synchronous makes one attempt and never waits. The two differ
// little, and as they do in Node: see [LockSync]. All functions and methods can be
// called from several goroutines at once. Locks are not reentrant: a second Lock in the
// same process waits or fails like another process's (P22). The locks of [V4] and of
// [V1] exclude each other, but a call with one contract does not find in its own
// process what the other holds, as if both versions of the package were loaded.
//
// A held lock costs one timer, and no goroutine between its heartbeats. It does not keep
// the process alive (P21).
//
// # Errors
//
// Errors are [*Error] and read like Node's: code, number, system call, path and text.
// errors.Is matches them with the sentinels here and, where a system call failed, with
// [io/fs.ErrNotExist] and its like; errors.As finds the [*io/fs.PathError]. Control
// characters in paths are escaped in the text. A path that is too long, has a NUL in it,
// or leads nowhere is an error. A call that fails leaves no directory that it has made,
// unless removing it fails too, and no timer, goroutine or descriptor.
//
// # Exit
//
// Locks that are held can be removed on exit (P20). Go has no hook for a normal exit: call
// [Cleanup] before os.Exit and at the end of main. Signals are left to the program: call
// [CleanupOnSignals] in main to have the locks removed before a signal ends the process.
//
// # Differences from Node
//
// Where Node crashes, hangs or runs out of memory:
//
//   - Signals are left to the program. Node's 4.1.2 catches them; a Go library that did
//     would end programs that handle a signal in their own way. See [CleanupOnSignals],
//     which removes the locks of [V1] too.
//   - A compromise does not end the process. Node's default handler throws, which no
//     caller can catch; here [Lease.Done] is closed. Set OnCompromised to [Throw] to die.
//   - Contradicting timeouts, MinTimeout > MaxTimeout, are an error. Node throws it from
//     a callback and dies, unless realpath is false.
//   - An endless number of retries is endless: give any Count, or Forever. Node runs out
//     of memory. From the 65536th retry on the pauses are all the same.
//   - No timer overflows. In Node a Stale of more than 49.7 days makes the heartbeat spin
//     and a pause of more than 24.8 days is 1 ms.
//   - A lock whose heartbeat finds no lock held for its file any more (of two locks of
//     one file, the later was released) ends quietly. Node dies of a TypeError.
//   - Two first locks at once that find two precisions of file times, on two
//     filesystems: the first one's is remembered. Node throws from a callback and dies.
//   - An FS that panics or returns nothing makes the call fail. Node dies, or worse.
//
// Where Node's result helps no program:
//
//   - A lease that was released stays released. A second release is ERELEASED also where
//     this process holds another lock of the file by then, which Node's release function may
//     end.
//   - A release that failed can be tried again. Node's release function says ERELEASED then,
//     and the directory stays.
//   - Nothing fires after a release. In Node a release at the moment when a heartbeat
//     looks at the lock is followed by a call of the compromise handler, or by a touch,
//     or by a crash if the look failed.
//   - A schedule in a synchronous call is [ErrSyncRetries] whenever it asks for any
//     retry. Node looks at the count alone; without one its lockSync returns nothing and
//     goes on in the background if the lock is held.
//   - LockSync of [V1] takes a negative count for none. Node's refuses it.
//
// Because Go is not JavaScript:
//
//   - An option that is 0 is not given. Node tells 0 and null from that; each field of
//     [Options] and [Retries] says what to write instead.
//   - Options are values. In 1.2.0 the synchronous calls write into the caller's object.
//   - One [FS] serves both kinds of calls, and the exit; Node has mkdir and mkdirSync, and
//     at exit leaves a lock whose fs has no rmdirSync. What 4.1.2 remembers of an fs
//     object (P10) is remembered for up to 64 of them, and not for one of a type that
//     cannot be compared: that one is probed each time.
//   - Lock can be cancelled, and what it waits for is its context too.
//   - When probing a new lock fails, the directory has been removed, if it can be, when
//     Lock returns. Node does not wait for that.
//   - Heartbeats are made by goroutines of their own. A Node program that is busy is late
//     with them.
//   - Exit needs [Cleanup]; after it the locks count as released.
//
// The names P1 to P23 in this documentation are the rows of the contract in
// conformance/contracts/proper-lockfile.md. "go run ./conformance/conform" shows how many
// recordings there are for each.
package properlockfile

import (
	"context"
	"io/fs"
	"os"
	"time"

	"github.com/seed-c461eb89/nodelock/compat/nodeerror"
	"github.com/seed-c461eb89/nodelock/internal/clock"
	"github.com/seed-c461eb89/nodelock/internal/exithook"
	"github.com/seed-c461eb89/nodelock/internal/filesystem"
	"github.com/seed-c461eb89/nodelock/internal/lease"
	engine "github.com/seed-c461eb89/nodelock/internal/properlockfile"
	"github.com/seed-c461eb89/nodelock/internal/retry"
)

// process is what Node keeps in module scope: the locks of this process.
var process = engine.New(filesystem.OS{}, clock.System{}, &exithook.Process)

// An Error is a failed call as Node describes it: Code, Errno, Syscall, Path and File are
// Node's fields, and errors.As finds Go's own account of it. See [nodeerror.Error] for all
// of them.
type Error = nodeerror.Error

// The errors that a program may want to tell apart; use errors.Is.
var (
	// ErrLocked (ELOCKED): the lock is held (P8). The process that holds it may be this one.
	ErrLocked error = engine.ErrLocked
	// ErrNotAcquired (ENOTACQUIRED): this process holds no lock of the file (P16).
	ErrNotAcquired error = engine.ErrNotAcquired
	// ErrReleased (ERELEASED): the lock was released before, or lost (P15). If it was lost,
	// the error matches ErrCompromised too.
	ErrReleased error = engine.ErrReleased
	// ErrCompromised (ECOMPROMISED): the lock was lost (P13). Where a failed call showed
	// that, the error has that call's text and everything else, and unwraps to it.
	ErrCompromised error = engine.ErrCompromised
	// ErrSyncRetries (ESYNC): a synchronous call was given retries (P18).
	ErrSyncRetries error = engine.ErrSyncRetries
)

// A Contract is the version of proper-lockfile whose behaviour is mirrored.
type Contract uint8

const (
	// V4 is version 4.1.2, which nearly every program uses today. Its heartbeat looks
	// whether the directory is still its own.
	V4 = Contract(engine.V4)
	// V1 is version 1.2.0. On disk it is the same protocol; its heartbeat touches what is
	// there, and it knows neither LockfilePath nor MaxRetryTime.
	V1 = Contract(engine.V1)
)

// Options are Node's options. The zero value is Node's default: one attempt, stale
// after 10 s, renewed every 5 s. Durations may be of any length. Node counts in whole
// milliseconds: its timers cut fractions off.
//
// A duration between 0 and 1 ms is refused with [nodeerror.ErrOutOfRange], here and in
// [Retries]: it is a number of milliseconds that was not converted. Node's stale: 60000 is
// 60000 * time.Millisecond.
type Options struct {
	// Stale is how old the mtime of a lock must be for the lock to be taken over (P6): a
	// lock is stale when it is older. 0: 10 s. Anything less than 2 s is 2 s, so for Node's
	// 0 or null write -1 (P3). All participants should have the same.
	Stale time.Duration
	// Update is how long after one heartbeat the next one follows. 0: half of Stale. It is
	// held within 1 s and half of Stale, so for Node's 0 write -1 (P3).
	Update time.Duration
	// Retries is for Lock: whether and when it tries again (P9). The zero value: it does not.
	Retries Retries
	// NoRealpath is Node's realpath: false. The file need not exist, and is only made
	// absolute; links to it are not followed (P2).
	NoRealpath bool
	// FS makes the system calls; nil: the system's (P19). What NoRealpath needs comes from
	// the system all the same.
	FS FS
	// OnCompromised is called, once, when the lock is lost, with the error that [Lease.Err]
	// returns (P13). It is called in a goroutine of its own, after Done has been closed;
	// a panic in it ends the process, which [Throw] does. nil: nothing is called.
	OnCompromised func(error)
	// LockfilePath is the lock's directory; "": the file's name with ".lock" after it (P1).
	// It is used as given: a relative one means the working directory at the time of each
	// call and heartbeat. V1 knows no LockfilePath and ignores it.
	LockfilePath string
	// Contract is the version that is mirrored.
	Contract Contract
}

// Retries is a schedule: the options of the npm package retry. In the zero value there
// are no retries. As soon as one field is set, those that are 0 have the package's
// defaults, so Retries{Count: 3} waits 1 s, 2 s and 4 s, as Node's retries: 3 does, and
// Retries{MaxTimeout: time.Minute} tries ten more times, as retries: {maxTimeout: 60000}
// does (P9).
//
// The timeouts are random * MinTimeout * Factor^i, rounded to whole milliseconds,
// capped by MaxTimeout, and sorted; random is 1, or with Randomize from 1 to 2.
type Retries struct {
	// Count is how many more attempts follow the first. 0: 10, unless all of Retries is
	// zero; negative: none.
	Count int
	// Factor is from one timeout to the next; 0: 2. For Node's 0 write a tiny one.
	Factor float64
	// MinTimeout is the first timeout; 0: 1 s. A negative one is no pause (1 ms), as
	// Node's 0 is. MaxTimeout caps them all; 0: nothing does.
	MinTimeout, MaxTimeout time.Duration
	// Randomize spreads the timeouts.
	Randomize bool
	// Forever starts the list over at its end, which has at least one timeout then.
	Forever bool
	// MaxRetryTime ends it all with the first attempt that fails so long after the first
	// one began, by the wall clock; 0: nothing does. V1 knows no MaxRetryTime and ignores
	// it.
	MaxRetryTime time.Duration
}

// engine returns the options as the engine has them, or what is wrong with them.
func (o *Options) engine() (*engine.Options, error) {
	options := &engine.Options{
		Stale: o.Stale, Update: o.Update, Retries: retry.Options(o.Retries), NoRealpath: o.NoRealpath, FS: o.FS,
		OnCompromised: o.OnCompromised, LockfilePath: o.LockfilePath, Contract: engine.Contract(o.Contract),
	}
	return options, options.Check()
}

// An FS makes the calls that the protocol needs (P19). Functions of the packages os and
// path/filepath fit, as far as they go: os.Mkdir, os.Stat, os.Chtimes.
//
// Errors may be of any kind. One that has a [syscall.Errno] in its chain gets Node's
// code for it; else one that is fs.ErrExist, fs.ErrNotExist or fs.ErrPermission gets
// EEXIST, ENOENT or EACCES, which the protocol goes by; an [*Error] keeps its code; any
// other has no code and its own text. A method that panics has failed.
//
// Methods are called from several goroutines at once, also by heartbeats and at exit.
// An FS that is a pointer, or something else that can be compared, is probed for the
// precision of its file times once (P10), so one FS is for one filesystem.
type FS interface {
	// Mkdir makes a directory, or fails with EEXIST if anything is there. Perm is 0777.
	Mkdir(name string, perm fs.FileMode) error
	// Rmdir removes an empty directory, and nothing else: os.Remove removes files too.
	Rmdir(name string) error
	// Stat describes what is there, following links. Only the ModTime counts.
	Stat(name string) (fs.FileInfo, error)
	// Utimes sets the times of what is there, following links. Both are the same, and
	// cut to microseconds as Node does it.
	Utimes(name string, atime, mtime time.Time) error
	// Realpath returns an absolute path without links, or fails if nothing is there.
	Realpath(name string) (string, error)
}

// Lock locks file (P1 to P10).
//
// When the error is nil, the lock's directory was made by this call, and is renewed until
// the lease is released or lost. The caller owes a [Lease.Release].
//
// A lock that is stale is removed first and made anew (P7). If the lock is held, the error
// is [ErrLocked]. Any other error of a system call is returned as it is (P4, P5). After
// any of these o.Retries may ask for another attempt; if all fail, the error is the one
// that came most often, going by its text, and of several the later one (P9). An error of
// resolving file is returned at once.
//
// If ctx ends while Lock waits between two attempts, it returns the context's cause at
// once and has left no lock. A ctx that has ended before leaves everything untouched.
// Lock does not look at ctx while it is not waiting: an error that is nil means a lock
// that is held, whatever became of ctx.
//
// With [V4] the first lock of an FS leaves an mtime up to 1.005 s in the future (P10).
//
// Which of several participants that wait gets the lock is not specified.
func Lock(ctx context.Context, file string, o Options) (*Lease, error) {
	options, err := o.engine()
	if err != nil {
		return nil, err
	}
	return leaseOf(process.Lock(ctx, file, options))
}

// LockSync is Lock with one attempt (P18). If o.Retries ask for any retry, the error is
// [ErrSyncRetries] and nothing has been touched. With [V4] it finds out the precision of
// file times each time, so that the mtime it leaves is up to 1.005 s in the future (P10).
func LockSync(file string, o Options) (*Lease, error) {
	options, err := o.engine()
	if err != nil {
		return nil, err
	}
	return leaseOf(process.LockSync(file, options))
}

func leaseOf(l *engine.Lease, err error) (*Lease, error) {
	if err != nil {
		return nil, err
	}
	return &Lease{l}, nil
}

// Unlock releases the lock that this process holds of file (P16).
//
// When the error is nil, the directory was removed or was not there. If the file cannot be
// resolved, by now perhaps because it was deleted, that error is returned and the lock
// is held as before: use [Lease.Release]. If this process holds no lock of it, the error
// is [ErrNotAcquired]. After any other error, that of removing the directory, the lock is
// held no more and not renewed, and the directory is there still (P14).
//
// Of o it looks at NoRealpath, FS, LockfilePath and Contract. The first and the last must
// be as they were for the lock. The directory that is removed is the one that the options
// here say, not the one that was made: LockfilePath must be given again.
func Unlock(file string, o Options) error {
	options, err := o.engine()
	if err != nil {
		return err
	}
	return process.Unlock(file, options)
}

// UnlockSync is Unlock. With [V4], if o.Retries ask for any retry, the error is
// [ErrSyncRetries] (P18).
func UnlockSync(file string, o Options) error {
	options, err := o.engine()
	if err != nil {
		return err
	}
	return process.UnlockSync(file, options)
}

// Check reports whether anybody holds the lock of file: whether the lock is there and not
// stale (P17). When the error is nil, the answer was true at some point during the call.
// That there is no lock is no error; that there is no file is one, unless NoRealpath is
// set.
//
// Of o it looks at Stale, NoRealpath, FS, LockfilePath and Contract.
func Check(file string, o Options) (bool, error) {
	options, err := o.engine()
	if err != nil {
		return false, err
	}
	return process.Check(file, options)
}

// CheckSync is Check. With [V4], if o.Retries ask for any retry, the error is
// [ErrSyncRetries] (P18).
func CheckSync(file string, o Options) (bool, error) {
	options, err := o.engine()
	if err != nil {
		return false, err
	}
	return process.CheckSync(file, options)
}

// A Lease is a lock that is held: what [Lock], [LockSync] and [Mutex.Lock] return. Its
// methods can be called from several goroutines at once.
type Lease struct{ lease held }

// held is what the engines' leases are.
type held interface {
	lease.Lease
	File() string
	Guarded() bool
	WatchError() error
}

// Release gives the lock back (P14). It can be called more than once, and belongs into a
// defer: when it has succeeded, every further call returns [ErrReleased] and does nothing.
//
// For a lease of [Lock] or [LockSync], when the error is nil, the directory was removed, no
// matter which program had made it, or was not there. Nothing is called or touched for this
// lease afterwards: OnCompromised is not called when Release has begun, unless the call has
// begun before. If the lock was lost before, the error matches ErrReleased, as in Node
// (P15), and [ErrCompromised]; nothing on disk has been touched.
//
// For a lease of a [Mutex] it removes the directory only if it still is this lock. When the
// error is nil, the lock was held until now. If it was lost, the error is
// [ErrCompromised], and nothing on disk has been touched.
//
// After any other error the lock is on disk, or was removed by a call that failed all the
// same. The lease is over, and the lock is not renewed any more. Call Release again to try
// again: it spares the lock if another participant has taken it over meanwhile. [Cleanup]
// tries again too. If neither is done, the next [Mutex] takes the lock of a Mutex over: at
// once where it can tell that nobody holds it, else when it is stale.
//
// If two locks of one file are held in this process by [Lock], a release of either ends the
// later one, whose directory is not renewed any more and stays if it is another.
func (l *Lease) Release() error { return l.lease.Release() }

// Done returns a channel that is closed when the lock was lost, or has been released. A
// loss is found out by the heartbeat.
func (l *Lease) Done() <-chan struct{} { return l.lease.Done() }

// Err returns nil while the lock is held, as far as this process knows. Then it returns
// [ErrReleased], or an error that says how the lock was lost and matches [ErrCompromised].
func (l *Lease) Err() error { return l.lease.Err() }

// Context returns a context for what is done under the lock. It ends when Done is closed,
// with the cause that Err returns, and when the context ends that the lock was taken with.
func (l *Lease) Context() context.Context { return l.lease.Context() }

// File returns the file that is locked, as it was resolved (P2).
func (l *Lease) File() string { return l.lease.File() }

// Path returns the lock's directory (P1).
func (l *Lease) Path() string { return l.lease.Path() }

// Reclaimed reports whether the lock was taken over, because it was stale or its holder
// dead. What it protects may have been left half done.
func (l *Lease) Reclaimed() bool { return l.lease.Reclaimed() }

// Guarded reports whether the directory that the lock is in was guarded against every
// process of this machine when it was tried last: see the table at [Mutex]. Else the
// promises of Mutex about takeover do not hold. A lease of [Lock] or [LockSync] has no guard.
func (l *Lease) Guarded() bool { return l.lease.Guarded() }

// WatchError returns why the call that took the lock could not watch the one that was in
// its way, so that it polled. It is nil if it could, if nothing was in its way, and with
// MutexOptions.NoWatch. A lease of [Lock] or [LockSync] watches nothing.
func (l *Lease) WatchError() error { return l.lease.WatchError() }

// String returns the path and the state of the lease, for messages.
func (l *Lease) String() string { return lease.String(l.lease) }

// Throw is Node's default for OnCompromised: it panics with the error, which ends the
// process, since no caller can recover in the goroutine that it is called in (P13).
func Throw(err error) { panic(err) }

// Cleanup removes the directories of all locks that are held, in the order in which they
// were made, ignores errors, and ends the leases with [ErrReleased] (P20). Those of a
// [Mutex] are removed if they still are its own. Cleanup gives up after 2 s. Call it before
// os.Exit and at the end of main.
func Cleanup() { exithook.Clean(process, mutexes) }

// CleanupOnSignals has the process remove its locks and die when one of the signals
// arrives (P20). It is for main, and not for libraries: a program that has not called it
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
