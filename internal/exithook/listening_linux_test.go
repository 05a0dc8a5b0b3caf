package exithook

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// If one of these fails with a new Go, see listening_linux.go.

var told = []unix.Signal{
	unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT, unix.SIGABRT,
	unix.SIGUSR2, unix.SIGALRM, unix.SIGVTALRM, unix.SIGXCPU, unix.SIGXFSZ, unix.SIGIO, unix.SIGPWR,
}

func TestProgramListens(t *testing.T) {
	for _, s := range told {
		for _, commands := range [][]string{
			{"listen " + name(s), "add a"},
			{"add a", "listen " + name(s)},
		} {
			t.Run(name(s)+" "+commands[0], func(t *testing.T) {
				t.Parallel()
				p := start(t)
				p.do(commands...)
				for n := range 3 {
					p.signal(s)
					p.got(s, n+1)
				}
				p.do("stop listen")
				p.cleaned()
				p.signal(s)
				p.diesOf(s)
				p.cleaned("a")
			})
		}
	}
}

// A program that stops listening with the first signal has to say that it listens.
func TestProgramStopsListening(t *testing.T) {
	for _, s := range told {
		t.Run(name(s), func(t *testing.T) {
			t.Parallel()
			p := start(t)
			p.do("leave "+name(s), "context "+name(s), "add a")
			p.signal(s)
			p.said("done", 1)
			p.do("nothing")
			p.cleaned()
			other := unix.SIGTERM
			if s == other {
				other = unix.SIGINT
			}
			p.signal(other)
			p.diesOf(other)
			p.cleaned("a")
		})
	}
}

// The second of two signals comes while the hook looks who listens to the first. As it
// must not listen itself for moments, this cannot always go well, but nearly always.
func TestTwiceInARow(t *testing.T) {
	const rounds = 20
	cleaned := 0
	for n := range rounds {
		p := start(t)
		p.do("add a")
		p.signal(unix.SIGTERM)
		time.Sleep(time.Duration(n) * 500 * time.Microsecond)
		p.command.Process.Signal(unix.SIGTERM) // if it still lives
		p.diesOf(unix.SIGTERM)
		cleaned += p.count("clean a")
	}
	if cleaned < rounds/2 {
		t.Errorf("cleaned %d times of %d", cleaned, rounds)
	}
}

func TestProgramHasStoppedListening(t *testing.T) {
	for _, s := range told {
		t.Run(name(s), func(t *testing.T) {
			t.Parallel()
			p := start(t)
			p.do("listen "+name(s), "add a", "stop listen")
			p.signal(s)
			p.diesOf(s)
			p.cleaned("a")
		})
	}
}

// To listen to one signal is not to listen to others.
func TestProgramListensToAnother(t *testing.T) {
	for _, s := range told {
		t.Run(name(s), func(t *testing.T) {
			t.Parallel()
			p := start(t)
			p.do("listen USR1 WINCH", "add a")
			for _, other := range told {
				if other != s {
					p.do("once " + name(other))
				}
			}
			p.signal(s)
			p.diesOf(s)
			p.cleaned("a")
		})
	}
}

func TestProgramListensToEverything(t *testing.T) {
	for _, commands := range [][]string{{"listen", "add a"}, {"add a", "listen"}} {
		t.Run(commands[0], func(t *testing.T) {
			t.Parallel()
			p := start(t)
			p.do(commands...)
			for _, s := range told {
				p.signal(s)
				p.got(s, 1)
			}
			p.do("stop listen")
			p.cleaned()
			p.signal(unix.SIGTERM)
			p.diesOf(unix.SIGTERM)
			p.cleaned("a")
		})
	}
}

// The answer is right in a process that is busy with other things.
func TestListeningInABusyProcess(t *testing.T) {
	p := start(t)
	p.do("collect", "churn", "listen TERM", "add a")
	for n := range 20 {
		p.signal(unix.SIGTERM)
		p.got(unix.SIGTERM, n+1)
	}
	p.do("stop listen")
	p.signal(unix.SIGTERM)
	p.diesOf(unix.SIGTERM)
}
