package exithook

import (
	"os"
	"os/signal"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// fatal are the signals of L23 that macOS has.
var fatal = []syscall.Signal{
	unix.SIGABRT, unix.SIGALRM, unix.SIGHUP, unix.SIGINT, unix.SIGTERM,
	unix.SIGVTALRM, unix.SIGXCPU, unix.SIGXFSZ, unix.SIGUSR2, unix.SIGTRAP,
	unix.SIGSYS, unix.SIGQUIT,
}

// die ends the process by s. It does not return.
func die(s syscall.Signal) {
	signal.Reset(s)
	// That is enough for SIGHUP, SIGINT and SIGTERM. The runtime takes no notice of the
	// others, or exits with status 2. x/sys has no sigaction for macOS, so this asks the
	// kernel: struct __sigaction is handler, trampoline, mask and flags, and a handler of
	// zero is SIG_DFL.
	const sigaction = 46
	var action [4]uintptr
	unix.RawSyscall(sigaction, uintptr(s), uintptr(unsafe.Pointer(&action)), 0)
	raise(s)
	time.Sleep(patience)
	os.Exit(128 + int(s))
}

// raise sends s to this process.
func raise(s syscall.Signal) { unix.Kill(os.Getpid(), s) }
