//go:build unix

package nodeerror

import (
	"runtime"
	"syscall"
	"testing"
)

func TestErrnoNumbers(t *testing.T) {
	for _, known := range errnos {
		if code, number := codeOf(known.errno); code != known.code || number != -int(known.errno) {
			t.Errorf("%d is %s %d, want %s", known.errno, code, number, known.code)
		}
	}
	if runtime.GOOS == "linux" {
		// The table has Linux's numbers, as Node printed them.
		for _, e := range table {
			errno, ok := errnoOf(e.code)
			if ok && -int(errno) != e.linux {
				t.Errorf("%s is %d, want %d", e.code, -int(errno), e.linux)
			}
			if !ok && e.linux > -3000 {
				t.Errorf("%s is missing", e.code)
			}
		}
	}
}

// An error that libuv has no name for: the quota of an NFS server, say.
func TestUnnamedErrno(t *testing.T) {
	err := FromErrno("mkdir", "a", "", 9999)
	const want = "Unknown system error -9999: Unknown system error -9999, mkdir 'a'"
	if err.Code != "Unknown system error -9999" || err.Errno != -9999 || err.Error() != want {
		t.Errorf("%+v: %v", *err, err)
	}
	if runtime.GOOS == "linux" {
		if code := FromErrno("mkdir", "a", "", syscall.EDQUOT).Code; code != "Unknown system error -122" {
			t.Error(code)
		}
	}
}
