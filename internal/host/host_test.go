package host

import (
	"bytes"
	"os"
	"os/exec"
	"testing"

	"github.com/seed-c461eb89/nodelock/compat/nodeerror"
)

func TestKill(t *testing.T) {
	var h System
	if err := h.Kill(h.Pid()); err != nil {
		t.Errorf("this process: %v", err)
	}
	child := exec.Command(os.Args[0], "-test.run=^$")
	if err := child.Run(); err != nil {
		t.Fatal(err)
	}
	err := h.Kill(child.Process.Pid)
	if nodeerror.Code(err) != "ESRCH" {
		t.Errorf("a process that has ended: %v, want ESRCH", err)
	}
	if want := "ESRCH: no such process, kill"; err != nil && err.Error() != want {
		t.Errorf("the error reads %q, want %q", err, want)
	}
}

func TestRandom(t *testing.T) {
	var h System
	a, b := make([]byte, 16), make([]byte, 16)
	h.Random(a)
	h.Random(b)
	if bytes.Equal(a, b) {
		t.Errorf("twice the same: %x", a)
	}
	for range 1000 {
		if f := h.Fraction(); f < 0 || f >= 1 {
			t.Fatalf("Fraction returned %v", f)
		}
	}
}

func TestHostname(t *testing.T) {
	got, err := System{}.Hostname()
	want, wantErr := os.Hostname()
	if got != want || err != nil || wantErr != nil {
		t.Errorf("got %q, %v", got, err)
	}
}
