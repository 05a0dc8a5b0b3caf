package live

import (
	"io"
	"os"
	"os/exec"
	"testing"
)

// TestMain lets the test binary be a participant of the live checks.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == ParticipantCommand {
		if Serve(os.Stdin, os.Stdout) != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// needNode skips a test that needs Node where there is none, or fails it where there has
// to be one.
func needNode(t *testing.T) {
	t.Helper()
	for _, needed := range []string{"node", "npm"} {
		if _, err := exec.LookPath(needed); err != nil {
			if os.Getenv("NODELOCK_NODE") == "1" {
				t.Fatal(err)
			}
			t.Skipf("live checks need Node: %v", err)
		}
	}
}

// TestLive runs the live checks where there is a Node.
func TestLive(t *testing.T) {
	needNode(t)
	if testing.Short() {
		t.Skip("live checks take a while: not with -short")
	}
	l, err := New("node", io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Remove()
	l.Quick = true
	for _, o := range l.Run(io.Discard) {
		if o.Err != nil {
			t.Errorf("%s: %s: %v", o.System, o.Check, o.Err)
		}
		t.Logf("%s: %s: %s", o.System, o.Check, o.Figures)
	}
}
