package explore

import (
	"context"
	"slices"

	"github.com/seed-c461eb89/nodelock/internal/sim"
)

// An automaton is what a participant does, as far as anything has asked for it: a tree of
// histories. It is grown by running the program.
type automaton struct {
	run   func(*Process)
	who   int
	start int64
	root  *history
	count uint32
	// processes are those that are kept running for the histories that they have, as
	// these are likely to be continued. oldest is the next to be ended.
	processes [32]*Process
	oldest    int
	err       error
}

// A history is what has happened to a process, and what it wants to do next.
type history struct {
	id     uint32
	parent *history
	event  event
	now    int64

	// wants are those of the tasks, by slot. As a rule there is one at most, for which
	// there is room here.
	wants []want
	want  [1]want
	// set is what has become of timers in the last step, and waits says that the task
	// that made it waits now.
	set    []timerSet
	waits  int
	phase  Phase
	rounds uint8
	ended  bool
	notes  []string

	next []*history
	// untimed says that what the last step did has not depended on the time.
	untimed bool
	process *Process
}

// A want is what a task waits for.
type want struct {
	call sim.Call
	live bool
	// cancelled says that the context of what lasts has ended.
	cancelled bool
}

// An event is what happens to a process: an answer to a task, or a timer that has run
// out.
type event struct {
	timer  bool
	slot   int
	answer sim.Answer
}

func newAutomaton(run func(*Process), who int, start int64) *automaton {
	a := &automaton{run: run, who: who, start: start}
	p := newProcess(run, who, start)
	a.root = a.record(p, nil, event{})
	a.keep(p, a.root)
	return a
}

// after returns the history that is longer than h by e.
func (a *automaton) after(h *history, e *event, now int64) *history {
	for _, n := range h.next {
		if n.event == *e && (n.untimed || n.now == now) {
			return n
		}
	}
	p := h.process
	if p == nil {
		p = a.repeat(h)
	}
	h.process = nil
	p.step(*e, now)
	n := a.record(p, h, *e)
	h.next = append(h.next, n)
	a.keep(p, n)
	return n
}

// repeat runs the program until its history is h.
func (a *automaton) repeat(h *history) *Process {
	if h.parent == nil {
		return newProcess(a.run, a.who, a.start)
	}
	var path []*history
	for ; h.parent != nil; h = h.parent {
		path = append(path, h)
	}
	p := newProcess(a.run, a.who, a.start)
	for i := len(path) - 1; i >= 0; i-- {
		p.step(path[i].event, path[i].now)
	}
	return p
}

// keep keeps a process for the history it has, and ends another for it if there are too
// many.
func (a *automaton) keep(p *Process, h *history) {
	i := slices.Index(a.processes[:], p)
	if h.ended || p.tasks.Err != nil {
		if i >= 0 {
			a.processes[i] = nil
		}
		p.tasks.Close()
		return
	}
	h.process, p.at = p, h
	if i >= 0 {
		return
	}
	if i = slices.Index(a.processes[:], nil); i < 0 {
		i = a.oldest
		a.oldest = (a.oldest + 1) % len(a.processes)
		other := a.processes[i]
		other.at.process = nil
		other.tasks.Close()
	}
	a.processes[i] = p
}

// close ends all processes.
func (a *automaton) close() {
	for i, p := range a.processes {
		if p != nil {
			p.at.process = nil
			p.tasks.Close()
			a.processes[i] = nil
		}
	}
}

// record makes a history of the last step of p.
func (a *automaton) record(p *Process, parent *history, e event) *history {
	a.count++
	h := &history{
		id: a.count, parent: parent, event: e, now: p.now,
		set: p.set, waits: -1, phase: p.believes(), rounds: p.rounds, ended: p.ended(), notes: p.notes,
		untimed: !p.usesNow,
	}
	last := len(p.tasks.Tasks)
	for last > 0 && p.tasks.Tasks[last-1] == nil {
		last--
	}
	if h.wants = h.want[:]; last > len(h.wants) {
		h.wants = make([]want, last)
	}
	for i, t := range p.tasks.Tasks[:last] {
		if t == nil {
			continue
		}
		w := &h.wants[i]
		*w = want{call: t.Call, live: true}
		if ctx, ok := t.Call.With.(context.Context); ok {
			w.call.With, w.cancelled = nil, ctx.Err() != nil
		}
	}
	if t := p.tasks.Current; t.Parked && t.Call.Op.Lasts() {
		h.waits = t.Slot
	}
	if p.tasks.Err != nil && a.err == nil {
		a.err = p.tasks.Err
	}
	return h
}
