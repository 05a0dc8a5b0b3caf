package sim

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
)

// A Scheduler has the tasks of a program take turns: one runs, until it ends or parks in a
// call, and goes on when it is resumed with the answer.
type Scheduler struct {
	// Tasks are there by their slots. A slot that is nil is free.
	Tasks []*Task
	// Current is the task that runs, or was the last to.
	Current *Task
	// Err says that the program has panicked.
	Err error

	yield  chan struct{}
	closed bool
}

// A Task is a goroutine of the program.
type Task struct {
	Slot int
	// Parked is set between two turns, and Call what the task has parked in.
	Parked bool
	Call   Call
	// Sync is for whoever resumes it.
	Sync bool

	answer Answer
	resume chan struct{}
}

// Start makes a task of f, which begins when it is resumed.
func (s *Scheduler) Start(f func()) *Task {
	if s.yield == nil {
		s.yield = make(chan struct{})
	}
	slot := slices.Index(s.Tasks, nil)
	if slot < 0 {
		slot = len(s.Tasks)
		s.Tasks = append(s.Tasks, nil)
	}
	t := &Task{Slot: slot, Parked: true, resume: make(chan struct{})}
	s.Tasks[slot] = t
	go func() {
		defer func() { // also of a task that runtime.Goexit ends
			if f := recover(); f != nil && s.Err == nil {
				s.Err = fmt.Errorf("the program panicked: %v\n%s", f, debug.Stack())
			}
			s.Tasks[slot] = nil
			s.yield <- struct{}{}
		}()
		<-t.resume
		if !s.closed {
			f()
		}
	}()
	return t
}

// Resume gives a task its turn.
func (s *Scheduler) Resume(t *Task, a Answer) {
	s.Current = t
	t.Parked, t.answer = false, a
	t.resume <- struct{}{}
	<-s.yield
}

// Park ends the turn of the task that calls it, and returns when the next one comes.
func (s *Scheduler) Park(c Call) Answer {
	if s.closed {
		return Answer{Code: "ECANCELED"}
	}
	t := s.Current
	t.Call, t.Parked = c, true
	s.yield <- struct{}{}
	<-t.resume
	if s.closed {
		runtime.Goexit()
	}
	return t.answer
}

// Close ends the tasks where they are parked.
func (s *Scheduler) Close() {
	s.closed = true
	for _, t := range s.Tasks {
		if t != nil {
			s.Resume(t, Answer{})
		}
	}
}

// Closed reports whether the tasks are being ended, or were.
func (s *Scheduler) Closed() bool { return s.closed }
