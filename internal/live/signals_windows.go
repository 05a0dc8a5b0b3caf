package live

import (
	"errors"

	"github.com/seed-c461eb89/nodelock/compat/lockfile"
)

// signalChecks are none: Windows has no signals that one process sends to another.
func signalChecks(string, string, string) []check { return nil }

func properSignalChecks(string, string, string) []check { return nil }

func cleanupOnSignals() (stop func()) { return lockfile.CleanupOnSignals() }

func chaosChecks() []check { return nil }

func chaos(system, command) error { return errors.New("there is no chaos on Windows") }
