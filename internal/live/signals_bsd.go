//go:build unix && !linux

package live

import "syscall"

var systemSignals []syscall.Signal
