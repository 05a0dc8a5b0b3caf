//go:build !linux

package exithook

import "syscall"

// canTell reports whether listening knows of a signal.
func canTell(syscall.Signal) bool { return false }

// listening is not known.
func listening(syscall.Signal) bool { return false }
