package conformance

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-c461eb89/nodelock/internal/nodetime"
	"github.com/seed-c461eb89/nodelock/internal/sim"
)

var errOver = errors.New("conformance: the run is over")

// do answers what a program asks.
func (w *World) do(c sim.Call) (a sim.Answer) {
	if w.tasks.Closed() {
		return sim.Answer{Err: errOver}
	}
	switch c.Op {
	case sim.Now:
		a.N = w.wall * 1e6
	case sim.Wait:
		t := w.tasks.Current
		w.timer(c.N, func() { w.resume(t) })
		w.tasks.Park(c)
	case sim.SetTimer, sim.StopTimer:
		w.setTimer(c.With.(*sim.Timer), &c)
	case sim.Begin, sim.TryBegin, sim.End: // no signal arrives here
	case sim.Resolve:
		return w.files.Perform(&c)
	case sim.Hostname, sim.Pid, sim.Random, sim.Fraction:
		return w.machine.do(&c)
	default:
		return w.call(&c)
	}
	return a
}

// timer sets a timer of ns.
func (w *World) timer(ns int64, run func()) *event {
	ms := ns / 1e6
	w.record(Event{Sys: "timer", Args: []any{ms}})
	return w.schedule(w.now+ms, ready, run)
}

// setTimer sets or stops a timer that runs something, in a task that is synchronous if
// the one was that set it.
func (w *World) setTimer(t *sim.Timer, c *sim.Call) {
	if set := w.timers[t]; set != nil {
		set.stopped = true
		delete(w.timers, t)
	}
	if c.Op == sim.SetTimer {
		sync := w.tasks.Current.Sync
		w.timers[t] = w.timer(c.N, func() {
			delete(w.timers, t)
			w.start(sync, t.RunOut())
		})
	}
}

// call makes a system call: it counts it for the faults, performs it unless a fault
// prevents that, and traces it. Unless it is synchronous, the world then goes on with what
// was ready before, and the task when the call is delivered.
func (w *World) call(c *sim.Call) (a sim.Answer) {
	name, mode := c.Op.Traced()
	path := c.Path // as faults know it
	switch {
	case c.Op == sim.Kill:
		path = strconv.FormatInt(c.N, 10)
	case c.Op.OnHandle():
		if o := w.files.Open(c.Handle); o != nil {
			path = o.Path
		}
	}
	w.happenOn(name, path, c.Dest, false)
	fault := w.fault(name, path, c.Dest)
	switch {
	case fault != nil && !fault.After && c.Op != sim.Close:
	case c.Op == sim.Kill:
		a = w.machine.do(c)
	default:
		a = w.files.Perform(c)
	}
	if fault != nil {
		if a.Handle != 0 {
			// The program will not hear of the descriptor, so it must not be left open.
			w.files.Perform(&sim.Call{Op: sim.Close, Handle: a.Handle})
		}
		a = sim.Answer{Code: fault.Code}
		if c.Op == sim.Realpath {
			a.Inner, a.Data = sim.Lstat, w.files.Perform(&sim.Call{Op: sim.Resolve, Path: c.Path}).Data
		}
	}
	w.record(Event{Sys: name, Args: w.arguments(c, mode), Ret: cmp.Or(a.Code, "ok")})
	w.happenOn(name, path, c.Dest, true)
	if t := w.tasks.Current; !t.Sync {
		w.schedule(w.now, ready, func() { w.resume(t) })
		w.tasks.Park(*c)
	}
	return a
}

// arguments returns the arguments of a call as a trace has them.
func (w *World) arguments(c *sim.Call, mode string) []any {
	args := []any{}
	for _, path := range []string{c.Path, c.Dest}[:c.Op.Paths()] {
		args = append(args, relative(path))
	}
	if mode != "" {
		args = append(args, mode)
	}
	switch c.Op {
	case sim.Utimes:
		args = append(args, c.N-w.scenario.Epoch)
	case sim.Futimes:
		args = append(args, nodetime.Milliseconds(time.Unix(0, c.N))-w.scenario.Epoch)
	case sim.Write:
		args = append(args, len(c.Data))
	case sim.Kill:
		args = append(args, c.N)
	}
	return args
}

// fault counts a call and returns the fault that it meets, or nil.
func (w *World) fault(name, path, dest string) *Fault {
	var met *Fault
	for i := range w.scenario.Faults {
		f := &w.scenario.Faults[i]
		if !matches(f.Syscall, f.Path, name, path, dest) {
			continue
		}
		w.faults[i]++
		n := w.faults[i]
		if met == nil && (n == f.Call || f.From > 0 && n >= f.From || f.Call == 0 && f.From == 0) {
			met = f
		}
	}
	return met
}

// matches reports whether a call is one of wanted, on the path wantedPath if that is not
// empty.
func matches(wanted, wantedPath, name, path, dest string) bool {
	return wanted == name && (wantedPath == "" || samePath(wantedPath, path) || dest != "" && samePath(wantedPath, dest))
}

func samePath(a, b string) bool {
	return slices.Equal(sim.Components(strings.TrimPrefix(a, root)), sim.Components(strings.TrimPrefix(b, root)))
}
