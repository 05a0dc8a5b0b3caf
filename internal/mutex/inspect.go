package mutex

import (
	"time"

	"github.com/seed-c461eb89/nodelock/compat/nodeerror"
	"github.com/seed-c461eb89/nodelock/internal/nodetime"
)

// A State is what Inspect found at the path of a lock.
type State struct {
	// Path is absolute.
	Path string
	// Exists: there is a lock.
	Exists bool
	// Stale: its age is beyond the threshold.
	Stale bool
	// Age is the time since Renewed by this machine's clock. It is negative for a time in the
	// future.
	Age time.Duration
	// Renewed is the file time that the age is counted from.
	Renewed time.Time
	// Holder is the number of the process that the note names; 0: there is no note.
	Holder int
}

// Inspect looks at the lock once. It makes one lstat, opens nothing and follows no link at
// the path. The note is only read: whether its process is alive is asked by a flock, which
// would be in the way of others for a moment.
func (m *Mutex) Inspect() (State, error) {
	if m.err != nil {
		return State{}, m.err
	}
	files := m.engine.filesystem
	path, _, err := m.target.locate(files)
	if err != nil {
		return State{}, err
	}
	state := State{Path: path}
	stat, _, err := files.LstatIdentity(path)
	switch {
	case nodeerror.Code(err) == "ENOENT":
		return state, nil
	case err != nil:
		return state, err
	}
	if err := m.target.wrong(path, stat); err != nil {
		return state, err
	}
	state.Exists = true
	state.Renewed = m.target.filetime(stat)
	state.Age = m.engine.since(nodetime.Milliseconds(state.Renewed))
	state.Stale = m.options.Stale > 0 && state.Age > m.options.Stale
	state.Holder = noteOf(stat)
	return state, nil
}
