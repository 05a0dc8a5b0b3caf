// Package host is the seam between an engine and the machine that it runs on: its name,
// its processes, and chance.
package host

import (
	cryptorand "crypto/rand"
	"math/rand/v2"
	"os"

	"github.com/seed-c461eb89/nodelock/internal/callerror"
)

// System is the machine that this process runs on.
type System struct{}

// Hostname returns the name that Node's os.hostname() gives.
func (System) Hostname() (string, error) { return os.Hostname() }

// Pid returns this process's number.
func (System) Pid() int { return os.Getpid() }

// Kill sends no signal to the process pid but tells what would come of it: nil if the
// process is there, ESRCH if it is not, EPERM if it is another user's. Pid is greater
// than 0.
//
// A process that has ended and has not been waited for is there, on Unix. A process in
// another PID namespace is not.
func (System) Kill(pid int) error {
	if errno := probe(pid); errno != 0 {
		return callerror.FromErrno("kill", "", "", errno)
	}
	return nil
}

// Random fills p with bytes that nobody can guess.
func (System) Random(p []byte) {
	// It never fails: the runtime ends the process if the system has none.
	_, _ = cryptorand.Read(p)
}

// Fraction returns a number in [0, 1), for jitter.
func (System) Fraction() float64 { return rand.Float64() }
