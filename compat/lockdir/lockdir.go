// Package lockdir locks as the PALEE CLI does under its decision record ADR-0036: a Go
// program can lock and write beside a PALEE CLI on the same vault. The lock of a file is
// a directory in <vault>/.palee/locks, and whoever holds it has a record in there, a JSON
// file that he touches every 15 s.
//
// No package of PALEE with ADR-0036 was at hand. What is here follows its contract, which
// was written from the version before the record, the record itself, and measurements;
// and so do the scenarios in testdata/lockdir, which are no recordings.
//
// # Limits
//
//   - The lock is advisory and cooperative. It keeps out those who ask for it, and
//     nobody else.
//   - Two can hold one lock (W1). PALEE makes its directory and then writes its record,
//     and one that stops for more than 5 s in between may write it into the directory of
//     somebody else, and never looks. Nothing that is done here can prevent that. It can
//     be seen: call [Lease.Verify] before what must not be done twice. Of participants
//     that use this package at most one holds the lock, as long as none of the limits
//     below takes it from him. (Tests play all the schedules of two participants, of
//     both kinds, in which they are interrupted up to three times, and for 6 s.)
//   - A holder that is not heard of for 120 s (60 s on Windows) loses the lock, although he
//     may be alive (W6): a process that is stopped, a machine that sleeps, a disk that
//     hangs. He learns of it at his next heartbeat, that is up to 16 s after he goes on.
//     A participant on Windows takes a lock from one elsewhere after half of that
//     one's time.
//   - Ages are this machine's clock against file times, which on a network filesystem are
//     a server's (W5). Clocks that differ by more than the stale time make live locks look
//     abandoned; set [Options.Stale] to more than they can differ.
//   - A process that is not there proves that the lock is abandoned if its host has the
//     same name as this one, and the name is all that tells (W7). Containers that share a
//     vault and a host name take each other's locks at once, unless each sets
//     [Options.Hostname] to a name of its own.
//   - The number of a process that is gone may be given to another one. The lock is then
//     taken after the stale time and no sooner.
//   - If a participant dies while he judges somebody's record, the record stays aside,
//     and 5 s later is removed, whosever it is (W3). If he puts it back too late, after its
//     holder has gone, it keeps everybody out until it is stale (W2): that takes more than
//     1 s, which heartbeats and releases here wait.
//   - On filesystems where one file has several spellings, each has a lock of its own
//     (W8): names are not folded, and not normalised. Use the spelling that PALEE is
//     given.
//   - Between the check that <vault>/.palee/locks is in the vault and what is done there,
//     somebody may put a link in the way. The directory must not be writable for those
//     whom you would not let write elsewhere either.
//   - Records are not removed when the process ends without Release, by a signal or
//     otherwise. Participants on the same host take the lock over at once all the same.
//   - A process that is killed while it makes its lock directory may leave a directory
//     <name>.lockdir.L-… beside it, which keeps nobody from anything. [New] for the same
//     lock removes it when its maker is known to be dead, or it is as old as makes a record
//     stale.
//   - Where a directory that somebody has open cannot be removed at once, as on older
//     Windows, a release may leave it empty, and it looks like an incoming process for 5 s.
//
// # Bounds
//
// One [Lock.Acquire] ends within bounds that do not depend on what others do, or on what
// the system answers. With the default options, and n names in the directory at most:
//
//	                         Unix   Windows
//	rounds                     20        20
//	parks                       5       105
//	parked, in ms           1,035    21,735   (a busy wait: never)
//	rmdir of the directory     21       121
//	all unlink and rmdir   63+20n   163+20n
//	renames                20+60n    20+60n
//
// Nothing is ever removed recursively. A test searches all that every system call can
// answer, and finds these numbers reached and none exceeded. With other options the
// rounds are Options.Rounds, and the parks Options.Retries, on Windows with Rounds ×
// RemoveRetries more; none is longer than BackoffLimit. What one system call takes is
// up to the system.
//
// # Participants
//
// Locks are not reentrant: the same process contends like another. All functions and
// methods can be called from several goroutines at once. What a goroutine does before it
// releases a [Lock] happens before what another does after it has taken the same Lock;
// between two Locks of one file there is no such order for the memory of a process. A call
// that waits is a parked goroutine and a timer; a lock that is held is a timer and no
// goroutine.
//
// Paths may be relative to the working directory, which is asked for once, in New. They
// must be UTF-8 (Node would replace what is not), and not empty.
//
// # Errors
//
// Errors are [*Error]. A conflict has the code ECONFLICT and a text that begins with
// "Lock conflict: "; errors.Is tells the cases apart, see [ErrHeld] and what follows it.
// What the system refuses comes as it is, in Node's words, and matches
// [io/fs.ErrPermission] and its like. [ExitCode] is PALEE's. Names from disk are escaped
// in texts: control characters and bytes that are not UTF-8 as \xNN, so that no two names
// look the same.
//
// The sections in this documentation (§4 and so on) are those of the contract in
// conformance/contracts/lockdir.md, and W1 to W8 are weak spots that it names. "go run
// ./conformance/conform" shows how many scenarios there are for each.
package lockdir

import (
	"context"
	"os"

	"github.com/seed-c461eb89/nodelock/internal/clock"
	"github.com/seed-c461eb89/nodelock/internal/exithook"
	"github.com/seed-c461eb89/nodelock/internal/filesystem"
	"github.com/seed-c461eb89/nodelock/internal/host"
	"github.com/seed-c461eb89/nodelock/internal/lease"
	engine "github.com/seed-c461eb89/nodelock/internal/lockdir"
)

// A Lock is something that can be locked. It knows where its lock directory is, holds
// nothing, and can be used any number of times.
type Lock struct{ lock *engine.Lock }

// process has the locks of this process.
var process = engine.New(filesystem.OS{}, clock.System{}, host.System{}, engine.System(), &exithook.Process)

// New returns the lock of the file target in a vault (§1). The file need not exist.
//
// When the error is nil, <vault>/.palee/locks exists, having been created with the vault
// itself if need be. It is in the vault: that is made sure of before anything is created,
// and if it is not so, because .palee or locks is a link that leads elsewhere or nowhere,
// the error is [ErrContainment]. A vault that is a link is what it leads to.
//
// Other participants find the same lock if they mean the same file: links are followed,
// of the vault and of target. Whether target is in the vault does not matter.
//
// New reads <vault>/.palee/locks once, to remove what processes have left there that were
// killed while they made this lock's directory.
func New(vault, target string, o Options) (*Lock, error) {
	lock, err := process.Vault(vault, target, engine.Options(o))
	if err != nil {
		return nil, err
	}
	return &Lock{lock}, nil
}

// NewDirectory returns the lock that is the directory dir, which is known to be the lock of
// target: for messages, and in records, it is called so. The name of dir must end in
// ".lockdir", because everything in it is removed before the lock is taken. Its parent
// must exist when it is. No containment is checked.
//
// NewDirectory reads the parent once, as New does.
func NewDirectory(dir, target string, o Options) (*Lock, error) {
	lock, err := process.Directory(dir, target, engine.Options(o))
	if err != nil {
		return nil, err
	}
	return &Lock{lock}, nil
}

// Dir returns the absolute path of the lock directory.
func (l *Lock) Dir() string { return l.lock.Dir() }

// Acquire makes one attempt to take the lock, which ends within the bounds above (§4). It
// does not wait for a holder: if there is one, it fails at once.
//
// When the error is nil, the directory has the caller's record in it and no other, and
// the heartbeat runs until the lease has ended. The lock is the caller's as far as the
// limits above go. The caller owes a call of [Lease.Release], and should stop what it does
// when [Lease.Done] is closed.
//
// When it is not nil, nothing is left behind that was created. It is
//
//   - a conflict ([ErrLocked]), if another participant holds the lock, or may be about
//     to, or the directory cannot be emptied;
//   - the cause of ctx's end, if that comes before the lock is taken and there is
//     anything to wait for. A call with a context that has ended does nothing;
//   - what the system refused. On Windows a directory that another process has open is
//     EPERM or EBUSY after five more attempts, and no conflict (§4.F).
//
// What others have left in the directory may be gone after a conflict, if it was stale. A
// nil ctx panics.
func (l *Lock) Acquire(ctx context.Context) (*Lease, error) {
	return leaseOf(l.lock.Acquire(ctx))
}

// AcquireWait repeats [Lock.Acquire] until it has the lock, or ctx ends, or something
// other than a conflict comes of it. So it waits for a holder, and it is this call, and not
// Acquire, that may take forever.
//
// Between two attempts it waits 50 ms, then twice as long each time up to
// [Options.WaitLimit], all with 25 % of jitter. It is not specified which of several
// participants that wait gets the lock.
//
// Of conflicts only [ErrDirectory] ends it, because waiting does not help. Otherwise the
// result is Acquire's. If ctx ends while it waits, the error is the last conflict and the
// cause, and matches both: so [ExitCode] is 4. It says how long was waited, and when the
// record of the holder was renewed last. Nothing is left behind.
func (l *Lock) AcquireWait(ctx context.Context) (*Lease, error) {
	return leaseOf(l.lock.AcquireWait(ctx))
}

// Do takes the lock as AcquireWait does, calls f, and releases the lock when f returns or
// panics. The context that f is given is [Lease.Context]: it ends when the lock is lost.
//
// The error is that of AcquireWait, or that of f. If the lock was lost, or could not be
// released, it also matches that error, even if f returned nil: a loss matches
// [ErrCompromised].
func (l *Lock) Do(ctx context.Context, f func(ctx context.Context) error) error {
	return l.lock.Do(ctx, f)
}

// A Lease is a lock that is held: what [Lock.Acquire] and [Lock.AcquireWait] return. It
// ends when it is released or lost. Its methods can be called from several goroutines at
// once.
type Lease struct{ lease *engine.Lease }

func leaseOf(l *engine.Lease, err error) (*Lease, error) {
	if err != nil {
		return nil, err
	}
	return &Lease{l}, nil
}

// ID returns the lock id: the name of the record without ".json".
func (l *Lease) ID() string { return l.lease.ID() }

// Path returns the absolute path of the lock directory.
func (l *Lease) Path() string { return l.lease.Path() }

// File returns the file that is locked, as New or NewDirectory was given it.
func (l *Lease) File() string { return l.lease.File() }

// Reclaimed reports whether a stale record was removed for the lock. What it protects may
// have been left half done.
func (l *Lease) Reclaimed() bool { return l.lease.Reclaimed() }

// Done returns a channel that is closed when the lease has ended.
//
// A loss is found out by the heartbeat, every 15 s and if the record is missing once more
// after 1 s, or by Verify (§5, W2).
func (l *Lease) Done() <-chan struct{} { return l.lease.Done() }

// Err returns nil while the lease lasts. Then it returns [ErrReleased], or an error that
// says how the lock was lost and matches [ErrCompromised].
func (l *Lease) Err() error { return l.lease.Err() }

// Context returns a context for what is done under the lock. It ends when Done is closed,
// with the cause that Err returns, and when the context ends that the lock was taken with.
func (l *Lease) Context() context.Context { return l.lease.Context() }

// String returns the path of the lock directory and the state of the lease, for messages.
func (l *Lease) String() string { return lease.String(l.lease) }

// Verify looks whether the lock is still held, and by no other participant (W1). Call it
// just before something that must not happen twice, such as the rename that replaces
// target.
//
// When the error is nil, the caller's record was in the directory during the call, and no
// other. What happens afterwards is unspecified.
//
// If there was another's record, the caller's is removed, because PALEE would not remove
// its own, and the lease has ended with the conflict that is the error ([ErrHeld]). If the
// caller's record was missing, and still was after 1 s, it has ended with
// [ErrCompromised]. With any other error, the cause of ctx's end among them, the lease
// goes on.
func (l *Lease) Verify(ctx context.Context) error { return l.lease.Verify(ctx) }

// Release gives the lock back: it removes the record, and the directory if nothing else
// is in it (§5). It never touches what is another's, and belongs into a defer: when it has
// succeeded, every further call returns [ErrReleased] and does nothing.
//
// When the error is nil, the lock was held until now, as far as its record shows. If it
// was lost, the error matches [ErrCompromised]. Any other error is the system's: the record
// could not be removed, which PALEE does not tell. It keeps others out until it is stale,
// or on the same host until this process ends; call Release again to try again.
//
// Release waits up to 1 s if another participant is just judging the record (W2).
func (l *Lease) Release() error { return l.lease.Release() }

// Cleanup removes the records of all locks that are held, in the order in which they were
// taken, and the directories if nothing else is in them. It ignores errors, and the leases
// end. It gives up after 2 s. Call it before os.Exit and at the end of main. (PALEE has
// nothing like it: a record that is left is removed by the next participant on this host.)
func Cleanup() { exithook.Clean(process) }

// CleanupOnSignals has the process remove its locks and die when one of the signals
// arrives. It is for main, and not for libraries: a program that has not called it keeps
// what signals do to it.
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
