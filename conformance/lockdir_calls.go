package conformance

import (
	"encoding/binary"
	"slices"
	"strconv"

	"github.com/seed-c461eb89/nodelock/internal/filesystem"
	"github.com/seed-c461eb89/nodelock/internal/sim"
)

// What only lockdir asks of the world.

// A machine is the state of what [Machine] describes.
type machine struct {
	triggers  []int // calls counted, by world event
	processes map[int]string
	drawn     uint64 // random numbers
	fractions int
	// contents is what is in files that have something in them, by their ID.
	contents map[uint32][]byte
}

func (w *World) prepareMachine() {
	w.triggers = make([]int, len(w.scenario.World))
	w.processes = map[int]string{}
	w.contents = map[uint32][]byte{}
	if w.scenario.Machine != nil {
		for pid, state := range w.scenario.Machine.Processes {
			n, _ := strconv.Atoi(pid) // it was checked before
			w.processes[n] = state
		}
	}
	for path, spec := range w.scenario.Files {
		if at, code := w.files.Find(path, false); code == "" {
			w.setContent(at.Node, contentOf(spec.Content, spec.Size))
		}
	}
}

func (w *World) setContent(node int32, data []byte) {
	w.contents[w.files.Nodes[node].ID] = data
}

// shownContent is up to how many bytes a recording has of what is in a file.
const shownContent = 1000

// showContents adds what is in the files to a recording.
func (w *World) showContents(disk map[string]DiskFile) {
	w.files.All(func(path string, _ sim.Entry, node *sim.Node) {
		if data := w.contents[node.ID]; len(data) <= shownContent {
			entry := disk[path]
			entry.Content = string(data)
			disk[path] = entry
		}
	})
}

// happenOn makes the events happen that wait for this call.
func (w *World) happenOn(name, path, dest string, after bool) {
	for i := range w.scenario.World {
		e := &w.scenario.World[i]
		on := e.On
		if on == nil || on.After != after || on.Syscall != name ||
			on.Path != "" && !samePath(on.Path, path) && !(dest != "" && samePath(on.Path, dest)) {
			continue
		}
		w.triggers[i]++
		if w.triggers[i] == max(on.Call, 1) {
			w.happen(e)
		}
	}
}

// OpenTruncate opens a file for writing, creating it or cutting it off. It does not
// follow a symlink.
func (w *World) OpenTruncate(path string) (Handle, error) {
	return w.openFile(path, "w", func(path string) (Handle, string) {
		at, code := w.files.Walk(path, false)
		switch {
		case code != "":
			return 0, code
		case at.Node == sim.None:
			return w.files.OpenExclusive(path)
		}
		switch w.files.Nodes[at.Node].Kind {
		case filesystem.Symlink:
			return 0, "ELOOP"
		case filesystem.Directory:
			return 0, "EISDIR"
		}
		w.setContent(at.Node, nil)
		w.files.SetTimes(at.Node, w.files.Now, w.files.Now)
		return w.files.OpenRead(path)
	})
}

// OpenNoFollow opens a file for reading. It does not follow a symlink.
func (w *World) OpenNoFollow(path string) (Handle, error) {
	return w.openFile(path, "nofollow", func(path string) (Handle, string) {
		at, code := w.files.Find(path, false)
		if code == "" && w.files.Nodes[at.Node].Kind == filesystem.Symlink {
			code = "ELOOP"
		}
		if code != "" {
			return 0, code
		}
		return w.files.OpenRead(path)
	})
}

// Write appends data to an open file.
func (w *World) Write(h Handle, data []byte) error {
	return w.call("write", []any{len(data)}, w.pathOf(h), "", func() *failure {
		o := w.files.Open(h)
		if o == nil {
			return failed("EBADF")
		}
		id := w.files.Nodes[o.Node].ID
		w.contents[id] = slices.Concat(w.contents[id], data)
		w.files.SetTimes(o.Node, w.files.Now, w.files.Now)
		return nil
	})
}

// Read returns what is in an open file, up to limit bytes.
func (w *World) Read(h Handle, limit int) (data []byte, err error) {
	err = w.call("read", nil, w.pathOf(h), "", func() *failure {
		o := w.files.Open(h)
		if o == nil {
			return failed("EBADF")
		}
		data = w.contents[w.files.Nodes[o.Node].ID]
		data = data[:min(len(data), limit)]
		return nil
	})
	return data, err
}

// RenameNoReplace renames a file unless there is something at the new name.
func (w *World) RenameNoReplace(from, to string) error {
	return w.call("renameNoReplace", []any{relative(from), relative(to)}, from, to, func() *failure {
		return failed(w.files.RenameNoReplace(from, to))
	})
}

// Kill fails as kill(pid, 0) does.
func (w *World) Kill(pid int) error {
	return w.call("kill", []any{pid}, strconv.Itoa(pid), "", func() *failure {
		switch state := w.processes[pid]; {
		case pid == w.scenario.Machine.Pid || state == "running":
			return nil
		case state == "foreign":
			return failed("EPERM")
		}
		return failed("ESRCH")
	})
}

// Hostname returns the machine's name. Like the three below it is not a call that a trace
// shows.
func (w *World) Hostname() (string, error) { return w.scenario.Machine.Hostname, nil }

// Pid returns the program's number.
func (w *World) Pid() int { return w.scenario.Machine.Pid }

// Random fills p with a number that is one greater each time, from 1.
func (w *World) Random(p []byte) {
	w.drawn++
	var number [8]byte
	binary.BigEndian.PutUint64(number[:], w.drawn)
	clear(p)
	n := min(len(p), len(number))
	copy(p[len(p)-n:], number[len(number)-n:])
}

// Fraction returns the next of the machine's fractions.
func (w *World) Fraction() float64 {
	random := w.scenario.Machine.Random
	f := random[min(w.fractions, len(random)-1)]
	w.fractions++
	return f
}
