package exithook

import (
	"os"
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// fatal are the signals of L23 that FreeBSD has.
var fatal = []syscall.Signal{
	unix.SIGABRT, unix.SIGALRM, unix.SIGHUP, unix.SIGINT, unix.SIGTERM,
	unix.SIGVTALRM, unix.SIGXCPU, unix.SIGXFSZ, unix.SIGUSR2, unix.SIGTRAP,
	unix.SIGSYS, unix.SIGQUIT,
}

// die ends the process by s. It does not return.
func die(s syscall.Signal) {
	// The signal must not be blocked in the thread that sends it, which then does not
	// come back from kill.
	runtime.LockOSThread()
	const unblock = 2 // SIG_UNBLOCK
	mask := [4]uint32{1 << (uint(s) - 1)}
	unix.RawSyscall(unix.SYS_SIGPROCMASK, unblock, uintptr(unsafe.Pointer(&mask)), 0)
	// struct sigaction: handler, flags, mask. Zero is SIG_DFL.
	var action [8]uintptr
	unix.RawSyscall(unix.SYS_SIGACTION, uintptr(s), uintptr(unsafe.Pointer(&action)), 0)
	raise(s)
	time.Sleep(patience)
	os.Exit(128 + int(s))
}

// raise sends s to this process.
func raise(s syscall.Signal) { unix.Kill(os.Getpid(), s) }
