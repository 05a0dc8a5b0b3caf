//go:build !linux

package mutex

import "time"

// yield lets another process run, for as short as the system can.
func yield() { time.Sleep(20 * time.Microsecond) }
