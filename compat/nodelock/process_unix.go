//go:build unix

package main

import (
	"os"
	"syscall"
)

// passedOn are the signals that the command gets.
var passedOn = []os.Signal{
	syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2,
}

// signalStatus is how a shell tells that a signal ended a process.
func signalStatus(s os.Signal) int { return 128 + int(s.(syscall.Signal)) }

func exitStatus(p *os.ProcessState) int {
	if w := p.Sys().(syscall.WaitStatus); w.Signaled() {
		return signalStatus(w.Signal())
	}
	return p.ExitCode()
}
