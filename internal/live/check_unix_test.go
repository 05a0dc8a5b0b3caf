//go:build unix

package live

import (
	"io"
	"os/exec"
	"strings"
	"testing"
)

// A participant in Python, written from the contracts, passes. One whose heartbeat never
// looks does not: it never learns that its lock was taken over, and nothing else fails.
func TestCheckPython(t *testing.T) {
	if testing.Short() {
		t.Skip("the checks of a participant take a while: not with -short")
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skipf("the participant in Python needs Python: %v", err)
	}
	for _, test := range []struct {
		name   string
		args   []string
		failed string // the check that fails
		says   string
	}{
		{"complete", nil, "", ""},
		{"naive", []string{"--naive"}, "candidate goes on and learns of it", `lost "", not "ECOMPROMISED"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			command := append([]string{python, "../../conformance/python/participant.py"}, test.args...)
			result, err := Check(command, true, io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			found := test.failed == ""
			for _, o := range result.Outcomes {
				switch {
				case o.Err == nil:
				case test.failed != "" && strings.Contains(o.Check, test.failed) && strings.Contains(o.Err.Error(), test.says):
					found = true
				default:
					t.Errorf("%s: %s: %v", o.System, o.Check, o.Err)
				}
			}
			if !found {
				t.Errorf("the check %q passed", test.failed)
			}
		})
	}
}

// What is no participant is one error.
func TestCheckNoParticipant(t *testing.T) {
	for _, test := range []struct{ script, says string }{
		{`exit 0`, "no participant"},
		{`echo broken >&2; exit 1`, "broken"},
		{`read line; echo nonsense`, "no participant"},
		{`read line; echo '{"protocol":7,"systems":["lockfile"]}'`, "version 7"},
		{`read line; echo '{"protocol":1}'`, "names no systems"},
		{`read line; echo '{"protocol":1,"systems":["mine"]}'`, "none of the systems"},
	} {
		_, err := Check([]string{"sh", "-c", test.script}, true, io.Discard)
		if err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v, want %s", test.script, err, test.says)
		}
	}
	if _, err := Check([]string{"there-is-no-such-program"}, true, io.Discard); err == nil {
		t.Error("no error for a program that is not there")
	}
}
