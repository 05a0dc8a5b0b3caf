package main

import (
	"os"
	"syscall"
)

// passedOn are the signals that end run without ending the lock; the console sends the
// command its own.
var passedOn = []os.Signal{os.Interrupt, syscall.SIGTERM}

// signalStatus is how a shell tells that a signal ended a process.
func signalStatus(s os.Signal) int { return 128 + int(s.(syscall.Signal)) }

func exitStatus(p *os.ProcessState) int { return p.ExitCode() }
