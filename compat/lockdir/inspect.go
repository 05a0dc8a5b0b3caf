package lockdir

import (
	"time"

	engine "github.com/seed-c461eb89/nodelock/internal/lockdir"
)

// A State is what [Inspect] found at the path of a lock directory.
type State struct {
	// Path is the absolute path of the lock directory.
	Path string
	// Exists reports whether there is a directory. If not, the lock is free, and the fields
	// below are zero.
	Exists bool
	// Stale reports whether the next participant would find that no process holds the lock: no
	// record is fresh (§3), none went away during the look, and Incoming is not set. What it
	// takes over then is a directory that was left behind. If there is a directory in it, it
	// is never taken over.
	Stale bool
	// Incoming reports whether another participant may be making the directory, or judging a
	// record in it (C2). It is over after 5 s without changes.
	Incoming bool
	// Records are the regular files with a record's name, sorted by name. Normally there is one.
	Records []Record
	// Others are the names of everything else in the directory, sorted. They are as they are
	// on disk, and are to be escaped before they are printed.
	Others []string
}

// A Record is a record in a lock directory. Its strings are as they are on disk, and are to be
// escaped before they are printed.
type Record struct {
	// Name is the name of the file.
	Name string
	// Renewed is the last heartbeat, to whole milliseconds.
	Renewed time.Time
	// Age is the time since Renewed by this machine's clock. It is negative if Renewed is in
	// the future.
	Age time.Duration
	// Stale reports whether the record is abandoned (§3).
	Stale bool
	// Gone reports whether the record names this host, and a process that is not there.
	Gone bool
	// Pid and Hostname are the process and the host that the record names, and 0 and "" if it
	// names none, or cannot be read.
	Pid      int
	Hostname string
	// Target is the file that is locked, and CreatedAt when the lock was taken, as the record
	// says it; "" if it does not.
	Target, CreatedAt string
}

// Inspect looks at the lock directory dir once. It changes nothing, not even what a killed
// process has left beside it, and follows no link at dir or in it. Of o it looks at Stale,
// Incoming and Hostname.
//
// When the error is nil, State is what one look found. It may have changed since, and
// entries that change during the look may be missing. A lock that is not there is no error.
//
// If there is something else than a directory at dir, the error's code is ENOTDIR. An empty
// path matches [nodeerror.ErrInvalidArgument], and options that are out of range match
// [nodeerror.ErrOutOfRange]. Any other error is the system's. A record that cannot be read
// is no error: it is judged by its age. A filesystem that hangs makes Inspect hang. It can be
// called from several goroutines at once.
func Inspect(dir string, o Options) (State, error) {
	found, err := process.Inspect(dir, engine.Options(o))
	s := State{Path: found.Path, Exists: found.Exists, Stale: found.Stale, Incoming: found.Incoming, Others: found.Others}
	for _, r := range found.Records {
		s.Records = append(s.Records, Record(r))
	}
	return s, err
}
