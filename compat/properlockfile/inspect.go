package properlockfile

import (
	"time"

	"github.com/seed-c461eb89/nodelock/internal/mutex"
)

// A State is what [Inspect] found at the path of a lock.
type State struct {
	// Path is the absolute path of the lock's directory.
	Path string
	// Exists reports whether there is a lock. If not, the fields below are zero.
	Exists bool
	// Stale reports whether the lock is older than InspectOptions.Stale. It says nothing about
	// whether the holder is alive.
	Stale bool
	// Age is the time since Renewed by this machine's clock. It is negative if Renewed is in
	// the future.
	Age time.Duration
	// Renewed is the mtime of the lock: its last heartbeat.
	Renewed time.Time
	// Holder is the number of the process that has noted itself as the holder, and 0 if none
	// has. A [Mutex] does so where it can; a lock of Node's, and of [Lock], tells nothing. The
	// number is that of the holder's own PID namespace, and the process may have ended.
	Holder int
}

// InspectOptions are the options of [Inspect]. They mean what they mean in [MutexOptions].
type InspectOptions struct {
	// Stale is the age beyond which State.Stale is set. 0: 10 s. Anything less than 2 s is 2 s
	// (P3); a duration that is negative, or between 0 and 1 ms, is refused.
	Stale time.Duration
	// NoRealpath is as in [Options].
	NoRealpath bool
	// LockfilePath is the lock's directory; "": the file's name with ".lock" after it.
	LockfilePath string
}

// Inspect looks at the lock of a file once. It changes nothing, opens nothing, and does not
// follow a link at the path of the lock. Links that lead to the file are followed, as Lock
// follows them, unless NoRealpath is set.
//
// When the error is nil, State is what one look found. It may have changed since. A lock
// that is not there is no error. A file that is not there is, unless NoRealpath is set.
//
// If there is something else than a directory at the path of the lock, the error is
// [ErrNotLock]. Whether the directory is empty is not looked at. Options that are out of
// range are errors that match [nodeerror.ErrOutOfRange], and an empty path, or one that ends
// in a slash, matches [nodeerror.ErrInvalidArgument]. Any other error is the system's. A
// filesystem that hangs makes Inspect hang. It can be called from several goroutines at once.
func Inspect(file string, o InspectOptions) (State, error) {
	state, err := mutexes.ProperLockfileMutex(file, mutex.ProperLockfileOptions{
		Stale: o.Stale, NoRealpath: o.NoRealpath, LockfilePath: o.LockfilePath,
	}).Inspect()
	return State(state), err
}
