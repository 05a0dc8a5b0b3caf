// Package conformance runs implementations of Node's lock protocols in a virtual world, and
// compares what they do with what the published packages did there: every system call,
// every timer, every result, and what is left on disk.
//
//	got, err := conformance.Run(scenario, start) // start makes a Program for a World
//	if err != nil {
//		return err
//	}
//	if d := conformance.Compare(recorded, got); d != nil {
//		fmt.Print(d)
//	}
//
// A [Scenario] is what happens, and a [Recording] what was done about it. FORMAT.md
// describes both, and the rules of the world; package testdata has what was recorded, for
// [ReadEntries]. An implementation takes part by a [Program], which makes its calls through
// the [World] that it is given; the example is one. [Observe] runs this module's own.
//
// Limits: a run is one process. It shows which calls are made and what becomes of their
// answers, and nothing of real filesystems, of two processes at once, or of speed.
package conformance

import (
	"errors"
	"fmt"
)

// A Program is an implementation under test, as one process of it.
type Program interface {
	// Call makes a step's call and returns when it has settled. Calls of several
	// steps may be under way at once, in goroutines of which one at a time runs.
	// step.Call is neither exit nor, for a lock that was not taken, release.
	Call(step Step) Outcome
	// Exit runs the exit hook.
	Exit()
}

// An Outcome is how a call ended.
type Outcome struct {
	// Err is the call's error. An [*Error] in its chain is recorded with its fields;
	// of another error only the message is.
	Err error
	// Locked is what a check reported, or nil if it reported nothing.
	Locked *bool
	// OptionsAfter are the options as the call left them, or nil.
	OptionsAfter map[string]any
}

// ErrNoRelease is the error of a release of a step that took no lock.
var ErrNoRelease = errors.New("no release")

// Run runs a scenario. Start makes the program; it is to take its files and its
// time from the world.
//
// The error is not nil if the program could not be made, panicked, or did not end.
func Run(s *Scenario, start func(*World) (Program, error)) (*Recording, error) {
	w := newWorld(s)
	if w.filesErr != nil {
		return nil, w.filesErr
	}
	var err error
	if w.program, err = start(w); err != nil {
		return nil, err
	}
	w.run()
	recording := &Recording{
		Trace:   w.trace,
		Results: w.results,
		Disk:    disk(w.files, s.Epoch),
		FDs:     len(w.files.Handles),
	}
	if recording.Trace == nil {
		recording.Trace = []Event{}
	}
	if recording.Results == nil {
		recording.Results = []Result{}
	}
	w.tasks.Close()
	if err := w.tasks.Err; err != nil {
		return nil, fmt.Errorf("scenario %q: %w", s.Name, err)
	}
	return recording, nil
}

// startSteps starts the steps that can start now.
func (w *World) startSteps() {
	for w.nextStep < len(w.scenario.Steps) && !w.waiting && w.goesOn() {
		step := w.scenario.Steps[w.nextStep]
		if step.At != nil {
			w.waiting = true
			w.schedule(max(*step.At, w.now), stepStart, func() {
				w.waiting = false
				w.startStep(step)
			})
			return
		}
		if before := w.nextStep - 1; before >= 0 && !w.scenario.Steps[before].Background && w.results[before].Pending {
			return
		}
		w.startStep(step)
	}
}

func (w *World) startStep(step Step) {
	w.nextStep++
	sync := step.Sync() || step.Call == "exit" || step.Call == "release" && w.scenario.Steps[*step.Of].Sync()
	w.results = append(w.results, Result{Step: step.Index, Call: step.Call, Pending: true})
	w.start(sync, func() {
		w.record(Event{Step: &step.Index, Call: step.Call})
		var outcome Outcome
		switch {
		case step.Call == "exit":
			w.program.Exit()
			w.done = true
		case step.Call == "release" && !w.taken(*step.Of):
			outcome.Err = ErrNoRelease
		default:
			outcome = w.program.Call(step)
		}
		w.results[step.Index] = Result{
			Step: step.Index, Call: step.Call, At: w.now,
			Error: recordError(outcome.Err), Locked: outcome.Locked, OptionsAfter: outcome.OptionsAfter,
		}
	})
}

// taken reports whether a step has taken a lock.
func (w *World) taken(step int) bool {
	r := w.results[step]
	return !r.Pending && r.Error == nil
}
