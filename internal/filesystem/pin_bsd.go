//go:build unix && !linux

package filesystem

// pin needs permission to read.
func pin(path string) (Handle, error) { return pinForFlock(path) }
