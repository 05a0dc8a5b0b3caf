// Package exithook removes the locks of a process before the process ends.
//
// It is contract row L23, and P20 for proper-lockfile. Go has no hook for a normal exit,
// and a library that catches signals by itself changes what they do to the program. So
// both halves are opt-in: a program calls [Clean] before it exits, and
// [Hook.CleanupOnSignals] if signals shall be caught. Without these calls there is no
// handler, no goroutine and no timer.
//
// # What a clean-up promises
//
// A lock is made between [Registry.Begin] and [Registry.End]. A clean-up that a signal
// starts first closes the registry: whoever calls Begin or End from then on is stopped
// there until the process ends. Then the clean-up waits for those that are between Begin
// and End, and then it calls every Cleaner. In each order of a signal and the making of a
// lock the lock is gone in the end, or was never made:
//
//	signal, Begin              Begin does not return: no lock is made
//	Begin, signal, End         the clean-up waits for End; End does not return, so that
//	                           the program never hears of the lock, which is removed
//	Begin, End, signal         the Cleaner knows of the lock and removes it
//
// # Limits
//
// A clean-up has 2 s in all. If the system does not answer by then, the process ends
// without it. Goroutines that hold a lock run on until the process has ended.
package exithook

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"
)

// A Cleaner has locks to remove before the process ends.
type Cleaner interface {
	// Clean removes them, and gives up when ctx ends. It ignores errors.
	Clean(ctx context.Context)
}

// A Registry is what the engines take: [Process], or in a test something else.
type Registry interface {
	// Begin enters c, unless it is entered, and begins the making of a lock. It does not
	// return once a clean-up has begun.
	Begin(c Cleaner)
	// TryBegin is Begin, but reports false where that would not return. It is for a caller
	// that has something which the clean-up may need: it lets go of it and calls Begin.
	TryBegin(c Cleaner) bool
	// End ends what Begin began. By then c removes the lock when it is asked to, or there
	// is none. It does not return once a clean-up has begun.
	End()
}

// None is the registry of a process that no signal reaches, for virtual worlds.
type None struct{}

// Begin implements [Registry].
func (None) Begin(Cleaner) {}

// TryBegin implements [Registry].
func (None) TryBegin(Cleaner) bool { return true }

// End implements [Registry].
func (None) End() {}

// Process is the hook of this process. There is one, as there is one set of signal
// handlers.
var Process Hook

// patience is how long a clean-up may take in all.
const patience = 2 * time.Second

// A Hook calls its Cleaners when a signal is to end the process. The zero value is ready.
// Its methods can be called from several goroutines at once.
type Hook struct {
	mutex    sync.Mutex
	cleaners []Cleaner
	// making counts the locks that are being made.
	making int
	// closed says that a clean-up has begun, and idle is closed when no lock is being made
	// any more.
	closed bool
	idle   chan struct{}
}

var _ Registry = &Process

// Begin implements [Registry]. To enter a Cleaner again changes nothing. It must be
// comparable, as pointers are.
func (h *Hook) Begin(c Cleaner) {
	if !h.TryBegin(c) {
		select {}
	}
}

// TryBegin implements [Registry].
func (h *Hook) TryBegin(c Cleaner) bool {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if h.closed {
		return false
	}
	if !slices.Contains(h.cleaners, c) {
		h.cleaners = append(h.cleaners, c)
	}
	h.making++
	return true
}

// End implements [Registry].
func (h *Hook) End() {
	h.mutex.Lock()
	h.making--
	closed := h.closed
	if closed && h.making == 0 {
		close(h.idle)
	}
	h.mutex.Unlock()
	if closed {
		select {}
	}
}

// CleanupOnSignals has the process clean up and die when one of the signals arrives; with
// no argument, when one arrives that ends a Go program by default. A signal that is
// ignored when it is called stays ignored. Stop takes that back. It does not return once a
// clean-up has begun.
func (h *Hook) CleanupOnSignals(signals ...os.Signal) (stop func()) {
	if len(signals) == 0 {
		signals = ending()
	}
	signals = slices.DeleteFunc(slices.Clone(signals), signal.Ignored)
	if len(signals) == 0 {
		return func() {} // signal.Notify would take no signal for all of them
	}
	arrivals := make(chan os.Signal, 1)
	signal.Notify(arrivals, signals...)
	var listener sync.WaitGroup
	listener.Go(func() {
		for s := range arrivals {
			h.end(s)
		}
	})
	return sync.OnceFunc(func() {
		signal.Stop(arrivals)
		// A signal that has arrived before is still taken for what it is.
		close(arrivals)
		listener.Wait()
	})
}

// end cleans up and ends the process by s. It does not return. Of several signals the
// first one counts.
func (h *Hook) end(s os.Signal) {
	h.mutex.Lock()
	if h.closed {
		h.mutex.Unlock()
		select {}
	}
	h.closed, h.idle = true, make(chan struct{})
	if h.making == 0 {
		close(h.idle)
	}
	cleaners := slices.Clone(h.cleaners)
	h.mutex.Unlock()
	bounded(func(ctx context.Context) {
		select {
		case <-h.idle:
		case <-ctx.Done():
		}
		for _, c := range cleaners {
			c.Clean(ctx)
		}
	})
	if s, ok := s.(syscall.Signal); ok {
		die(s)
	}
	os.Exit(1)
}

// Clean calls Cleaners for a process that is about to exit, one after the other. It
// returns after 2 s, also if the system does not answer.
func Clean(cleaners ...Cleaner) {
	bounded(func(ctx context.Context) {
		for _, c := range cleaners {
			c.Clean(ctx)
		}
	})
}

// bounded calls f and returns when f has, or when patience is over: f may hang in a system
// call, which no context ends.
func bounded(f func(context.Context)) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(ctx)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}
