package exithook

import (
	"os"
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// fatal are the signals of L23 that Linux has. SIGIOT, SIGPOLL and SIGUNUSED are
// other names for some of them, and MIPS has no SIGSTKFLT.
var fatal = []syscall.Signal{
	unix.SIGABRT, unix.SIGALRM, unix.SIGHUP, unix.SIGINT, unix.SIGTERM,
	unix.SIGVTALRM, unix.SIGXCPU, unix.SIGXFSZ, unix.SIGUSR2, unix.SIGTRAP,
	unix.SIGSYS, unix.SIGQUIT,
	unix.SIGIO, unix.SIGPWR, unix.SIGSTKFLT,
}

// die ends the process by s. It does not return.
func die(s syscall.Signal) {
	setAction(s, &action{})
	raise(s)
	// The kernel spares the first process of a container.
	if os.Getpid() != 1 {
		time.Sleep(patience)
	}
	os.Exit(128 + int(s))
}

// raise sends s to this very thread, where it is not blocked, so that it has arrived
// when raise returns.
func raise(s syscall.Signal) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var one, before unix.Sigset_t
	bits := 8 * int(unsafe.Sizeof(one.Val[0]))
	one.Val[(int(s)-1)/bits] = 1 << ((int(s) - 1) % bits)
	unix.PthreadSigmask(unix.SIG_UNBLOCK, &one, &before)
	unix.Tgkill(os.Getpid(), unix.Gettid(), s)
	unix.PthreadSigmask(unix.SIG_SETMASK, &before, nil)
}

// An action is the kernel's struct sigaction. The zero value is SIG_DFL.
type action struct {
	handler  uintptr
	flags    uint64
	restorer uintptr
	mask     uint64
}

// setAction bypasses os/signal, which has no SIG_DFL.
func setAction(s syscall.Signal, a *action) {
	unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(s), uintptr(unsafe.Pointer(a)), 0, unsafe.Sizeof(a.mask), 0, 0)
}

func getAction(s syscall.Signal) (a action) {
	unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(s), 0, uintptr(unsafe.Pointer(&a)), unsafe.Sizeof(a.mask), 0, 0)
	return a
}
