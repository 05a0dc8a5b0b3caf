//go:build unix

package live

import (
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-c461eb89/nodelock/compat/lockfile"
)

// signalChecks has a holder die of every signal that a process can catch, after which
// nothing is left, and of SIGKILL, after which the other side takes over.
func signalChecks(name, holder, other string) []check {
	var checks []check
	for _, s := range slices.Concat(fatalSignals, systemSignals) {
		checks = append(checks, check{name, fmt.Sprintf("%s dies of %s", holder, unix.SignalName(s)), func(t *trial) string {
			return t.lockfileKilled(holder, other, s)
		}})
	}
	return append(checks, check{name, fmt.Sprintf("%s dies of SIGKILL, %s takes over", holder, other), func(t *trial) string {
		return t.lockfileKilled(holder, other, syscall.SIGKILL)
	}})
}

// fatalSignals are those of L23 that every Unix has.
var fatalSignals = []syscall.Signal{
	syscall.SIGABRT, syscall.SIGALRM, syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM,
	syscall.SIGVTALRM, syscall.SIGXCPU, syscall.SIGXFSZ, syscall.SIGUSR2, syscall.SIGTRAP,
	syscall.SIGSYS, syscall.SIGQUIT,
}

// lockfileKilled sends a signal to a holder.
func (t *trial) lockfileKilled(holding, taking string, s syscall.Signal) string {
	c := command{Do: "lock", System: "lockfile", ID: "a", Path: t.path("a.lock")}
	other := t.killed(holding, taking, c, s)
	if s != syscall.SIGKILL {
		return "" // that nothing is left is looked at after every check
	}
	expectLocked(other, c, true)
	c.Options = options{Stale: 100, Wait: 60_000, PollPeriod: 10}
	other.do(c)
	release(other, c)
	return ""
}

// signal sends the process a signal.
func (p *process) signal(s os.Signal) { must(p.cmd.Process.Signal(s)) }

// killed has a holder die of a signal, and returns the other participant.
func (t *trial) killed(holding, taking string, c command, s syscall.Signal) *process {
	holder, other := t.startTwo(holding, taking)
	holder.do(c)
	holder.signal(s)
	holder.wait()
	if !endedBy(holding, holder.cmd.ProcessState.Sys().(syscall.WaitStatus), s) {
		failf("%s ended otherwise: %v", holding, holder.cmd.ProcessState)
	}
	return other
}

// endedBy reports whether a process ended as one does that cleans up on a signal: Node by
// the signal, and Go as it does without the clean-up. A candidate may end as it likes.
func endedBy(side string, status syscall.WaitStatus, s syscall.Signal) bool {
	switch side {
	case Candidate:
		return true // that it ended, and left nothing, is what counts
	case "Go":
		switch s {
		case syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL:
		case syscall.SIGALRM, syscall.SIGVTALRM, syscall.SIGXCPU, syscall.SIGXFSZ, syscall.SIGUSR2, syscall.SIGIO, unix.SignalNum("SIGPWR"):
			return status.ExitStatus() == 128+int(s) // Go's runtime takes no notice of it
		default:
			return status.ExitStatus() == 2 // after a dump
		}
	}
	return status.Signaled() && status.Signal() == s
}

// cleanupOnSignals has a Go participant do as Node's packages do (L23).
func cleanupOnSignals() (stop func()) {
	var signals []os.Signal
	for _, s := range slices.Concat(fatalSignals, systemSignals) {
		signals = append(signals, s)
	}
	return lockfile.CleanupOnSignals(signals...)
}

// properSignalChecks have a holder end, and stop, in the ways that matter to a lock with
// a heartbeat.
func properSignalChecks(name, holder, other string) []check {
	signalled := func(title string, s syscall.Signal) check {
		return check{name, title, func(t *trial) string {
			return t.withTarget(name, func(c command) string {
				c.Do = "lock"
				taker := t.killed(holder, other, c, s)
				if s == syscall.SIGKILL {
					// It goes stale.
					expectLocked(taker, c, true)
					waitAndLock(taker, c)
					release(taker, c)
				}
				return ""
			})
		}}
	}
	return []check{
		signalled(fmt.Sprintf("%s dies of SIGTERM", holder), syscall.SIGTERM),
		signalled(fmt.Sprintf("%s dies of SIGKILL, %s takes over", holder, other), syscall.SIGKILL),
		{name, fmt.Sprintf("%s is stopped, %s takes over, %s goes on and learns of it", holder, other, holder), func(t *trial) string {
			return t.withTarget(name, func(c command) string { return t.stopped(holder, other, c) })
		}},
	}
}

func waitAndLock(p *process, c command) {
	c.Do, c.Options.Schedule = "lock", schedule{Retries: 1000, Factor: 1, MinTimeout: 50}
	p.do(c)
}

// learnLimit is many heartbeats: a holder that goes on learns of its loss by the first.
const learnLimit = 20 * time.Second

// stopped stops a holder past the threshold. The other side takes the lock over; when
// the holder goes on it finds that out, and leaves the other's lock alone.
func (t *trial) stopped(holding, taking string, c command) string {
	holder, other := t.startTwo(holding, taking)
	c.Do = "lock"
	holder.do(c)
	holder.signal(syscall.SIGSTOP)
	waitAndLock(other, c)
	holder.signal(syscall.SIGCONT)
	began := time.Now()
	for {
		err := catch(func() { expectLost(holder, c, "ECOMPROMISED") })
		if err == nil {
			break
		}
		if time.Since(began) > learnLimit {
			failf("%v after going on: %w", learnLimit, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
	took := time.Since(began)
	if a := holder.call(command{Do: "release", System: c.System, ID: c.ID}); a.Error == nil || a.Error.Code != "ERELEASED" {
		failf("%s: release after the loss: %v", holding, a.Error)
	}
	// Two heartbeats of the new owner later it has not lost anything.
	time.Sleep(2500 * time.Millisecond)
	expectLost(other, c, "")
	release(other, c)
	return fmt.Sprintf("learned of it %.1f s after going on", took.Seconds())
}
