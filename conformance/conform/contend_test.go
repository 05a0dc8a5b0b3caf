package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/seed-c461eb89/nodelock/internal/live"
)

// The outcomes of live checks are a table, and one that failed makes the command fail.
func TestPrintLive(t *testing.T) {
	passed := live.Outcome{System: "lockfile", Check: "a check", Figures: "7 rounds"}
	broken := live.Outcome{System: "lockdir", Check: "another", Err: errors.New("an overlap")}
	for _, test := range []struct {
		outcomes []live.Outcome
		err      error
		last     string
	}{
		{[]live.Outcome{passed}, nil, "1 checks with Node v1: 1 passed, 0 failed"},
		{[]live.Outcome{passed, broken}, errFailed, "2 checks with Node v1: 1 passed, 1 failed"},
	} {
		var out strings.Builder
		if err := printLive(&out, "v1", test.outcomes, time.Now()); err != test.err {
			t.Errorf("%v, want %v", err, test.err)
		}
		for _, want := range []string{"lockfile  a check", "pass", "7 rounds", test.last} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("there is no %q in\n%s", want, &out)
			}
		}
		if failed := test.err != nil; failed != strings.Contains(out.String(), "FAIL    an overlap") {
			t.Errorf("failed: %t\n%s", failed, &out)
		}
	}
}
