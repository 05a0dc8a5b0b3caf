//go:build !linux

package live

// unremovable is for Linux only. Tests of internal/lockdir have other ways.
func unremovable(string) (restore func() error, err error) { return nothing, errNotPossible }
