//go:build !linux || !(amd64 || arm64)

package exithook

import (
	"os"
	"os/signal"
	"syscall"
)

// Here the signals come from os/signal. It gives them to the program too, so nothing
// has to be handed over, but it does not say whether anybody else gets them.

var arrivals = make(chan os.Signal, 64)

// catch has the signals come out of caught, but for those that are ignored. It reports
// whether it could.
func catch(signals set) bool {
	for _, s := range fatal {
		if signals.has(s) && !signal.Ignored(s) {
			signal.Notify(arrivals, s)
		}
	}
	return true
}

// release undoes catch.
func release() { signal.Stop(arrivals) }

// caught waits for signals, or for wake, which gives the empty set.
func caught() set {
	s, ok := (<-arrivals).(syscall.Signal)
	if !ok || s == 0 {
		return 0
	}
	return set(0).with(s)
}

// wake has caught return. If there is no room, caught has a reason to already.
func wake() {
	select {
	case arrivals <- syscall.Signal(0):
	default:
	}
}

// listening is not known.
func listening(syscall.Signal) bool { return false }

// handOver has nothing to do: who else listens has the signal already.
func handOver(syscall.Signal) {}
