package exithook

import (
	"os"
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
	// struct __sigaction: handler, trampoline, mask, flags. Zero is SIG_DFL.
	var action [4]uintptr
	unix.RawSyscall(unix.SYS_SIGACTION, uintptr(s), uintptr(unsafe.Pointer(&action)), 0)
	raise(s)
	time.Sleep(patience)
	os.Exit(128 + int(s))
}

// raise sends s to this process.
func raise(s syscall.Signal) { unix.Kill(os.Getpid(), s) }
