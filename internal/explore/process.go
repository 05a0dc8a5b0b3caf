package explore

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"path"
	"slices"
	"time"

	"github.com/seed-c461eb89/nodelock/internal/filesystem"
	"github.com/seed-c461eb89/nodelock/internal/sim"
)

const (
	// maxTasks bounds how much a process does at once, and maxTimers how many timers it
	// has that run something.
	maxTasks  = 4
	maxTimers = 6
)

// A Process runs a program, and is its system: what the program asks is answered when
// somebody resumes the task that has asked.
type Process struct {
	sim.System
	who    int
	tasks  sim.Scheduler
	timers []*sim.Timer

	// What has been done since the last answer.
	now     int64
	usesNow bool
	set     []timerSet
	notes   []string

	// drawn counts random numbers.
	drawn  uint64
	phase  Phase
	rounds uint8
	// held is what ends when the program is to know that it has lost the lock.
	held context.Context
	at   *history
}

// A timerSet is what has become of a timer: it runs out after ms, or never if that is
// negative.
type timerSet struct {
	slot int
	ms   int64
}

// newProcess starts the program of a participant, which runs until it asks something.
func newProcess(run func(*Process), who int, now int64) *Process {
	p := &Process{who: who, now: now}
	p.System.Do = p.do
	p.start(func() { run(p) })
	return p
}

func (p *Process) start(f func()) {
	t := p.tasks.Start(f)
	if t.Slot >= maxTasks {
		panic("explore: a program does too much at once")
	}
	p.tasks.Resume(t, sim.Answer{})
}

// leastWait is how long a wait takes at least, as on a machine that is busy. Else whoever
// polls for what a paused participant has would do so a thousand times.
const leastWait = 200 * time.Millisecond

// do answers at once what does not depend on others, and parks the task with anything
// else.
func (p *Process) do(c sim.Call) (a sim.Answer) {
	switch c.Op {
	case sim.Now:
		p.usesNow = true
		a.N = p.now * 1e6
	case sim.SetTimer, sim.StopTimer:
		p.setTimer(&c)
	case sim.Hostname:
		a.Data = "here"
	case sim.Pid:
		a.N = int64(p.who) + 1
	case sim.Random:
		// No two processes draw the same.
		p.drawn++
		number := binary.BigEndian.AppendUint64(nil, uint64(p.who+1)<<16|p.drawn)
		a.Data = string(number[max(0, len(number)-int(c.N)):])
	case sim.Fraction:
		a.N = int64(math.Float64bits(0.5))
	case sim.Begin, sim.TryBegin, sim.End:
	case sim.Resolve:
		a.Data = path.Join("/", c.Path)
	case sim.Wait, sim.Await:
		c.N = max(c.N, int64(leastWait))
		return p.tasks.Park(c)
	default:
		if a, ok := ofRoot(c); ok {
			return a
		}
		return p.tasks.Park(c)
	}
	return a
}

// ofRoot answers what is asked of the root directory, which is always there and always the
// same. Only the guard of it is not.
func ofRoot(c sim.Call) (a sim.Answer, ok bool) {
	root := c.Path == "/" || c.Path == "" && c.Handle == sim.Root
	switch {
	case !root:
		return a, false
	case c.Op == sim.Realpath:
		a.Data = c.Path
	case c.Op == sim.OpenDirectory:
		a.Handle = sim.Root
	case c.Op == sim.Fstat, c.Op == sim.Stat:
		a.Type = filesystem.Directory
	case c.Op == sim.Reach:
		a.N = int64(filesystem.ReachKernel)
	case c.Op != sim.Close:
		return a, false
	}
	return a, true
}

func (p *Process) setTimer(c *sim.Call) {
	slot := slices.Index(p.timers, c.With.(*sim.Timer))
	if slot < 0 {
		if slot = len(p.timers); slot == maxTimers {
			panic("explore: a program has too many timers")
		}
		p.timers = append(p.timers, c.With.(*sim.Timer))
	}
	ms := int64(-1)
	if c.Op == sim.SetTimer {
		ms = c.N / 1e6
	}
	p.set = append(p.set, timerSet{slot, ms})
}

// step makes an event happen.
func (p *Process) step(e event, now int64) {
	p.now, p.usesNow, p.set, p.notes = now, false, nil, nil
	if e.timer {
		p.start(p.timers[e.slot].RunOut())
		return
	}
	p.tasks.Resume(p.tasks.Tasks[e.slot], e.answer)
}

// ended reports whether the process does nothing any more.
func (p *Process) ended() bool {
	return !slices.ContainsFunc(p.tasks.Tasks, func(t *sim.Task) bool { return t != nil }) &&
		!slices.ContainsFunc(p.timers, (*sim.Timer).Armed)
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
	return p.Wait(ctx, d)
}

// Lose says that the program has been told that it has lost the lock.
func (p *Process) Lose(err error) {
	if p.tasks.Closed() || p.phase != Holding {
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

// believes returns the phase, and takes into account that the program has been told that
// the lock is lost, even if it has not had the time to look.
func (p *Process) believes() Phase {
	if p.phase == Holding && p.held.Err() != nil {
		return Outside
	}
	return p.phase
}
