//go:build unix && !linux

package filesystem

import "errors"

func mountReadOnly(string) error {
	return errors.New("skip: only Linux gives a process mounts of its own")
}
