package lockfile

import (
	"time"

	"github.com/seed-c461eb89/nodelock/internal/mutex"
)

// A State is what [Inspect] found at the path of a lock.
type State struct {
	// Path is the absolute path of the lock.
	Path string
	// Exists reports whether there is a lock. If not, the fields below are zero.
	Exists bool
	// Stale reports whether the lock is older than InspectOptions.Stale. It says nothing about
	// whether the holder is alive.
	Stale bool
	// Age is the time since Renewed by this machine's clock. It is negative if Renewed is in
	// the future.
	Age time.Duration
	// Renewed is the file time that the age is counted from, as MutexOptions.Filetime says: when
	// the lock was made, or renewed by a [Mutex].
	Renewed time.Time
	// Holder is the number of the process that has noted itself as the holder, and 0 if none
	// has. A Mutex does so where it can; a lock of Node's, and of [Lock], tells nothing. The
	// number is that of the holder's own PID namespace, and the process may have ended.
	Holder int
}

// InspectOptions are the options of [Inspect]. They mean what they mean in [MutexOptions].
type InspectOptions struct {
	// Stale is the age beyond which State.Stale is set; 0: it never is. A duration that is
	// negative, or between 0 and 1 ms, is refused.
	Stale time.Duration
	// Filetime is the file time that the age is counted from; 0: the one that [SetFiletime]
	// has chosen.
	Filetime Filetime
}

// Inspect looks at the lock file path once. It changes nothing, opens nothing, and does not
// follow a link at the path.
//
// When the error is nil, State is what one look found. It may have changed since. A lock
// that is not there is no error.
//
// If there is something else than a lock at the path, such as a directory, a link or a file
// that has something in it, the error is [ErrNotLock]. Options that are out of range are
// errors that match [nodeerror.ErrOutOfRange], and an empty path, or one that ends in a
// slash, matches [nodeerror.ErrInvalidArgument]. Any other error is the system's. A
// filesystem that hangs makes Inspect hang. It can be called from several goroutines at
// once.
func Inspect(path string, o InspectOptions) (State, error) {
	state, err := mutexes.LockfileMutex(path, mutex.LockfileOptions{
		Stale: o.Stale, Filetime: uint8(o.Filetime), ByCtime: func() bool { return CurrentFiletime() == Ctime },
	}).Inspect()
	return State(state), err
}
