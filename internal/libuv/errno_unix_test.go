//go:build unix

package libuv

import (
	"runtime"
	"testing"
)

func TestErrnoNumbers(t *testing.T) {
	for _, known := range errnos {
		if code, number := Named(known.errno); code != known.code || number != -int(known.errno) {
			t.Errorf("%d is %s %d, want %s", known.errno, code, number, known.code)
		}
	}
	if runtime.GOOS == "linux" {
		// The table has Linux's numbers, as Node printed them.
		for _, e := range table {
			errno, _, ok := Errno(e.Code)
			if ok && -int(errno) != e.Linux {
				t.Errorf("%s is %d, want %d", e.Code, -int(errno), e.Linux)
			}
			if !ok && e.Linux > -3000 {
				t.Errorf("%s is missing", e.Code)
			}
		}
	}
}
