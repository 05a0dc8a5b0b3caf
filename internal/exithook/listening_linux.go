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
// blocked. /proc shows the mask of a thread, and how often it has slept:
//
//   - Nobody listens to a signal that the mask thread blocks.
//   - HUP, INT, TERM, QUIT and ABRT are never blocked. To stop listening to one wakes
//     the mask thread if nobody else listens.
//   - TRAP, SYS and STKFLT are not the mask thread's business.
//
// The thread is known by its mask, which follows what os/signal is told. If none does
// (no /proc, a Go that does it in another way), nobody is taken to listen. The tests
// notice such a Go.

// canTell reports whether listening knows of s.
func canTell(s syscall.Signal) bool {
	switch s {
	case unix.SIGTRAP, unix.SIGSYS, unix.SIGSTKFLT:
		return false
	}
	return true
}

// listening reports whether anybody listens to s but probe, which is off for moments:
// what arrives then is lost, and kills, if nobody listens. It takes some milliseconds.
func listening(s syscall.Signal, probe chan os.Signal) bool {
	if maskThread == "" {
		if maskThread = findMaskThread(); maskThread == "" {
			return everything()
		}
	}
	switch s {
	case unix.SIGHUP, unix.SIGINT, unix.SIGTERM, unix.SIGQUIT, unix.SIGABRT:
		// Something else may wake the mask thread at the same time: another signal that
		// gets or loses a listener, or the next signal, which it may handle itself.
		for wakes := 0; wakes < 4; {
			arrived := len(probe)
			if !maskThread.woken(s, probe) {
				return true
			}
			if len(probe) == arrived {
				wakes++
			}
		}
		return false
	}
	signal.Stop(probe)
	defer signal.Notify(probe, s)
	status, ok := maskThread.status()
	for ok && status.blocks(unix.SIGSEGV) {
		// It is in a signal handler, where everything is blocked.
		time.Sleep(100 * time.Microsecond)
		status, ok = maskThread.status()
	}
	return ok && !status.blocks(s)
}

// ignore is SIG_IGN. SIG_DFL is below.
const ignore = 1

// everything reports whether the program seems to listen to everything, which leaves
// nothing to know the mask thread by: the runtime does not handle these signals before
// somebody listens to them.
func everything() bool {
	for _, s := range []syscall.Signal{unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU, unix.SIGCONT} {
		if getAction(s).handler <= ignore {
			return false
		}
	}
	return true
}

// A thread is a thread of this process, by its number.
type thread string

// maskThread is the mask thread if it has been found. Once there, it stays for ever.
var maskThread thread

// findMaskThread finds the thread whose mask follows os/signal.
func findMaskThread() thread {
	listener := make(chan os.Signal, 1)
	follows := map[thread]int{}
	// Signals that hardly anybody listens to. Two of them prove it, as another thread's
	// mask may change for a reason of its own.
	for _, s := range []syscall.Signal{64, 63, 62, 61, 60} {
		signal.Notify(listener, s)
		open := threads(func(t status) bool { return !t.blocks(s) })
		signal.Stop(listener)
		// A thread that starts another blocks everything meanwhile, the mask thread
		// never blocks SIGSEGV.
		shut := threads(func(t status) bool { return t.blocks(s) && !t.blocks(unix.SIGSEGV) })
		var found []thread
		for t := range shut {
			if open[t] {
				follows[t]++
			}
			if follows[t] == 2 {
				found = append(found, t)
			}
		}
		if len(found) == 1 {
			return found[0]
		}
	}
	return ""
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

// woken reports whether the thread wakes up when probe stops listening to s for a
// moment.
func (t thread) woken(s syscall.Signal, probe chan os.Signal) bool {
	before, ok := t.settled()
	if !ok {
		return true
	}
	signal.Stop(probe)
	signal.Notify(probe, s)
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
