package main

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/seed-c461eb89/nodelock/testdata"
)

// TestMain lets the test binary be a participant of the live test.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == participantCommand {
		os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// TestReplay holds the engines to every recording, and every contract row to having
// one.
func TestReplay(t *testing.T) {
	r, err := replayAll(testdata.Recordings)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range r.Rows {
		if row.Scenarios == 0 {
			t.Errorf("no recording shows %s %s", row.API, row.Row)
		}
	}
	for _, s := range r.Scenarios {
		t.Run(s.API+" "+s.Version+"/"+s.Scenario, func(t *testing.T) {
			switch {
			case s.Error != "":
				t.Error(s.Error)
			case s.Difference != nil:
				t.Errorf("%s\n%v", s.File, s.Difference)
			}
		})
	}
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
	var stdout, stderr bytes.Buffer
	if status := run([]string{"live", "-quick"}, strings.NewReader(""), &stdout, &stderr); status != 0 {
		t.Errorf("status %d\n%s%s", status, stderr.String(), stdout.String())
	}
	t.Log(stdout.String())
}
