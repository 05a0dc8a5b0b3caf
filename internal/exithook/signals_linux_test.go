package exithook

import (
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// The kernel does not kill the first process of a container by a signal that it sends
// itself.
func TestFirstProcess(t *testing.T) {
	t.Parallel()
	if err := (&exec.Cmd{Path: "/bin/true", SysProcAttr: &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}}).Run(); err != nil {
		t.Skip(err)
	}
	p := start(t, func(c *exec.Cmd) {
		c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
	})
	p.do("catch", "add a")
	p.signal(unix.SIGTERM)
	if status := p.wait(); !status.Exited() || status.ExitStatus() == 0 {
		t.Errorf("ended with %v", p.command.ProcessState)
	}
	p.cleaned("a")
}
