package lockdir

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/seed-c461eb89/nodelock/internal/filesystem"
)

// A State is what Inspect found at the path of a lock directory.
type State struct {
	Path string
	// Exists: there is a directory.
	Exists bool
	// Stale: the next participant would take the lock over.
	Stale bool
	// Incoming: another participant may be about to take it.
	Incoming bool
	// Records are what is in the directory by a record's name, sorted by name.
	Records []Record
	// Others are the names of everything else, sorted.
	Others []string
}

// A Record is a record in a lock directory.
type Record struct {
	Name    string
	Renewed time.Time
	// Age is the time since Renewed by this machine's clock.
	Age   time.Duration
	Stale bool
	// Gone: the record names this host and a process that is not there.
	Gone bool
	// What the record says; 0 and "" if it does not.
	Pid                         int
	Hostname, Target, CreatedAt string
}

// Inspect looks at the lock directory dir once. Of links it follows none in dir, nor dir.
func (e *Engine) Inspect(dir string, o Options) (State, error) {
	o, err := e.prepare(o, dir, "inspected")
	if err != nil {
		return State{}, err
	}
	if dir, err = e.filesystem.Resolve(dir); err != nil {
		return State{}, err
	}
	state := State{Path: dir}
	stat, err := e.filesystem.Lstat(dir)
	switch {
	case missing(err):
		return state, nil
	case err != nil:
		return state, err
	case stat.Type != filesystem.Directory:
		return state, notDirectory(dir)
	}
	names, err := e.filesystem.Readdir(dir)
	switch {
	case missing(err):
		return state, nil
	case err != nil:
		return state, err
	}
	slices.Sort(names)
	l := &Lock{Engine: e, options: o, dir: dir}
	state.Exists = true
	state.Incoming = l.incoming(names)
	state.Stale = !state.Incoming
	for _, name := range names {
		if !isRecordName(name) {
			state.Others = append(state.Others, name)
			continue
		}
		found, fields := e.readFields(dir, name)
		switch {
		case found.vanished:
			// Another participant has just removed it or moved it aside, and is at work here.
			state.Stale = false
			continue
		case found.kind != record:
			state.Others = append(state.Others, name)
			continue
		}
		r := l.describe(found, fields)
		state.Stale = state.Stale && r.Stale
		state.Records = append(state.Records, r)
	}
	return state, nil
}

// describe returns what a record says, and how it is judged.
func (l *Lock) describe(found entry, fields map[string]json.RawMessage) Record {
	r := Record{
		Name: found.name, Renewed: time.UnixMilli(found.mtime), Age: l.age(found.mtime),
		Stale: l.stale(found, found.mtime), Gone: l.gone(found), Pid: found.pid, Hostname: found.host,
	}
	_ = json.Unmarshal(fields["target"], &r.Target)
	_ = json.Unmarshal(fields["created_at"], &r.CreatedAt)
	return r
}
