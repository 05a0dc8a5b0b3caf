package live

import "syscall"

// systemSignals are the fatal signals of L23 that only Linux has.
var systemSignals = []syscall.Signal{syscall.SIGIO, syscall.SIGPWR, syscall.SIGSTKFLT}
