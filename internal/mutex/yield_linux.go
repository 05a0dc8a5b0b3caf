package mutex

import "golang.org/x/sys/unix"

// yield lets another process run. It sleeps for the shortest time that there is, in the
// kernel: Go's timers are exact to a millisecond. To try again without a pause does not
// help: the process that has the guard may be waiting for this very processor.
func yield() { _ = unix.Nanosleep(&unix.Timespec{Nsec: 20_000}, nil) }
