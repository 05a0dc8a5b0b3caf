//go:build unix

package host

import (
	"os"
	"os/exec"
	"testing"

	"github.com/seed-c461eb89/nodelock/compat/nodeerror"
)

// Another user's process is there too, but not ours to signal.
func TestKillOfOthers(t *testing.T) {
	child := exec.Command("cat")
	stdin, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Skipf("no process to look at: %v", err)
	}
	if err := (System{}).Kill(child.Process.Pid); err != nil {
		t.Errorf("a running process: %v", err)
	}
	stdin.Close()
	if err := child.Wait(); err != nil {
		t.Error(err)
	}
	if os.Getuid() != 0 {
		if err := (System{}).Kill(1); nodeerror.Code(err) != "EPERM" {
			t.Errorf("another user's process: %v, want EPERM", err)
		}
	}
}
