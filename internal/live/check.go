package live

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"

	"github.com/seed-c461eb89/nodelock/conformance/participant"
)

// Candidate is the side of the program that is judged.
const Candidate = "candidate"

// A Candidacy is what a program said of itself, and the outcomes of its checks.
type Candidacy struct {
	Version  string
	Outcomes []Outcome
	// NotApplicable are the systems that it does not have, of those that can be checked.
	NotApplicable []string
}

// Check runs the command as a participant, beside those of this program, and returns what
// came of each check. It needs no Node. An error says that the command is no participant:
// then nothing was checked. What the checks wrote is removed in either case.
func Check(command []string, quick bool, progress io.Writer) (*Candidacy, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	path, err := exec.LookPath(command[0])
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "nodelock-check-")
	if err != nil {
		return nil, err
	}
	l := &Harness{Quick: quick, dir: dir, self: self, candidate: slices.Concat([]string{path}, command[1:])}
	defer l.Remove()
	hello, err := l.greet()
	if err != nil {
		return nil, fmt.Errorf("%q is no participant: %w", command, err)
	}
	result := &Candidacy{Version: hello.Version}
	var checks []check
	all := slices.Concat(lockfileChecks(Candidate, "Go"), properLockfileChecks(Candidate, "Go"))
	for _, c := range all {
		switch {
		case slices.Contains(hello.Systems, c.system):
			checks = append(checks, c)
		case !slices.Contains(result.NotApplicable, c.system):
			result.NotApplicable = append(result.NotApplicable, c.system)
		}
	}
	if len(checks) == 0 {
		return nil, fmt.Errorf("%q has none of the systems %q, but %q", command, result.NotApplicable, hello.Systems)
	}
	result.Outcomes = l.runAll(progress, checks)
	return result, nil
}

// greet asks the candidate what it is.
func (l *Harness) greet() (hello participant.Answer, err error) {
	err = catch(func() {
		p := start(Candidate, exec.Command(l.candidate[0], l.candidate[1:]...))
		defer p.stop()
		hello = p.do(command{Do: "hello"})
	})
	if err == nil && hello.Protocol != participant.Version {
		err = fmt.Errorf("it speaks version %d of the protocol, not %d", hello.Protocol, participant.Version)
	}
	if err == nil && hello.Systems == nil {
		err = errors.New("its answer to hello names no systems")
	}
	return hello, err
}
