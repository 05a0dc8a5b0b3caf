//go:build unix

package exithook

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestCleansAndDies(t *testing.T) {
	for _, s := range fatal {
		t.Run(name(s), func(t *testing.T) {
			t.Parallel()
			p := start(t)
			p.do("add a", "add b", "add c", "remove b")
			p.signal(s)
			p.diesOf(s)
			p.cleaned("a", "c")
		})
	}
}

func TestQuitDumpsTheGoroutines(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.do("add a", "deadlock")
	p.signal(unix.SIGQUIT)
	p.diesOf(unix.SIGQUIT)
	p.cleaned("a")
	if !strings.Contains(p.stderr.String(), "waitsForTheMutex") {
		t.Error("no stack of the goroutine that hangs")
	}
}

// There is nobody to read the dump.
func TestQuitWithoutStandardError(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p := start(t, func(c *exec.Cmd) { c.Stderr = w })
	w.Close()
	r.Close()
	p.do("add a")
	p.signal(unix.SIGQUIT)
	p.diesOf(unix.SIGQUIT)
	p.cleaned("a")
}

// A signal that the process sends itself is one like any other.
func TestAbort(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.do("add a")
	fmt.Fprintln(p.stdin, "abort")
	p.diesOf(unix.SIGABRT)
	p.cleaned("a")
	if !strings.Contains(p.stderr.String(), "goroutine 1 ") {
		t.Error("no dump")
	}
}

// What is added by a Clean is cleaned, and to remove oneself is allowed.
func TestAddedDuringCleanUp(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.do("readd a b", "add c")
	p.signal(unix.SIGTERM)
	p.diesOf(unix.SIGTERM)
	p.cleaned("a", "c", "b")
}

func TestAddedWhileOthersComeAndGo(t *testing.T) {
	t.Parallel()
	for range 20 {
		p := start(t)
		p.do("churn", "add a")
		p.signal(unix.SIGINT)
		p.diesOf(unix.SIGINT)
		p.mutex.Lock()
		n := p.count("clean a")
		p.mutex.Unlock()
		if n != 1 {
			t.Errorf("cleaned %d times", n)
		}
	}
}

// A second signal does not cut a clean-up short.
func TestSecondSignalDuringCleanUp(t *testing.T) {
	t.Parallel()
	for _, second := range []unix.Signal{unix.SIGTERM, unix.SIGINT} {
		p := start(t)
		p.do("addslow a", "add b")
		p.signal(unix.SIGTERM)
		p.said("cleaning", 1)
		p.signal(second)
		p.signal(unix.SIGUSR1)
		p.diesOf(unix.SIGTERM)
		p.said("cleaned", 1)
		p.cleaned("a", "b")
	}
}

// A second signal ends a clean-up that hangs.
func TestSecondSignalDuringHangingCleanUp(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.do("addhanging a")
	p.signal(unix.SIGTERM)
	p.said("clean a", 1)
	p.signal(unix.SIGINT)
	p.diesOf(unix.SIGINT)
}

func TestIgnoredStaysIgnored(t *testing.T) {
	t.Run("by the program", func(t *testing.T) {
		t.Parallel()
		p := start(t)
		p.do("ignore HUP USR2", "add a")
		p.signal(unix.SIGHUP)
		p.signal(unix.SIGUSR2)
		p.do("nothing")
		p.signal(unix.SIGTERM)
		p.diesOf(unix.SIGTERM)
		p.cleaned("a")
	})
	t.Run("by the program later", func(t *testing.T) {
		t.Parallel()
		p := start(t)
		p.do("add a", "ignore HUP USR2")
		p.signal(unix.SIGHUP)
		p.signal(unix.SIGUSR2)
		p.do("nothing")
		p.signal(unix.SIGTERM)
		p.diesOf(unix.SIGTERM)
		p.cleaned("a")
	})
	t.Run("by its parent", func(t *testing.T) {
		t.Parallel()
		// As nohup does.
		p := start(t, func(c *exec.Cmd) {
			c.Args = []string{"sh", "-c", `trap "" HUP; exec "$0"`, c.Path}
			c.Path = "/bin/sh"
		})
		p.do("add a")
		p.signal(unix.SIGHUP)
		p.do("nothing", "add b")
		p.signal(unix.SIGTERM)
		p.diesOf(unix.SIGTERM)
		p.cleaned("a", "b")
	})
}

func TestLeave(t *testing.T) {
	for _, when := range []string{"before", "after"} {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			p := start(t)
			if when == "before" {
				p.do("leave TERM INT USR2", "listen TERM INT", "add a")
			} else {
				p.do("add a", "listen TERM INT", "leave TERM INT USR2")
			}
			p.signal(unix.SIGTERM)
			p.got(unix.SIGTERM, 1)
			p.signal(unix.SIGINT)
			p.got(unix.SIGINT, 1)
			p.signal(unix.SIGUSR2)
			p.do("nothing")
			p.cleaned()
			p.signal(unix.SIGHUP)
			p.diesOf(unix.SIGHUP)
			p.cleaned("a")
		})
	}
	t.Run("all", func(t *testing.T) {
		t.Parallel()
		p := start(t)
		p.do("add a", "leave")
		p.signal(unix.SIGUSR2)
		p.do("nothing", "add b")
		p.signal(unix.SIGTERM)
		p.diesOf(unix.SIGTERM)
		p.cleaned()
	})
}

// When nothing is left to clean, the handlers go in a moment.
func TestHandlersGo(t *testing.T) {
	t.Parallel()
	p := start(t)
	for range 2 {
		p.do("add a", "there", "remove a", "gone")
		// Go's runtime takes no notice of it. The child sends it itself so that it has
		// arrived when the next command comes.
		p.do("raise USR2")
	}
	p.do("add b")
	p.signal(unix.SIGUSR2)
	p.diesOf(unix.SIGUSR2)
	p.cleaned("b")
}

// While the handlers linger, signals do what they do without the hook.
func TestLingeringChangesNothing(t *testing.T) {
	for _, s := range fatal {
		t.Run(name(s), func(t *testing.T) {
			t.Parallel()
			without := start(t)
			without.signal(s)
			with := start(t)
			with.do("linger")
			with.signal(s)
			switch s {
			case unix.SIGHUP, unix.SIGINT, unix.SIGTERM:
				without.diesOf(s)
				with.diesOf(s)
			case unix.SIGQUIT, unix.SIGABRT, unix.SIGTRAP, unix.SIGSYS, stackFault:
				want, got := without.wait(), with.wait()
				if got != want {
					t.Errorf("status %#x, without the hook %#x", got, want)
				}
				if !strings.Contains(with.stderr.String(), "goroutine 1 ") {
					t.Error("no dump by the runtime")
				}
			default:
				without.do("nothing")
				with.do("nothing")
			}
			with.cleaned()
		})
	}
}

// Children get the handlers that they would have got.
func TestNotInherited(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.do("add a")
	for _, s := range []unix.Signal{unix.SIGTERM, unix.SIGUSR2} {
		p.do("exec " + name(s))
	}
	p.cleaned()
	p.signal(unix.SIGTERM)
	p.diesOf(unix.SIGTERM)
	p.cleaned("a")
}
