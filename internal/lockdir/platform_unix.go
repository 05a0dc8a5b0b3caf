//go:build unix

package lockdir

// System returns this system's platform.
func System() Platform { return POSIX() }
