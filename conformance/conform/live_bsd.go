//go:build unix && !linux

package main

import "syscall"

var systemSignals []syscall.Signal
