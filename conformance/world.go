package conformance

import (
	"cmp"
	"errors"
	"runtime"
	"slices"
	"strconv"

	"github.com/seed-c461eb89/nodelock/internal/sim"
)

// maxEvents ends a run that spins. The longest honest recording has a few thousand
// events.
const maxEvents = 1_000_000

// A World is the virtual world of one run: a wall clock, timers, a filesystem, and
// an event loop that runs one thing at a time. A program under test gets its time
// and its files from here, from goroutines that the world started: those in which
// [Program].Call runs, and those of timers.
//
// A goroutine that makes an asynchronous call, or waits, hands over to the world
// and goes on when the event comes that the call's completion is. In a step whose
// call is a synchronous form, and in the timers that it set, calls return at once.
type World struct {
	scenario *Scenario
	system   sim.System
	files    *sim.Tree
	filesErr error // what is wrong with the files that the scenario lists
	machine  machine
	faults   []int // calls counted, by fault
	triggers []int // and by world event

	now      int64    // virtual ms
	wall     int64    // the wall clock, in ms since 1970
	queue    []*event // in order
	sequence int
	tasks    sim.Scheduler
	timers   map[*sim.Timer]*event

	program  Program
	trace    []Event
	results  []Result
	nextStep int
	waiting  bool // the next step's own event is in the queue
	done     bool
}

type eventKind int

const (
	worldEvent eventKind = iota
	ready
	stepStart
)

type event struct {
	due      int64
	kind     eventKind
	sequence int
	run      func()
	stopped  bool
}

// compare orders events by rule 2 of FORMAT.md.
func (e *event) compare(f *event) int {
	return cmp.Or(cmp.Compare(e.due, f.due), cmp.Compare(e.kind, f.kind), cmp.Compare(e.sequence, f.sequence))
}

func newWorld(s *Scenario) *World {
	w := &World{
		scenario: s,
		machine:  newMachine(s.Machine),
		faults:   make([]int, len(s.Faults)),
		triggers: make([]int, len(s.World)),
		wall:     s.Epoch,
		timers:   map[*sim.Timer]*event{},
	}
	w.system.Do = w.do
	if w.files, w.filesErr = newFiles(s); w.filesErr == nil {
		fill(w.files, s)
	}
	for i := range s.World {
		if e := &s.World[i]; e.On == nil {
			w.schedule(e.At, worldEvent, func() { w.happen(e) })
		}
	}
	return w
}

func (w *World) schedule(due int64, kind eventKind, run func()) *event {
	e := &event{due: due, kind: kind, sequence: w.sequence, run: run}
	w.sequence++
	at, _ := slices.BinarySearchFunc(w.queue, e, (*event).compare)
	w.queue = slices.Insert(w.queue, at, e)
	return e
}

// next takes the next event that is due by the horizon.
func (w *World) next() *event {
	for len(w.queue) > 0 {
		e := w.queue[0]
		if e.due > w.scenario.Until {
			return nil
		}
		if w.queue = w.queue[1:]; !e.stopped {
			return e
		}
	}
	return nil
}

func (w *World) run() {
	for len(w.queue) > 0 && w.queue[0].kind == worldEvent && w.queue[0].due == 0 {
		w.next().run()
	}
	for w.goesOn() {
		w.startSteps()
		if !w.goesOn() {
			return
		}
		e := w.next()
		if e == nil {
			return
		}
		if e.due > w.now {
			w.set(w.wall + e.due - w.now)
			w.now = e.due
		}
		e.run()
	}
}

func (w *World) goesOn() bool { return !w.done && w.tasks.Err == nil }

// set sets the wall clock.
func (w *World) set(wall int64) {
	w.wall = wall
	w.files.Now = wall * 1e6
}

// happen is what another participant does. What fails is skipped.
func (w *World) happen(e *WorldEvent) {
	switch e.Do {
	case "create":
		data := contentOf(e.Content, 0)
		if e.Type == "symlink" {
			data = e.To
		}
		w.files.Create(e.Path, kinds[e.Type], data)
	case "touch":
		if at, code := w.files.Find(e.Path, true); code == "" {
			w.files.SetTimes(at.Node, (w.wall+e.Skew)*1e6, w.files.Now)
		}
	case "jump":
		w.set(w.wall + e.By)
	case "exit":
		delete(w.machine.processes, strconv.Itoa(e.Pid))
	default:
		// It is called what the call is.
		op, _ := sim.Find(e.Do, "")
		w.files.Perform(&sim.Call{Op: op, Path: e.Path, Dest: e.To})
	}
}

// happenOn makes the events happen that wait for a call.
func (w *World) happenOn(name, path, dest string, after bool) {
	for i := range w.scenario.World {
		e := &w.scenario.World[i]
		if e.On == nil || e.On.After != after || !matches(e.On.Syscall, e.On.Path, name, path, dest) {
			continue
		}
		w.triggers[i]++
		if w.triggers[i] == max(e.On.Call, 1) {
			w.happen(e)
		}
	}
}

// start runs f as a task until it waits or ends.
func (w *World) start(sync bool, f func()) {
	t := w.tasks.Start(f)
	t.Sync = sync
	w.resume(t)
}

func (w *World) resume(t *sim.Task) { w.tasks.Resume(t, sim.Answer{}) }

func (w *World) record(e Event) {
	e.T = w.now
	w.trace = append(w.trace, e)
	if len(w.trace) > maxEvents && w.tasks.Err == nil {
		w.tasks.Err = errors.New("the run does not end: more than a million events")
	}
	if w.tasks.Err != nil {
		runtime.Goexit()
	}
}
