// Package exithook runs clean-up when a signal ends the process.
//
// Go has no exit hook. The end of main, os.Exit and a panic are left to the caller,
// who calls the clean-up itself; this package is about signals alone.
package exithook

import (
	"os"
	"os/signal"
	"slices"
	"sync"
)

// A Cleaner has something to undo before the process ends. Clean may be called from
// any goroutine, at most once for one end of the process, and must not block.
type Cleaner interface{ Clean() }

// A Registry is told what to clean up when the process ends. [Hook] is the real one.
type Registry interface {
	// Add has c called at the end of the process, from now on.
	Add(c Cleaner)
	// Remove takes c off again. It may still be called if the end has begun.
	Remove(c Cleaner)
}

// Process is the exit hook of this process. There is one, as there is one set of
// signal handlers: everybody shares it.
var Process Hook

// A Hook calls its Cleaners when a signal is about to end the process, which then
// still dies of that signal. The zero value is ready and does nothing before the
// first Add.
type Hook struct {
	mutex    sync.Mutex
	cleaners []Cleaner
	left     []os.Signal
	leftAll  bool
	caught   chan os.Signal
}

// Add has c called when a signal ends the process. c is a pointer or something else
// that can be compared; to add what is there already changes nothing.
func (h *Hook) Add(c Cleaner) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if slices.Contains(h.cleaners, c) {
		return
	}
	h.cleaners = append(h.cleaners, c)
}

// Remove takes c off again.
func (h *Hook) Remove(c Cleaner) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if i := slices.Index(h.cleaners, c); i >= 0 {
		h.cleaners = slices.Delete(h.cleaners, i, i+1)
	}
}

// Leave says that the program listens to these signals itself, or to all if there
// are none given: nothing is cleaned up for them and they do not end the process.
func (h *Hook) Leave(signals ...os.Signal) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.left = append(h.left, signals...)
	h.leftAll = h.leftAll || len(signals) == 0
	if h.caught != nil {
		signal.Stop(h.caught)
	}
}
