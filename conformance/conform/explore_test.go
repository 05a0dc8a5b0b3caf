package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestExplore runs the explorer by its command line.
func TestExplore(t *testing.T) {
	for _, row := range []struct {
		args   string
		status int
		want   string
	}{
		{"explore proper4-takeover lockfile-async", 0, "2 configurations, 442 states and 628 steps in "},
		{"explore -transcripts lockfile-async", 0, "violated: nothing stranded: a.lock.STALE stays, of B\n"},
		{"explore -replay lockfile-sync:BBAAAAB", 0, "violated: live locks are safe\n"},
		{"explore -replay lockfile-sync:BBAAAAB+", 2, "is not possible"},
		{"explore -replay lockfile-sync", 2, "a seed is"},
		{"explore nothing", 2, "there is no configuration \"nothing\""},
	} {
		var stdout, stderr bytes.Buffer
		status := run(strings.Fields(row.args), strings.NewReader(""), &stdout, &stderr)
		if out := stdout.String() + stderr.String(); status != row.status || !strings.Contains(out, row.want) {
			t.Errorf("%s: status %d, want %d and %q:\n%s", row.args, status, row.status, row.want, out)
		}
	}
}
