//go:build unix

package callerror

import (
	"runtime"
	"syscall"
	"testing"
)

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
