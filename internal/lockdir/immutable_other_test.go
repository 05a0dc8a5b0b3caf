//go:build unix && !linux

package lockdir_test

import "errors"

func makeImmutable(string) (restore func() error, err error) {
	return nil, errors.New("no way to keep it from root is known here")
}
