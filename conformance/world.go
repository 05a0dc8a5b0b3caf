package conformance

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/seed-c461eb89/nodelock/internal/clock"
	"github.com/seed-c461eb89/nodelock/internal/filesystem"
	"github.com/seed-c461eb89/nodelock/internal/nodetime"
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
	files    *sim.Tree
	filesErr error // what is wrong with the files that the scenario lists
	faults   []int // calls counted, by fault
	failing  bool  // the call that is being performed will report an error

	now      int64 // virtual ms
	wall     int64 // the wall clock, in ms since 1970
	queue    eventQueue
	sequence int

	current *task
	tasks   map[*task]struct{}
	parked  chan struct{}
	closed  bool
	err     error

	program  Program
	trace    []Event
	results  []Result
	nextStep int
	waiting  bool // the next step's own event is in the queue
	done     bool

	machine // for lockdir only
}

// A task is a goroutine of the program. One at most runs at a time.
type task struct {
	resume chan struct{}
	sync   bool
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

// eventQueue is ordered by rule 2 of FORMAT.md.
type eventQueue []*event

func (q eventQueue) Len() int { return len(q) }
func (q eventQueue) Less(i, j int) bool {
	a, b := q[i], q[j]
	switch {
	case a.due != b.due:
		return a.due < b.due
	case a.kind != b.kind:
		return a.kind < b.kind
	}
	return a.sequence < b.sequence
}
func (q eventQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *eventQueue) Push(x any)   { *q = append(*q, x.(*event)) }
func (q *eventQueue) Pop() any {
	last := len(*q) - 1
	e := (*q)[last]
	*q = (*q)[:last]
	return e
}

func newWorld(s *Scenario) *World {
	w := &World{
		scenario: s,
		faults:   make([]int, len(s.Faults)),
		wall:     s.Epoch,
		tasks:    map[*task]struct{}{},
		parked:   make(chan struct{}),
	}
	w.files, w.filesErr = newFiles(s)
	w.prepareMachine()
	for i := range s.World {
		e := &s.World[i]
		if e.On != nil {
			continue
		}
		w.schedule(e.At, worldEvent, func() { w.happen(e) })
	}
	return w
}

func (w *World) schedule(due int64, kind eventKind, run func()) *event {
	e := &event{due: due, kind: kind, sequence: w.sequence, run: run}
	w.sequence++
	heap.Push(&w.queue, e)
	return e
}

// next takes the next event that is due by the horizon.
func (w *World) next() *event {
	for len(w.queue) > 0 {
		if w.queue[0].due > w.scenario.Until {
			return nil
		}
		if e := heap.Pop(&w.queue).(*event); !e.stopped {
			return e
		}
	}
	return nil
}

func (w *World) run() {
	for len(w.queue) > 0 && w.queue[0].kind == worldEvent && w.queue[0].due == 0 {
		w.next().run()
	}
	for !w.done && w.err == nil {
		w.startSteps()
		if w.done || w.err != nil {
			return
		}
		e := w.next()
		if e == nil {
			return
		}
		if e.due > w.now {
			w.wall += e.due - w.now
			w.now = e.due
			w.files.Now = w.wall * 1e6
		}
		e.run()
	}
}

// happen is what another participant does. What fails is skipped.
func (w *World) happen(e *WorldEvent) {
	switch e.Do {
	case "create":
		node, code := w.files.Create(e.Path, kinds[e.Type], e.To)
		if code == "" {
			w.setContent(node, contentOf(e.Content, 0))
		}
	case "mkdir":
		w.files.Create(e.Path, filesystem.Directory, "")
	case "unlink":
		w.files.Unlink(e.Path)
	case "rmdir":
		w.files.Rmdir(e.Path)
	case "rename":
		w.files.Rename(e.Path, e.To)
	case "touch":
		w.files.Utimes(e.Path, (w.wall+e.Skew)*1e6)
	case "jump":
		w.wall += e.By
		w.files.Now = w.wall * 1e6
	case "exit":
		delete(w.processes, e.Pid)
	}
}

// start runs f as a task until it waits or ends.
func (w *World) start(sync bool, f func()) {
	t := &task{resume: make(chan struct{}), sync: sync}
	w.tasks[t] = struct{}{}
	go func() {
		// Ends the task also when it is ended by runtime.Goexit.
		defer func() {
			if p := recover(); p != nil && w.err == nil {
				w.err = fmt.Errorf("the program panicked: %v\n%s", p, debug.Stack())
			}
			delete(w.tasks, t)
			w.parked <- struct{}{}
		}()
		<-t.resume
		if !w.closed {
			f()
		}
	}()
	w.resume(t)
}

func (w *World) resume(t *task) {
	before := w.current
	w.current = t
	t.resume <- struct{}{}
	<-w.parked
	w.current = before
}

// park hands over to the world until the task is resumed. The tasks that are still
// waiting when the run is over end here.
func (w *World) park(t *task) {
	w.parked <- struct{}{}
	<-t.resume
	if w.closed {
		runtime.Goexit()
	}
}

// deliver lets the world go on with what was ready before the call that was made
// just now; the task goes on when that call is delivered.
func (w *World) deliver() {
	t := w.current
	if t.sync || w.closed {
		return
	}
	w.schedule(w.now, ready, func() { w.resume(t) })
	w.park(t)
}

// close ends the tasks that still wait.
func (w *World) close() {
	w.closed = true
	for len(w.tasks) > 0 {
		for t := range w.tasks {
			w.resume(t)
			break
		}
	}
}

func (w *World) record(e Event) {
	e.T = w.now
	w.trace = append(w.trace, e)
	if len(w.trace) > maxEvents && w.err == nil {
		w.err = errors.New("the run does not end: more than a million events")
	}
	if w.err != nil && w.current != nil {
		runtime.Goexit()
	}
}

// Compromised records that the compromise of the lock of step of was reported.
func (w *World) Compromised(of int, err error) {
	if !w.closed {
		w.record(Event{Compromised: recordError(err), Of: of})
	}
}

// Clock returns the world's clock.
func (w *World) Clock() Clock { return (*worldClock)(w) }

// A Clock is the seam between the engines and time.
type Clock = clock.Clock

type worldClock World

func (c *worldClock) Now() time.Time { return time.UnixMilli(c.wall) }

func (c *worldClock) set(d time.Duration, run func()) *event {
	w := (*World)(c)
	ms := nodetime.Delay(d).Milliseconds()
	w.record(Event{Sys: "timer", Args: []any{ms}})
	return w.schedule(w.now+ms, ready, run)
}

func (c *worldClock) Wait(ctx context.Context, d time.Duration) error {
	w := (*World)(c)
	if w.closed {
		return errClosed
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	t := w.current
	c.set(d, func() { w.resume(t) })
	w.park(t)
	return nil
}

func (c *worldClock) AfterFunc(d time.Duration, f func()) clock.Timer {
	t := &worldTimer{clock: c, call: f}
	t.Reset(d)
	return t
}

// A worldTimer is a timer of the world. Its call runs in a task that is synchronous if
// the timer was set by one that is.
type worldTimer struct {
	clock *worldClock
	call  func()
	event *event
}

func (t *worldTimer) Stop() bool {
	inTime := t.event != nil && !t.event.stopped
	if inTime {
		t.event.stopped = true
	}
	return inTime
}

func (t *worldTimer) Reset(d time.Duration) {
	t.Stop()
	w := (*World)(t.clock)
	if w.closed {
		return
	}
	sync := w.current.sync
	var e *event
	e = t.clock.set(d, func() {
		e.stopped = true
		w.start(sync, t.call)
	})
	t.event = e
}
