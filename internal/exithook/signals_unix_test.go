//go:build unix

package exithook

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// dumps reports whether Go's runtime prints the stacks of all goroutines and exits with
// status 2 when s arrives.
func dumps(s unix.Signal) bool { return s != unix.SIGHUP && s != unix.SIGINT && s != unix.SIGTERM }

// What the process does in the end is what it does without the clean-up.
func TestCleansAndDies(t *testing.T) {
	for _, s := range ending() {
		s := s.(unix.Signal)
		t.Run(name(s), func(t *testing.T) {
			t.Parallel()
			without := start(t)
			without.signal(s)
			p := start(t)
			p.do("catch", "add a", "add b", "deadlock")
			p.signal(s)
			if want, got := without.wait(), p.wait(); got != want {
				t.Errorf("status %#x, without the clean-up %#x", got, want)
			}
			p.cleaned("a", "b")
			if got := strings.Contains(p.stderr.String(), "waitsForTheMutex"); got != dumps(s) {
				t.Errorf("the stacks are printed: %v, want %v", got, dumps(s))
			}
		})
	}
}

// The standard error of a daemon may lead nowhere.
func TestQuitWithoutStandardError(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p := start(t, func(c *exec.Cmd) { c.Stderr = w })
	w.Close()
	r.Close()
	p.do("catch", "add a")
	p.signal(unix.SIGQUIT)
	p.wait()
	p.cleaned("a")
}

// A process that has not asked for it has no handlers.
func TestNothingIsCaughtUnasked(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.do("add a")
	p.signal(unix.SIGTERM)
	p.diesOf(unix.SIGTERM)
	p.cleaned()
}

// Go's runtime ignores these, and so does the default.
func TestDefaultLeavesWhatGoIgnores(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.do("catch", "add a")
	for _, s := range []unix.Signal{unix.SIGALRM, unix.SIGVTALRM, unix.SIGXCPU, unix.SIGXFSZ, unix.SIGUSR2} {
		p.signal(s)
		p.do("nothing")
	}
	p.signal(unix.SIGTERM)
	p.diesOf(unix.SIGTERM)
	p.cleaned("a")
}

// A signal that Go's runtime ignores ends the process if the program says so.
func TestOnASignalThatGoIgnores(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.do("catch USR2", "add a")
	p.signal(unix.SIGUSR2)
	if status := p.wait(); status.ExitStatus() != 128+int(unix.SIGUSR2) {
		t.Errorf("ended with %v", p.command.ProcessState)
	}
	p.cleaned("a")
}

func TestOnlyTheSignalsThatAreGiven(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.do("catch INT", "add a")
	p.signal(unix.SIGTERM)
	p.diesOf(unix.SIGTERM)
	p.cleaned()
}

func TestStop(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.do("catch", "add a", "stop")
	p.signal(unix.SIGTERM)
	p.diesOf(unix.SIGTERM)
	p.cleaned()
}

// Two packages of a program may both have asked for it.
func TestStopOfOneLeavesTheOther(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.do("catch", "catch", "add a", "stop")
	p.signal(unix.SIGTERM)
	p.diesOf(unix.SIGTERM)
	p.cleaned("a")
}

// A program that listens too gets the signal, and does not prevent the end.
func TestListener(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.do("listen TERM USR1", "catch", "add a")
	p.signal(unix.SIGUSR1)
	p.said("got SIGUSR1", 1)
	p.signal(unix.SIGTERM)
	p.diesOf(unix.SIGTERM)
	p.cleaned("a")
}

// A lock that is being made when the signal arrives is waited for, and the call that makes
// it does not return.
func TestSignalWhileALockIsMade(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.do("catch", "add a", "begin b")
	p.signal(unix.SIGTERM)
	p.do("closed")
	fmt.Fprintln(p.stdin, "end")
	p.diesOf(unix.SIGTERM)
	p.cleaned("a", "b")
	if n := p.count("end"); n != 0 {
		t.Error("the call that makes the lock has returned")
	}
}

// From the moment that the clean-up begins no lock is begun.
func TestNoLockIsBegunDuringTheCleanUp(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.do("catch", "addhanging a")
	p.signal(unix.SIGTERM)
	p.said("clean a", 1)
	fmt.Fprintln(p.stdin, "begin b")
	p.diesOf(unix.SIGTERM)
	if n := p.count("begin b"); n != 0 {
		t.Error("a lock has begun")
	}
}

// A clean-up that hangs has 2 s in all, be it in a Cleaner or in the making of a lock. A
// further signal changes nothing.
func TestBound(t *testing.T) {
	for _, hang := range []string{"addhanging a", "begin a"} {
		t.Run(hang, func(t *testing.T) {
			t.Parallel()
			p := start(t)
			p.do("catch", hang)
			began := time.Now()
			p.signal(unix.SIGTERM)
			p.do("closed")
			for p.command.Process.Signal(unix.SIGINT) == nil {
				select {
				case <-p.ended:
				case <-time.After(100 * time.Millisecond):
				}
			}
			p.diesOf(unix.SIGTERM)
			if took := time.Since(began); took < patience {
				t.Errorf("it was given up after %v", took)
			}
		})
	}
}

func TestIgnoredStaysIgnored(t *testing.T) {
	t.Run("by the program", func(t *testing.T) {
		t.Parallel()
		p := start(t)
		p.do("ignore HUP USR2", "catch HUP USR2 TERM", "add a")
		p.signal(unix.SIGHUP)
		p.signal(unix.SIGUSR2)
		p.do("nothing")
		p.signal(unix.SIGTERM)
		p.diesOf(unix.SIGTERM)
		p.cleaned("a")
	})
	t.Run("all of them", func(t *testing.T) {
		t.Parallel()
		p := start(t)
		p.do("ignore HUP", "catch HUP", "add a")
		p.signal(unix.SIGHUP)
		p.do("nothing", "stop")
		p.signal(unix.SIGTERM)
		p.diesOf(unix.SIGTERM)
		p.cleaned()
	})
	t.Run("by its parent", func(t *testing.T) {
		t.Parallel()
		// As nohup does.
		p := start(t, func(c *exec.Cmd) {
			c.Args = []string{"sh", "-c", `trap "" HUP; exec "$0"`, c.Path}
			c.Path = "/bin/sh"
		})
		p.do("catch", "add a")
		p.signal(unix.SIGHUP)
		p.do("nothing", "add b")
		p.signal(unix.SIGTERM)
		p.diesOf(unix.SIGTERM)
		p.cleaned("a", "b")
	})
}

// Children get the handlers that they would have got.
func TestNotInherited(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.do("catch", "add a")
	for _, s := range []unix.Signal{unix.SIGTERM, unix.SIGUSR2} {
		p.do("exec " + name(s))
	}
	p.cleaned()
	p.signal(unix.SIGTERM)
	p.diesOf(unix.SIGTERM)
	p.cleaned("a")
}
