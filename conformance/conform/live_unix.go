//go:build unix

package main

import (
	"fmt"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// signalChecks has a holder die of every signal that a process can catch, after which
// nothing is left, and of SIGKILL, after which the other side takes over.
func signalChecks(name, holder, other string) []check {
	var checks []check
	for _, s := range slices.Concat(fatalSignals, systemSignals) {
		checks = append(checks, check{name, fmt.Sprintf("%s dies of %s", holder, unix.SignalName(s)), func(t *trial) (string, error) {
			return t.lockfileKilled(holder, other, s)
		}})
	}
	return append(checks, check{name, fmt.Sprintf("%s dies of SIGKILL, %s takes over", holder, other), func(t *trial) (string, error) {
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
func (t *trial) lockfileKilled(holding, taking string, s syscall.Signal) (string, error) {
	c := command{Do: "lock", System: "lockfile", ID: "a", Path: t.path("a.lock")}
	other, err := t.killed(holding, taking, c, s)
	if err != nil || s != syscall.SIGKILL {
		return "", err // that nothing is left is looked at after every check
	}
	if err := expectLocked(other, c, true); err != nil {
		return "", err
	}
	c.Options = options{Stale: 100, Wait: 60_000, PollPeriod: 10}
	if _, err := other.must(c); err != nil {
		return "", err
	}
	return "", release(other, c)
}

// killed has a holder die of a signal, and returns the other participant.
func (t *trial) killed(holding, taking string, c command, s syscall.Signal) (*participant, error) {
	holder, other, err := t.startTwo(holding, taking)
	if err != nil {
		return nil, err
	}
	if _, err := holder.must(c); err != nil {
		return nil, err
	}
	if err := holder.cmd.Process.Signal(s); err != nil {
		return nil, err
	}
	if err := holder.wait(); err != nil {
		return nil, err
	}
	status := holder.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !status.Signaled() || status.Signal() != s {
		return nil, fmt.Errorf("%s ended otherwise: %v", holding, holder.cmd.ProcessState)
	}
	return other, nil
}

// properSignalChecks have a holder end, and stop, in the ways that matter to a lock with
// a heartbeat.
func properSignalChecks(name, holder, other string) []check {
	signalled := func(title string, s syscall.Signal) check {
		return check{name, title, func(t *trial) (string, error) {
			return t.withTarget(name, func(c command) (string, error) {
				c.Do = "lock"
				taker, err := t.killed(holder, other, c, s)
				if err != nil || s != syscall.SIGKILL {
					return "", err
				}
				return "", takeOver(taker, c)
			})
		}}
	}
	return []check{
		signalled(fmt.Sprintf("%s dies of SIGTERM", holder), syscall.SIGTERM),
		signalled(fmt.Sprintf("%s dies of SIGKILL, %s takes over", holder, other), syscall.SIGKILL),
		{name, fmt.Sprintf("%s is stopped, %s takes over, %s goes on and learns of it", holder, other, holder), func(t *trial) (string, error) {
			return t.withTarget(name, func(c command) (string, error) { return t.stopped(holder, other, c) })
		}},
	}
}

// takeOver waits for a lock to go stale, and takes and releases it.
func takeOver(p *participant, c command) error {
	if err := expectLocked(p, c, true); err != nil {
		return err
	}
	if err := waitAndLock(p, c); err != nil {
		return err
	}
	return release(p, c)
}

func waitAndLock(p *participant, c command) error {
	c.Do, c.Options.Schedule = "lock", schedule{Retries: 1000, Factor: 1, MinTimeout: 50}
	_, err := p.must(c)
	return err
}

// stopped stops a holder past the threshold. The other side takes the lock over; when
// the holder goes on it finds that out, and leaves the other's lock alone.
func (t *trial) stopped(holding, taking string, c command) (string, error) {
	holder, other, err := t.startTwo(holding, taking)
	if err != nil {
		return "", err
	}
	c.Do = "lock"
	if _, err := holder.must(c); err != nil {
		return "", err
	}
	if err := holder.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		return "", err
	}
	if err := waitAndLock(other, c); err != nil {
		return "", err
	}
	if err := holder.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		return "", err
	}
	began := time.Now()
	for {
		err := expectLost(holder, c, "ECOMPROMISED")
		if err == nil {
			break
		}
		if time.Since(began) > callLimit {
			return "", err
		}
		time.Sleep(10 * time.Millisecond)
	}
	took := time.Since(began)
	a, err := holder.call(command{Do: "release", System: c.System, ID: c.ID})
	if err != nil {
		return "", err
	}
	if a.Error == nil || a.Error.Code != "ERELEASED" {
		return "", fmt.Errorf("%s: release after the loss: %v", holding, a.Error)
	}
	// Two heartbeats of the new owner later it has not lost anything.
	time.Sleep(2500 * time.Millisecond)
	if err := expectLost(other, c, ""); err != nil {
		return "", err
	}
	return fmt.Sprintf("learned of it %.1f s after going on", took.Seconds()), release(other, c)
}
