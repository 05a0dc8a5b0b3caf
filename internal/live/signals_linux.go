package live

import (
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// systemSignals are the fatal signals of L23 that only Linux has. MIPS has no SIGSTKFLT.
var systemSignals = slices.DeleteFunc(
	[]syscall.Signal{syscall.SIGIO, syscall.SIGPWR, unix.SignalNum("SIGSTKFLT")},
	func(s syscall.Signal) bool { return s == 0 })
