// Package exithook cleans up when a signal is about to end the process.
//
// It is the signal half of contract row L23, and of P20 for proper-lockfile 4.1.2.
// The other half, a normal exit, has no hook in Go: the end of main, os.Exit and a
// panic run nothing, so the public packages have a Cleanup to be called before.
//
// # What is promised
//
// When one of the fatal signals arrives while a Cleaner is there, every Cleaner is
// called once and the process then dies of that signal, as its parent can see. That
// goes for signals too with which Go does something else: it takes no notice of
// SIGUSR2, and makes an exit with status 2 of SIGQUIT. If the program listens to the
// signal itself, it gets it, once, and nothing else happens. If no Cleaner is there,
// the signal does what it does without the hook. A signal that is ignored stays
// ignored.
//
// # Limits
//
// os/signal does not say whether the program listens. On Linux it can be found out
// when the signal arrives, but for SIGTRAP, SIGSYS and SIGSTKFLT: see
// listening_linux.go. That takes some milliseconds; a program that stops listening
// within them, as one does that calls the stop function of signal.NotifyContext as
// soon as its context ends, is not found to listen. It must say so with [Hook.Leave],
// and so must every program that listens on another system.
//
// A clean-up that hangs, with its file system for one, is given up when a second
// signal has arrived and a second has passed. Without, it hangs.
package exithook

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"
)

// A Cleaner has something to undo before the process ends.
type Cleaner interface {
	// Clean undoes it. It is called from any goroutine, at most once for one end of
	// the process, and must not wait for anything but the system. The process may go
	// on for an instant afterwards: what a Cleaner makes then stays behind.
	Clean()
}

// A Registry is what the engines take: [Process], or in a test something else.
type Registry interface {
	// Add has c called at the end of the process from the return of Add on.
	Add(c Cleaner)
	// Remove takes c off. It can be called from Clean, and Clean can still be called
	// if the end has already begun.
	Remove(c Cleaner)
}

// Process is the exit hook of this process. There is one, as there is one set of
// signal handlers, and everybody shares it.
var Process Hook

const (
	// linger is how long the handlers stay, at least, when nothing is left to clean.
	// To install and remove them costs many times what a lock costs, and who has
	// locked once will lock again.
	linger = 100 * time.Millisecond

	// patience is how long a clean-up can take that a second signal wants to cut
	// short, and how long a signal can take to kill.
	patience = time.Second
)

// A Hook calls its Cleaners when a signal ends the process. The zero value is ready,
// and installs nothing before the first Add. Its methods can be called from several
// goroutines at once.
type Hook struct {
	mutex    sync.Mutex
	cleaners []Cleaner
	left     set

	// arrivals is where the signals come out while they are caught, and nil otherwise.
	arrivals chan os.Signal

	// The handlers are taken out by a timer that no Add and no Remove stops: it
	// compares adds with what it has seen the last time. So a lock that is taken and
	// released in a loop costs no timer, only a tick every now and then.
	timer      *time.Timer
	ticking    bool
	adds, seen uint64

	// ending is when the end of the process began.
	ending   time.Time
	hurrying bool
}

var _ Registry = &Process

// Add has c called when a signal ends the process. A signal that arrives after Add has
// returned finds it, so what is to be cleaned up is best made after that. c must be
// comparable, as pointers are; to add what is there already changes nothing.
func (h *Hook) Add(c Cleaner) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.adds++
	if !slices.Contains(h.cleaners, c) {
		h.cleaners = append(h.cleaners, c)
	}
	if h.arrivals == nil {
		h.install()
	}
}

// Remove takes c off again. The handlers of the signals go a moment after the last
// one has been removed.
func (h *Hook) Remove(c Cleaner) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	i := slices.Index(h.cleaners, c)
	if i < 0 {
		return
	}
	h.cleaners = slices.Delete(h.cleaners, i, i+1)
	if len(h.cleaners) == 0 && h.arrivals != nil && !h.ticking {
		h.tickAfterLinger()
	}
}

// Leave says that the program listens to these signals itself, or to all if none are
// given. From now on they do what they do without the hook.
func (h *Hook) Leave(signals ...os.Signal) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if len(signals) == 0 {
		h.left = ^set(0)
	}
	for _, s := range signals {
		if s, ok := s.(syscall.Signal); ok {
			h.left = h.left.with(s)
		}
	}
	if h.arrivals != nil {
		signal.Stop(h.arrivals)
		h.catch(h.arrivals)
	}
}

// install catches the signals, in a goroutine that ends with uninstall.
func (h *Hook) install() {
	h.arrivals = newArrivals()
	h.catch(h.arrivals)
	go h.wait(h.arrivals)
}

func newArrivals() chan os.Signal { return make(chan os.Signal, 64) }

// catch has the signals that are not left to the program, nor ignored, sent to arrivals.
func (h *Hook) catch(arrivals chan os.Signal, except ...syscall.Signal) {
	for _, s := range fatal {
		if !h.left.has(s) && !slices.Contains(except, s) && !signal.Ignored(s) {
			signal.Notify(arrivals, s)
		}
	}
}

func (h *Hook) uninstall() {
	signal.Stop(h.arrivals) // nothing is sent any more when it returns
	close(h.arrivals)
	h.arrivals = nil
}

func (h *Hook) tickAfterLinger() {
	h.ticking = true
	h.seen = h.adds
	if h.timer == nil {
		h.timer = time.AfterFunc(linger, h.tick)
	} else {
		h.timer.Reset(linger)
	}
}

// tick takes the handlers out if nothing has been added since the last tick.
func (h *Hook) tick() {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	switch {
	case len(h.cleaners) > 0 || h.arrivals == nil || !h.ending.IsZero():
		h.ticking = false
	case h.adds != h.seen:
		h.tickAfterLinger()
	default:
		h.ticking = false
		h.uninstall()
	}
}

func (h *Hook) wait(arrivals <-chan os.Signal) {
	for s := range arrivals {
		if s, ok := s.(syscall.Signal); ok {
			h.mutex.Lock()
			h.arrived(s)
			h.mutex.Unlock()
		}
	}
}

// arrived decides what the signal does. The mutex is held, and for some milliseconds
// if it takes so long to find out who listens.
func (h *Hook) arrived(s syscall.Signal) {
	switch {
	case !h.ending.IsZero():
		// It cannot kill faster than the first, which is in its clean-up, but it is a
		// reason not to wait for ever.
		if !h.hurrying {
			h.hurrying = true
			time.AfterFunc(patience-time.Since(h.ending), func() { die(s) })
		}
	case h.left.has(s) || h.heardByProgram(s):
		// The program has it from os/signal.
	case len(h.cleaners) == 0:
		if h.arrivals != nil {
			h.uninstall()
		}
		raise(s)
	default:
		h.ending = time.Now()
		go h.end(s)
	}
}

// heardByProgram reports whether the program listens to s, as far as one can tell. All
// signals stay caught meanwhile, s but for moments: often it comes twice in a row, from
// the terminal and from a parent that passes it on, and the second must not kill first.
func (h *Hook) heardByProgram(s syscall.Signal) bool {
	if signal.Ignored(s) {
		return true
	}
	if h.arrivals == nil || !canTell(s) {
		return false
	}
	probe, others := newArrivals(), newArrivals()
	signal.Notify(probe, s)
	h.catch(others, s)
	signal.Stop(h.arrivals)
	heard := listening(s, probe)
	h.catch(h.arrivals)
	for _, meanwhile := range []chan os.Signal{probe, others} {
		signal.Stop(meanwhile)
		for len(meanwhile) > 0 {
			select {
			case h.arrivals <- <-meanwhile:
			default: // so many are there already that these make no difference
			}
		}
	}
	return heard
}

// end cleans up and dies of s.
func (h *Hook) end(s syscall.Signal) {
	switch s {
	case syscall.SIGQUIT, syscall.SIGABRT:
		// They are sent to a program that hangs, by hand or by a watchdog, for the sake
		// of what Go's runtime prints then. First, as Clean may hang for the same reason.
		dump(s)
	}
	h.clean()
	die(s)
}

// clean calls every Cleaner, those too that are added meanwhile.
func (h *Hook) clean() {
	var cleaned []Cleaner
	for {
		h.mutex.Lock()
		i := slices.IndexFunc(h.cleaners, func(c Cleaner) bool { return !slices.Contains(cleaned, c) })
		if i < 0 {
			h.mutex.Unlock()
			return
		}
		c := h.cleaners[i]
		h.mutex.Unlock()
		cleaned = append(cleaned, c)
		c.Clean()
	}
}

// dump writes the stacks of all goroutines to standard error.
func dump(s syscall.Signal) {
	stacks := make([]byte, 64<<10)
	n := runtime.Stack(stacks, true)
	for n == len(stacks) {
		stacks = make([]byte, 2*len(stacks))
		n = runtime.Stack(stacks, true)
	}
	// If nobody reads it any more, there is still something to clean up.
	signal.Ignore(syscall.SIGPIPE)
	fmt.Fprintf(os.Stderr, "signal: %v\n\n%s\n", s, stacks[:n])
}

// A set is a set of signals. All that are fatal have numbers below 32, everywhere.
type set uint32

func (s set) has(signal syscall.Signal) bool { return s&(1<<uint(signal)) != 0 }
func (s set) with(signal syscall.Signal) set { return s | 1<<uint(signal) }
