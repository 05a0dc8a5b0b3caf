package conformance

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// What only scenarios of lockdir have: a machine, files with something in them, and
// events that happen at a call.

// A Machine is what the program runs on.
type Machine struct {
	// Platform is "posix" or "win32": what the protocol makes of it. The files are those
	// of POSIX on both.
	Platform string `json:"platform,omitempty"`
	Hostname string `json:"hostname,omitempty"`
	Pid      int    `json:"pid,omitempty"`
	// Processes are the others by number, each "running", or "foreign" if it is another
	// user's.
	Processes map[string]string `json:"processes,omitempty"`
	// Random are the fractions that chance gives. The last one goes on.
	Random []float64 `json:"random,omitempty"`
}

const (
	defaultHostname = "here"
	defaultPid      = 100
	defaultFraction = 0.5
)

// A Trigger is a call that an event happens at.
type Trigger struct {
	Syscall string `json:"syscall"`
	Path    string `json:"path,omitempty"`
	// Call counts the calls from 1, which is the default.
	Call int `json:"call,omitempty"`
	// After: the event follows the call. Without, it comes just before.
	After bool `json:"after,omitempty"`
}

// checkMachine checks what only lockdir has, and fills in the defaults.
func (s *Scenario) checkMachine() error {
	if s.API != "lockdir" {
		return s.refuseMachine()
	}
	if s.Machine == nil {
		s.Machine = &Machine{}
	}
	m := s.Machine
	if m.Platform == "" {
		m.Platform = "posix"
	}
	if m.Hostname == "" {
		m.Hostname = defaultHostname
	}
	if m.Pid == 0 {
		m.Pid = defaultPid
	}
	if len(m.Random) == 0 {
		m.Random = []float64{defaultFraction}
	}
	if m.Platform != "posix" && m.Platform != "win32" {
		return fmt.Errorf("machine: platform %q is not one of posix, win32", m.Platform)
	}
	for pid, state := range m.Processes {
		if n, err := strconv.Atoi(pid); err != nil || n < 1 {
			return fmt.Errorf("machine: %q is not the number of a process", pid)
		}
		if state != "running" && state != "foreign" {
			return fmt.Errorf("machine: processes[%q]: %q is not one of running, foreign", pid, state)
		}
	}
	for _, fraction := range m.Random {
		if fraction < 0 || fraction >= 1 {
			return fmt.Errorf("machine: random: %v is not in [0, 1)", fraction)
		}
	}
	for i, step := range s.Steps {
		field := fmt.Sprintf("steps[%d]", i)
		switch step.Call {
		case "acquire", "acquireWait":
			if step.Path == "" || (step.Vault == "") == (step.Dir == "") {
				return fmt.Errorf("%s: %s needs a path, and a vault or a dir", field, step.Call)
			}
		case "verify":
			if step.Of == nil || *step.Of < 0 || *step.Of >= i {
				return fmt.Errorf("%s: of must be the index of an earlier step", field)
			}
		}
	}
	for i, e := range s.World {
		if on := e.On; on != nil {
			switch {
			case !slices.Contains(traceCalls, on.Syscall):
				return fmt.Errorf("world[%d]: on: syscall %q is not one of a trace", i, on.Syscall)
			case on.Call < 0:
				return fmt.Errorf("world[%d]: on: calls are counted from 1", i)
			case e.At != 0:
				return fmt.Errorf("world[%d]: has both at and on", i)
			}
		}
	}
	return nil
}

func (s *Scenario) refuseMachine() error {
	const only = "is for lockdir only"
	if s.Machine != nil {
		return errors.New("machine: " + only)
	}
	for path, spec := range s.Files {
		if spec.Type == "fifo" || spec.Content != nil || spec.Size != 0 {
			return fmt.Errorf("files[%q]: fifo, content and size are for lockdir only", path)
		}
	}
	for i, e := range s.World {
		if e.On != nil || e.Content != nil || e.Do == "exit" {
			return fmt.Errorf("world[%d]: on, content and exit are for lockdir only", i)
		}
	}
	for i, step := range s.Steps {
		if step.Vault != "" || step.Dir != "" {
			return fmt.Errorf("steps[%d]: vault and dir are for lockdir only", i)
		}
	}
	return nil
}

// contentOf returns what is in a file: a JSON string is its text, and anything else is
// the JSON itself as JSON.stringify(content, null, 2) writes it. Size pads it with
// spaces.
func contentOf(content json.RawMessage, size int) string {
	var text string
	if json.Unmarshal(content, &text) != nil && len(content) > 0 {
		var b bytes.Buffer
		_ = json.Indent(&b, content, "", "  ") // it was decoded before
		text = b.String()
	}
	if missing := size - len(text); missing > 0 {
		text += strings.Repeat(" ", missing)
	}
	return text
}
