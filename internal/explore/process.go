package explore

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/seed-c461eb89/nodelock/internal/clock"
	"github.com/seed-c461eb89/nodelock/internal/nodetime"
)

const (
	// maxTasks bounds how much a process does at once, and maxTimers how many timers it
	// has that run something.
	maxTasks  = 4
	maxTimers = 6
)

// A Process runs a program in goroutines, of which one at a time does something: all
// others wait for an answer. It is the program's filesystem and clock.
type Process struct {
	tasks   [maxTasks]*task
	timers  [maxTimers]*timer
	current *task
	parked  chan struct{}
	closed  bool

	// What has been done since the last answer.
	now     int64
	usesNow bool
	set     []timerSet
	notes   []string
	err     error

	phase  Phase
	rounds uint8
	// held is what ends when the program is to know that it has lost the lock.
	held context.Context
	at   *history
}

// A task is a goroutine of the program, the first being its main function.
type task struct {
	slot    int
	resume  chan answer
	request request
	ctx     context.Context // what a wait can be ended by
	live    bool
}

// A timerSet is what has become of a timer: it runs out after ms, or never if that is
// negative.
type timerSet struct {
	slot int
	ms   int64
}

// newProcess starts a program, which runs until it asks something.
func newProcess(run func(*Process), now int64) *Process {
	p := &Process{parked: make(chan struct{}), now: now}
	p.start(func() { run(p) })
	return p
}

func (p *Process) start(f func()) {
	slot := 0
	for p.tasks[slot] != nil {
		if slot++; slot == maxTasks {
			panic("explore: a program does too much at once")
		}
	}
	t := &task{slot: slot, resume: make(chan answer), live: true}
	p.tasks[slot] = t
	go func() {
		defer func() {
			if f := recover(); f != nil {
				p.err = fmt.Errorf("explore: the program panicked: %v\n%s", f, debug.Stack())
			}
			t.live = false
			p.parked <- struct{}{}
		}()
		<-t.resume
		if !p.closed {
			f()
		}
	}()
	p.resume(t, answer{})
}

func (p *Process) resume(t *task, a answer) {
	p.current = t
	t.resume <- a
	<-p.parked
	if !t.live {
		p.tasks[t.slot] = nil
	}
}

// ask is how a program waits for an answer.
func (p *Process) ask(r request) answer {
	if p.closed {
		return answer{code: "ECANCELED"}
	}
	t := p.current
	t.request = r
	p.parked <- struct{}{}
	a := <-t.resume
	if p.closed {
		runtime.Goexit()
	}
	return a
}

// forget drops what was recorded of the last step.
func (p *Process) forget(now int64) {
	p.now, p.usesNow, p.set, p.notes = now, false, nil, nil
}

// step makes an event happen.
func (p *Process) step(e event, now int64) {
	p.forget(now)
	if e.timer {
		t := p.timers[e.slot]
		t.armed = false
		p.start(t.call)
		return
	}
	p.resume(p.tasks[e.slot], e.answer)
}

// close ends the goroutines.
func (p *Process) close() {
	p.closed = true
	for _, t := range p.tasks {
		if t != nil {
			p.resume(t, answer{})
		}
	}
}

// ended reports whether the process does nothing any more.
func (p *Process) ended() bool {
	for _, t := range p.tasks {
		if t != nil {
			return false
		}
	}
	for _, t := range p.timers {
		if t != nil && t.armed {
			return false
		}
	}
	return true
}

// Contend says that the program begins to want the lock.
func (p *Process) Contend() {
	p.phase = Contending
	p.rounds++
}

// Hold says that the program has been told that it holds the lock, and stays for d, or
// until ctx ends.
func (p *Process) Hold(ctx context.Context, d time.Duration) error {
	p.phase, p.held = Holding, ctx
	p.note("holds the lock")
	if d == 0 {
		p.ask(request{call: callSection})
		return context.Cause(ctx)
	}
	return p.Clock().Wait(ctx, d)
}

// Lose says that the program has been told that it has lost the lock.
func (p *Process) Lose(err error) {
	if p.closed || p.phase != Holding {
		return
	}
	p.phase = Outside
	p.note(fmt.Sprintf("is told: %v", err))
}

// Release says that the program gives the lock back, or what it takes for it.
func (p *Process) Release() { p.phase = Releasing }

// End says that the program is through, by the error of its last call.
func (p *Process) End(err error) {
	switch {
	case err != nil:
		p.note(fmt.Sprintf("is refused: %v", err))
	case p.phase == Releasing:
		p.note("has released")
	}
	p.phase = Outside
}

func (p *Process) note(text string) { p.notes = append(p.notes, text) }

// Clock returns the process's clock.
func (p *Process) Clock() clock.Clock { return (*processClock)(p) }

type processClock Process

func (c *processClock) Now() time.Time {
	c.usesNow = true
	return time.UnixMilli(c.now)
}

// leastWait is how long a wait takes at least, as on a machine that is busy. Else whoever
// polls for what a paused participant has would do so a thousand times.
const leastWait = 200 * time.Millisecond

var errClosed = errors.New("explore: it is over")

func (c *processClock) Wait(ctx context.Context, d time.Duration) error {
	p := (*Process)(c)
	if p.closed {
		return errClosed
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	p.current.ctx = ctx
	p.ask(request{call: callWait, ms: max(nodetime.Delay(d), leastWait).Milliseconds()})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

type timer struct {
	process *Process
	slot    int
	call    func()
	armed   bool
}

func (c *processClock) AfterFunc(d time.Duration, f func()) clock.Timer {
	p := (*Process)(c)
	slot := 0
	for p.timers[slot] != nil {
		if slot++; slot == maxTimers {
			panic("explore: a program has too many timers")
		}
	}
	t := &timer{process: p, slot: slot, call: f}
	p.timers[slot] = t
	t.Reset(d)
	return t
}

func (t *timer) Stop() bool {
	armed := t.armed
	if armed {
		t.armed = false
		t.process.set = append(t.process.set, timerSet{t.slot, -1})
	}
	return armed
}

func (t *timer) Reset(d time.Duration) {
	t.armed = true
	t.process.set = append(t.process.set, timerSet{t.slot, nodetime.Delay(d).Milliseconds()})
}

// believes returns the phase, and takes into account that the program has been told that
// the lock is lost, even if it has not had the time to look.
func (p *Process) believes() Phase {
	if p.phase == Holding && p.held.Err() != nil {
		return Outside
	}
	return p.phase
}
