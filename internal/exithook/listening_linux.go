//go:build amd64 || arm64

package exithook

import (
	"bytes"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// os/signal has no way to ask whether anybody listens to a signal, but it shows. The
// runtime has a thread of its own, the mask thread (ensureSigM in
// runtime/signal_unix.go), that is told whenever a signal gets its first listener or
// loses its last, and that blocks the signals nobody listens to, as far as they may be
// blocked. /proc shows both, the mask of a thread and how often it has slept:
//
//   - If the mask thread blocks the signal, nobody listens to it.
//   - Otherwise, listen to it and stop. If that wakes the mask thread, nobody else
//     listens. HUP, INT, TERM, QUIT and ABRT are told in this way only, as no thread of
//     a Go program ever blocks them.
//
// It is known by its mask following what os/signal is told. If none does (no /proc,
// a Go that does it in another way), nobody is taken to listen. The tests notice such
// a Go.
//
// TRAP, SYS and STKFLT are not the mask thread's business. Nobody is taken to listen
// to them.

// listening reports whether somebody but us wants s. It may take some milliseconds.
func listening(s syscall.Signal) bool {
	if getAction(s).handler != handler() {
		// Ignored since, or taken by a handler that is not Go's.
		return true
	}
	switch s {
	case unix.SIGTRAP, unix.SIGSYS, unix.SIGSTKFLT:
		return false
	}
	thread, ok := maskThread()
	if !ok {
		return everything()
	}
	if status, ok := thread.status(); !ok || status.blocks(s) {
		return false
	}
	// Something else may wake it: another signal gets or loses a listener. So it is
	// the time at which nothing does that counts.
	for range 4 {
		if !thread.woken(s) {
			return true
		}
	}
	return false
}

// everything reports whether the program seems to listen to everything, which leaves
// nothing to know the mask thread by: the runtime does not handle these signals before
// somebody listens to them.
func everything() bool {
	for _, s := range []syscall.Signal{unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU, unix.SIGCONT} {
		if getAction(s).handler != runtimeHandler {
			return false
		}
	}
	return true
}

// A thread is a thread of this process.
type thread string

// maskThread finds the thread whose mask follows os/signal.
func maskThread() (thread, bool) {
	listener := make(chan os.Signal, 1)
	// Signals that hardly anybody listens to.
	for _, s := range []syscall.Signal{64, 63, 62, 64, 63, 62} {
		signal.Notify(listener, s)
		open := threads(func(t status) bool { return !t.blocks(s) })
		signal.Stop(listener)
		// A thread that starts another blocks everything meanwhile, the mask thread
		// never blocks SIGSEGV.
		shut := threads(func(t status) bool { return t.blocks(s) && !t.blocks(unix.SIGSEGV) })
		var found []thread
		for t := range shut {
			if open[t] {
				found = append(found, t)
			}
		}
		if len(found) == 1 {
			return found[0], true
		}
	}
	return "", false
}

// threads returns those threads of the process for which is holds.
func threads(is func(status) bool) map[thread]bool {
	entries, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return nil
	}
	found := map[thread]bool{}
	for _, entry := range entries {
		t := thread(entry.Name())
		if status, ok := t.status(); ok && is(status) {
			found[t] = true
		}
	}
	return found
}

// woken reports whether the thread wakes up when s gets a listener and loses it.
func (t thread) woken(s syscall.Signal) bool {
	before, ok := t.settled()
	if !ok {
		return true
	}
	listener := make(chan os.Signal, 1)
	signal.Notify(listener, s)
	signal.Stop(listener)
	after, ok := t.settled()
	return !ok || before.sleeps != after.sleeps
}

// settled returns the status of the thread when it sleeps and has done so for long
// enough to be counted.
func (t thread) settled() (status, bool) {
	last, ok := t.status()
	for n := 0; ok && n < 1000; n++ {
		time.Sleep(500 * time.Microsecond)
		var now status
		if now, ok = t.status(); ok && now == last && now.state == 'S' {
			return now, true
		}
		last = now
	}
	return status{}, false
}

// A status is what /proc/self/task/*/status says about a thread.
type status struct {
	state   byte
	blocked uint64
	sleeps  uint64
}

func (s status) blocks(signal syscall.Signal) bool { return s.blocked>>(uint(signal)-1)&1 != 0 }

func (t thread) status() (s status, ok bool) {
	text, err := os.ReadFile("/proc/self/task/" + string(t) + "/status")
	if err != nil {
		return s, false
	}
	var seen int
	for line := range bytes.Lines(text) {
		name, value, _ := bytes.Cut(bytes.TrimSpace(line), []byte(":\t"))
		var err error
		switch string(name) {
		case "State":
			s.state = value[0]
		case "SigBlk":
			s.blocked, err = strconv.ParseUint(string(value), 16, 64)
		case "voluntary_ctxt_switches":
			s.sleeps, err = strconv.ParseUint(string(value), 10, 64)
		default:
			continue
		}
		if err != nil {
			return s, false
		}
		seen++
	}
	return s, seen == 3
}
