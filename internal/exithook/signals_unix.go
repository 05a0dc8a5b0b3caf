//go:build unix

package exithook

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ending returns the signals of L23 that end a Go program by default, as far as this
// system has them: SIGSTKFLT is Linux's, and not on every processor. The others of that
// row (ALRM, VTALRM, XCPU, XFSZ, USR2, IO, PWR) Go's runtime takes no notice of.
func ending() []os.Signal {
	var signals []os.Signal
	for _, name := range []string{
		"SIGHUP", "SIGINT", "SIGTERM", "SIGQUIT", "SIGABRT", "SIGTRAP", "SIGSYS", "SIGSTKFLT",
	} {
		if s := unix.SignalNum(name); s != 0 {
			signals = append(signals, s)
		}
	}
	return signals
}

// die ends the process as s does by default, with the dump of Go's runtime where s has
// one. It does not return.
func die(s syscall.Signal) {
	signal.Reset(s)
	_ = unix.Kill(os.Getpid(), s)
	// The runtime takes no notice of some signals, and the kernel spares the first process
	// of a container.
	time.Sleep(time.Second)
	os.Exit(128 + int(s))
}
