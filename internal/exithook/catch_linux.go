//go:build amd64 || arm64

package exithook

import (
	"os"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

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
	// passing are those of which it lets the next one through.
	passing atomic.Uint32
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
// handled by something else than Go's runtime. It reports whether it could.
func catch(signals set) bool {
	if events == nil {
		fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
		if err != nil {
			return false
		}
		events = os.NewFile(uintptr(fd), "exithook")
		event = uintptr(fd)
	}
	// The one signal that the program cannot take from the runtime.
	runtimeHandler = getAction(unix.SIGPROF).handler
	if runtimeHandler <= ignore {
		return true
	}
	wanted.Store(uint32(signals))
	for _, s := range fatal {
		if !signals.has(s) {
			continue
		}
		if a := getAction(s); a.handler == runtimeHandler {
			original[s] = a
			a.handler = handler()
			setAction(s, &a)
		}
	}
	return true
}

// ignore is SIG_IGN. SIG_DFL is below.
const ignore = 1

// getAction returns how s is handled.
func getAction(s syscall.Signal) (a action) {
	unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(s), 0, uintptr(unsafe.Pointer(&a)), unsafe.Sizeof(a.mask), 0, 0)
	return a
}

// release undoes catch, except for signals that somebody has taken since.
func release() {
	wanted.Store(0)
	for _, s := range fatal {
		if getAction(s).handler == handler() {
			setAction(s, &original[s])
		}
	}
}

// caught waits for signals, or for wake, which gives the empty set.
func caught() set {
	var count [8]byte
	for {
		if s := pending.Swap(0); s != 0 {
			return set(s) &^ 1
		}
		if _, err := events.Read(count[:]); err != nil {
			// Somebody has closed a descriptor that is not theirs.
			time.Sleep(linger)
		}
	}
}

// wake has caught return: there is no signal 0.
func wake() {
	pending.Or(1)
	unix.Write(int(event), []byte{1, 0, 0, 0, 0, 0, 0, 0})
}

// handOver gives s to who would have got it without us. The handler stays, so that
// there is no moment at which the next signal would get past it.
func handOver(s syscall.Signal) {
	passing.Or(1 << s)
	raise(s)
	// It is still there if the signal is not the handler's any more.
	passing.And(^uint32(1 << s))
}
