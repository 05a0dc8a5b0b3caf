package exithook

import (
	"os"
	"syscall"

	"golang.org/x/sys/windows"
)

// ending returns the signals that Go's runtime knows: ctrl-C and ctrl-break, and the end of
// the console or of the session.
func ending() []os.Signal { return []os.Signal{syscall.SIGINT, syscall.SIGTERM} }

// die ends the process as the system does after ctrl-C.
func die(syscall.Signal) {
	status := uint32(windows.STATUS_CONTROL_C_EXIT)
	os.Exit(int(int32(status)))
}
