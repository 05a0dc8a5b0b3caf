//go:build !linux

package exithook

import (
	"os"
	"syscall"
)

// canTell reports whether listening knows of a signal.
func canTell(syscall.Signal) bool { return false }

// listening is not known.
func listening(syscall.Signal, chan os.Signal) bool { return false }
