//go:build unix

package main

import (
	"fmt"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// signalChecks has a holder die of every signal that a process can catch, after which
// nothing is left, and of SIGKILL, after which the other side takes over.
func signalChecks(name, holder, other string) []check {
	var checks []check
	for _, s := range slices.Concat(fatalSignals, systemSignals) {
		checks = append(checks, check{system: name, name: fmt.Sprintf("%s dies of %s", holder, unix.SignalName(s)), try: func(l *liveRun) (string, error) {
			return l.killed(holder, other, command{System: name, Path: l.path("a.lock")}, s)
		}})
	}
	return append(checks, check{system: name, name: fmt.Sprintf("%s dies of SIGKILL, %s takes over", holder, other), try: func(l *liveRun) (string, error) {
		return l.killed(holder, other, command{System: name, Path: l.path("a.lock")}, syscall.SIGKILL)
	}})
}

// fatalSignals are those of L23 that every Unix has.
var fatalSignals = []syscall.Signal{
	syscall.SIGABRT, syscall.SIGALRM, syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM,
	syscall.SIGVTALRM, syscall.SIGXCPU, syscall.SIGXFSZ, syscall.SIGUSR2, syscall.SIGTRAP,
	syscall.SIGSYS, syscall.SIGQUIT,
}

// killed sends a signal to a holder.
func (l *liveRun) killed(holding, taking string, c command, s syscall.Signal) (string, error) {
	holder, other, err := l.startTwo(holding, taking)
	if err != nil {
		return "", err
	}
	c.Do, c.ID = "lock", "a"
	if _, err := holder.must(c); err != nil {
		return "", err
	}
	if err := holder.cmd.Process.Signal(s); err != nil {
		return "", err
	}
	if err := holder.wait(); err != nil {
		return "", err
	}
	status := holder.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !status.Signaled() || status.Signal() != s {
		return "", fmt.Errorf("%s ended otherwise: %v", holding, holder.cmd.ProcessState)
	}
	if s != syscall.SIGKILL {
		return "", nil // that nothing is left is looked at after every check
	}
	if err := expectLocked(other, c, true); err != nil {
		return "", err
	}
	c.Options = map[string]float64{"stale": 100, "wait": 60_000, "pollPeriod": 10}
	if _, err := other.must(c); err != nil {
		return "", err
	}
	_, err = other.must(command{Do: "release", System: c.System, ID: c.ID})
	return "", err
}
