// Package properlock has what a lock of proper-lockfile is to every engine that takes one:
// where it is (P1), and how the thresholds follow from the options (P3).
package properlock

import (
	"cmp"
	"time"
)

const (
	defaultStale = 10 * time.Second
	leastStale   = 2 * time.Second
	leastUpdate  = time.Second
)

// Path returns the directory that is the lock of a file (P1).
func Path(file string) string { return file + ".lock" }

// Stale returns the threshold that an option stands for; 0 is an option that is not given.
func Stale(option time.Duration) time.Duration {
	return max(cmp.Or(option, defaultStale), leastStale)
}

// Update returns the time between two heartbeats; 0 is an option that is not given.
func Update(option, stale time.Duration) time.Duration {
	half := stale / 2
	return max(min(cmp.Or(option, half), half), leastUpdate)
}
