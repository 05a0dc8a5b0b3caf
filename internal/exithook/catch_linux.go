//go:build amd64 || arm64

package exithook

import (
	"os"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// Here the signals are caught by a handler of our own before Go's runtime sees them.
//
// With os/signal it would be too late to ask who else listens: it gives a signal to
// all its listeners at once, and what a program does on a signal, more often than
// not, is to stop listening (the stop function of signal.NotifyContext), so that
// the second one kills. Whoever looks after that finds nobody, and kills a program
// that was about to end in its own way. So a signal is held back until it is known
// whose it is, and if it is the program's, it goes to the runtime's handler as if it
// came just now.
//
// The handler (catch_linux_*.s) only notes the signal and writes to an event file.
// It takes over what the runtime has set up, the alternate stack above all, as
// os/signal's documentation demands of every handler that is not Go's, and jumps to
// the runtime's handler with what is not for it.

// What the handler works with.
var (
	// wanted are the signals that it keeps.
	wanted atomic.Uint32
	// pending are those that it has kept.
	pending atomic.Uint32
	// event is the event file's descriptor. It is never closed, as the handler may be
	// running in some thread until the end.
	event uintptr
	// runtimeHandler is the handler of Go's runtime.
	runtimeHandler uintptr
)

// handler returns the address of the handler.
func handler() uintptr

var events *os.File

// original is what there was before catch.
var original [32]action

// catch has the signals come out of caught, but for those that are ignored, or are
// handled by something else than Go's runtime.
func catch(signals set) {
	if events == nil {
		fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
		if err != nil {
			return
		}
		events = os.NewFile(uintptr(fd), "exithook")
		event = uintptr(fd)
	}
	// The one signal that only the runtime's profiler ever has.
	runtimeHandler = getAction(unix.SIGPROF).handler
	if runtimeHandler <= ignore {
		return
	}
	wanted.Store(uint32(signals))
	for _, s := range fatal {
		if signals.has(s) {
			catchOne(s)
		}
	}
}

// ignore is SIG_IGN. SIG_DFL is below.
const ignore = 1

func catchOne(s syscall.Signal) {
	if a := getAction(s); a.handler == runtimeHandler {
		original[s] = a
		a.handler = handler()
		setAction(s, &a)
	}
}

// release undoes catch.
func release() {
	wanted.Store(0)
	for _, s := range fatal {
		releaseOne(s)
	}
}

// releaseOne gives s back, unless somebody has taken it already.
func releaseOne(s syscall.Signal) {
	if getAction(s).handler == handler() {
		setAction(s, &original[s])
	}
}

// caught waits for signals, or for wake, which gives the empty set.
func caught() set {
	var count [8]byte
	for {
		if s := pending.Swap(0); s != 0 {
			return set(s) &^ 1
		}
		events.Read(count[:])
	}
}

// wake has caught return: there is no signal 0.
func wake() {
	pending.Or(1)
	unix.Write(int(event), []byte{1, 0, 0, 0, 0, 0, 0, 0})
}

// handOver gives s to who would have got it without us.
func handOver(s syscall.Signal) {
	releaseOne(s)
	raise(s)
	if set(wanted.Load()).has(s) {
		catchOne(s)
	}
}
