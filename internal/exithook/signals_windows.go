package exithook

import (
	"os"
	"syscall"

	"golang.org/x/sys/windows"
)

// fatal are the signals that Go's runtime knows: ctrl-C and ctrl-break, and the end
// of the console or of the session.
var fatal = []syscall.Signal{syscall.SIGINT, syscall.SIGTERM}

// die ends the process as the system does after ctrl-C.
func die(syscall.Signal) {
	status := uint32(windows.STATUS_CONTROL_C_EXIT)
	os.Exit(int(int32(status)))
}

// raise has the signal do what it does by default. It cannot be sent to this process
// alone, and what it does is to end it.
func raise(s syscall.Signal) { die(s) }
