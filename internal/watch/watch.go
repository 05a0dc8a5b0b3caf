// Package watch wakes those who wait for a path to change.
//
// A watch is a hint. It may fire though nothing has changed, and it misses what the system
// does not tell of: changes on another machine, and those of a directory that is removed
// while a process has it open. So whoever waits looks again after a watch is set, and from
// time to time.
package watch

import (
	"context"
	"errors"
	"time"
)

// A Watcher watches paths.
type Watcher interface {
	// Watch begins to watch what is at path. It fails with fs.ErrNotExist if nothing is, and
	// with another error if the system has no watch to give.
	Watch(path string) (Watch, error)
}

// None is a [Watcher] that has no watch to give.
type None struct{}

// Watch implements [Watcher].
func (None) Watch(string) (Watch, error) { return nil, errors.ErrUnsupported }

// A Watch fires once: when what was at the path is changed, renamed or removed, or, if it
// is a directory, when something in it is.
type Watch interface {
	// Await waits until the watch has fired, which it reports, or for d. An error is the cause
	// of ctx's end.
	Await(ctx context.Context, d time.Duration) (fired bool, err error)
	// Close ends the watch. It is called once.
	Close()
}
