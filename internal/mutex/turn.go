package mutex

import (
	"context"
	"errors"
	"slices"

	"github.com/seed-c461eb89/nodelock/internal/lease"
)

// errTaken says that the lock is held, and that the call does not wait.
var errTaken = errors.New("mutex: the lock is held")

// A queue has the callers that wait for their turn with a path, first come, first served.
// The one whose turn it is contends with other processes; the others of this process wait
// for it, which costs nothing.
type queue struct{ waiting []chan struct{} }

// enter waits for the turn, or if it may not wait and would have to returns errTaken.
func (e *Engine) enter(ctx context.Context, d *directory, name string, wait bool) error {
	e.mutex.Lock()
	q := d.turns[name]
	if q == nil {
		d.turns[name] = &queue{}
		e.mutex.Unlock()
		return nil
	}
	if !wait {
		e.mutex.Unlock()
		return errTaken
	}
	turn := make(chan struct{}, 1)
	q.waiting = append(q.waiting, turn)
	e.mutex.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
	}
	e.mutex.Lock()
	i := slices.Index(q.waiting, turn)
	if i >= 0 {
		q.waiting = slices.Delete(q.waiting, i, i+1)
	}
	e.mutex.Unlock()
	if i < 0 {
		e.leave(d, name) // the turn came all the same
	}
	return lease.WaitEnded{Cause: context.Cause(ctx)}
}

// leave gives the turn to the next in the queue.
func (e *Engine) leave(d *directory, name string) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	q := d.turns[name]
	if len(q.waiting) == 0 {
		delete(d.turns, name)
		return
	}
	q.waiting[0] <- struct{}{}
	q.waiting = slices.Delete(q.waiting, 0, 1)
}
