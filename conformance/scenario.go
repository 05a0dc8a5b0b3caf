package conformance

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/seed-c461eb89/nodelock/internal/libuv"
	"github.com/seed-c461eb89/nodelock/internal/sim"
)

// A Scenario is the input of a run, as FORMAT.md describes it. Times are virtual
// milliseconds.
type Scenario struct {
	Name       string              `json:"name"`
	Covers     []string            `json:"covers"`
	API        string              `json:"api"`
	Version    string              `json:"version"`
	Epoch      int64               `json:"epoch"`
	Timestamps string              `json:"timestamps"`
	Filetime   string              `json:"filetime"`
	Files      map[string]FileSpec `json:"files"`
	Faults     []Fault             `json:"faults"`
	World      []WorldEvent        `json:"world"`
	Steps      []Step              `json:"steps"`
	Until      int64               `json:"until"`
	// Machine is for lockdir only, and never nil there.
	Machine *Machine `json:"machine"`
}

// A FileSpec is a file that exists at the start. Ages are in milliseconds before
// the epoch.
type FileSpec struct {
	Type     string   `json:"type"`
	To       string   `json:"to,omitempty"`
	Age      float64  `json:"age,omitempty"`
	MtimeAge *float64 `json:"mtime_age,omitempty"`
	CtimeAge *float64 `json:"ctime_age,omitempty"`
	// Of a file, for lockdir only.
	Content json.RawMessage `json:"content,omitempty"`
	Size    int             `json:"size,omitempty"`
}

// A Fault makes system calls fail.
type Fault struct {
	Syscall string `json:"syscall"`
	Path    string `json:"path,omitempty"`
	Call    int    `json:"call,omitempty"`
	From    int    `json:"from,omitempty"`
	Code    string `json:"code"`
	After   bool   `json:"after,omitempty"`
}

// A WorldEvent is something that another participant does.
type WorldEvent struct {
	At   int64  `json:"at"`
	Do   string `json:"do"`
	Path string `json:"path,omitempty"`
	Type string `json:"type,omitempty"`
	To   string `json:"to,omitempty"`
	Skew int64  `json:"skew,omitempty"`
	By   int64  `json:"by,omitempty"`
	// For lockdir only.
	On      *Trigger        `json:"on,omitempty"`
	Content json.RawMessage `json:"content,omitempty"`
	Pid     int             `json:"pid,omitempty"`
}

// A Step is a call of the package.
type Step struct {
	// Index is the step's number.
	Index int `json:"-"`
	// At is when the step starts; nil: when the one before has settled.
	At   *int64 `json:"at,omitempty"`
	Call string `json:"call"`
	Path string `json:"path,omitempty"`
	// Vault or Dir says where the lock of Path is, for lockdir only.
	Vault string `json:"vault,omitempty"`
	Dir   string `json:"dir,omitempty"`
	// Of is the step whose lock is released.
	Of *int `json:"of,omitempty"`
	// Options is the options object that the call is given, or nil. Steps that share
	// one object all have the first one's, and the same OptionsID.
	Options    map[string]any `json:"options,omitempty"`
	OptionsID  string         `json:"options_id,omitempty"`
	Background bool           `json:"background,omitempty"`
}

// Sync reports whether the call is one of the package's synchronous forms.
func (s Step) Sync() bool { return strings.HasSuffix(s.Call, "Sync") }

const (
	defaultEpoch = 1700000000000
	defaultUntil = 120000
	// The farthest time that a scenario can name: nanoseconds since 1970 must fit.
	maxMilliseconds = math.MaxInt64 / 1e6 / 4
)

// UnmarshalJSON reads and checks a scenario and fills in the defaults. The error
// names the field that is wrong. The fields of a recording may stand beside it.
func (s *Scenario) UnmarshalJSON(data []byte) error {
	type plain Scenario
	in := struct {
		plain
		Trace        json.RawMessage `json:"trace"`
		Results      json.RawMessage `json:"results"`
		Disk         json.RawMessage `json:"disk"`
		FDs          json.RawMessage `json:"fds"`
		RecordedWith json.RawMessage `json:"recorded_with"`
	}{plain: plain{Epoch: defaultEpoch, Timestamps: "ns", Until: defaultUntil}}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&in); err != nil {
		return fmt.Errorf("scenario: %w", plainJSONError(err))
	}
	var there map[string]any
	_ = json.Unmarshal(data, &there) // it was decoded before
	for _, required := range []string{"name", "covers", "api", "version", "steps"} {
		if there[required] == nil {
			return fmt.Errorf("scenario: %s is missing", required)
		}
	}
	*s = Scenario(in.plain)
	if s.Timestamps == "" {
		s.Timestamps = "ns"
	}
	if err := s.check(); err != nil {
		return fmt.Errorf("scenario %q: %w", s.Name, err)
	}
	return nil
}

// plainJSONError words a decoding error without Go's type names.
func plainJSONError(err error) error {
	var typeError *json.UnmarshalTypeError
	if errors.As(err, &typeError) {
		field := strings.TrimPrefix(typeError.Field, "plain.") // which is embedded
		return fmt.Errorf("%s: a JSON %s does not belong here", field, typeError.Value)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return errors.New("the JSON ends too early")
	}
	return errors.New(strings.TrimPrefix(err.Error(), "json: "))
}

var grains = map[string]int64{"ns": 1, "ms": 1e6, "10ms": 1e7, "s": 1e9, "2s": 2e9}

// traceCalls are the calls that there can be in a trace.
var traceCalls = sim.Names()

// calls lists the functions of each API, and the options of each.
var calls = map[string]struct {
	versions  []string
	functions []string
	options   []string
	release   bool
}{
	"lockfile": {
		versions:  []string{"1.0.6"},
		functions: []string{"lock", "lockSync", "unlock", "unlockSync", "check", "checkSync"},
		options:   []string{"wait", "pollPeriod", "stale", "retries", "retryWait"},
	},
	"proper-lockfile": {
		versions:  []string{"1.2.0", "4.1.2"},
		functions: []string{"lock", "lockSync", "unlock", "unlockSync", "check", "checkSync"},
		options:   []string{"stale", "update", "retries", "realpath", "lockfilePath", "fs"},
		release:   true,
	},
	"lockdir": {
		versions:  []string{"1"},
		functions: []string{"acquire", "acquireWait", "verify"},
		options: []string{
			"heartbeat", "stale", "incoming", "retries", "removeRetries", "rounds", "backoff", "backoffLimit",
			"putBack", "waitLimit", "hostname",
		},
		release: true,
	},
}

func (s *Scenario) check() error {
	api, ok := calls[s.API]
	if !ok {
		return fmt.Errorf("api: %q is not one of %s", s.API, strings.Join(slices.Sorted(maps.Keys(calls)), ", "))
	}
	if !slices.Contains(api.versions, s.Version) {
		return fmt.Errorf("version: %s has no version %q here, only %s", s.API, s.Version, strings.Join(api.versions, ", "))
	}
	if grains[s.Timestamps] == 0 {
		return fmt.Errorf("timestamps: %q is not one of ns, ms, 10ms, s, 2s", s.Timestamps)
	}
	switch {
	case s.Filetime == "" || s.API == "lockfile" && (s.Filetime == "ctime" || s.Filetime == "mtime"):
	case s.API != "lockfile":
		return errors.New("filetime: is for lockfile only")
	default:
		return fmt.Errorf("filetime: %q is not one of ctime, mtime", s.Filetime)
	}
	if err := checkTime("epoch", float64(s.Epoch)); err != nil {
		return err
	}
	if err := checkTime("until", float64(s.Until)); err != nil {
		return err
	}
	if s.Until < 0 {
		return errors.New("until: is negative")
	}
	return errors.Join(first(
		s.checkFiles, s.checkFaults, s.checkWorld, s.checkSteps, s.checkMachine,
	))
}

func first(checks ...func() error) error {
	for _, check := range checks {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func checkTime(field string, ms float64) error {
	if math.Abs(ms) > maxMilliseconds {
		return fmt.Errorf("%s: %g ms is out of range", field, ms)
	}
	return nil
}

func (s *Scenario) checkFiles() error {
	for _, path := range slices.Sorted(maps.Keys(s.Files)) {
		spec := s.Files[path]
		field := fmt.Sprintf("files[%q]", path)
		switch spec.Type {
		case "file", "dir", "fifo":
			if spec.To != "" {
				return fmt.Errorf("%s: to is for a symlink only", field)
			}
		case "symlink":
			if spec.To == "" {
				return fmt.Errorf("%s: a symlink needs a target (to)", field)
			}
		default:
			return fmt.Errorf("%s: type %q is not one of file, dir, symlink", field, spec.Type)
		}
		for _, age := range []*float64{&spec.Age, spec.MtimeAge, spec.CtimeAge} {
			if age != nil {
				if err := checkTime(field, *age); err != nil {
					return err
				}
			}
		}
	}
	// Placing them finds parents that are no directories.
	_, err := newFiles(s)
	return err
}

func (s *Scenario) checkFaults() error {
	for i, f := range s.Faults {
		field := fmt.Sprintf("faults[%d]", i)
		switch {
		case !slices.Contains(traceCalls, f.Syscall):
			return fmt.Errorf("%s: syscall %q is not one of %s", field, f.Syscall, strings.Join(traceCalls, ", "))
		case !isCode(f.Code):
			return fmt.Errorf("%s: code %q is not one that Node knows", field, f.Code)
		case f.Call < 0 || f.From < 0:
			return fmt.Errorf("%s: calls are counted from 1", field)
		case f.Call > 0 && f.From > 0:
			return fmt.Errorf("%s: has both call and from", field)
		}
	}
	return nil
}

func isCode(code string) bool {
	_, ok := libuv.Lookup(code)
	return ok
}

func (s *Scenario) checkWorld() error {
	for i, e := range s.World {
		field := fmt.Sprintf("world[%d]", i)
		switch e.Do {
		case "create":
			if !slices.Contains([]string{"", "file", "dir", "symlink"}, e.Type) {
				return fmt.Errorf("%s: type %q is not one of file, dir, symlink", field, e.Type)
			}
		case "unlink", "mkdir", "rmdir", "touch", "jump", "exit":
		case "rename":
			if e.To == "" {
				return fmt.Errorf("%s: a rename needs a target (to)", field)
			}
		default:
			return fmt.Errorf("%s: do %q is not one of create, unlink, mkdir, rmdir, rename, touch, jump", field, e.Do)
		}
		if e.Do != "jump" && e.Do != "exit" && e.Path == "" {
			return fmt.Errorf("%s: %s needs a path", field, e.Do)
		}
		if e.At < 0 {
			return fmt.Errorf("%s: at is negative", field)
		}
		for _, ms := range []int64{e.At, e.Skew, e.By} {
			if err := checkTime(field, float64(ms)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Scenario) checkSteps() error {
	api := calls[s.API]
	shared := map[string]map[string]any{}
	for i := range s.Steps {
		step := &s.Steps[i]
		step.Index = i
		field := fmt.Sprintf("steps[%d]", i)
		if step.At != nil {
			if *step.At < 0 {
				return fmt.Errorf("%s: at is negative", field)
			}
			if err := checkTime(field, float64(*step.At)); err != nil {
				return err
			}
		}
		switch {
		case step.Call == "exit":
			if i != len(s.Steps)-1 {
				return fmt.Errorf("%s: exit is the last step", field)
			}
		case step.Call == "release" && api.release:
			if step.Of == nil || *step.Of < 0 || *step.Of >= i {
				return fmt.Errorf("%s: of must be the index of an earlier step", field)
			}
			if taker := s.Steps[*step.Of].Call; !slices.Contains([]string{"lock", "lockSync", "acquire", "acquireWait"}, taker) {
				return fmt.Errorf("%s: of names step %d, which is no lock", field, *step.Of)
			}
		case !slices.Contains(api.functions, step.Call):
			return fmt.Errorf("%s: call %q is not one of %s", field, step.Call, s.API)
		}
		for name := range step.Options {
			if !slices.Contains(api.options, name) {
				return fmt.Errorf("%s: options: %q is not one of %s", field, name, strings.Join(api.options, ", "))
			}
		}
		if id := step.OptionsID; id != "" {
			if _, ok := shared[id]; !ok {
				if step.Options == nil {
					step.Options = map[string]any{}
				}
				shared[id] = step.Options
			}
			step.Options = shared[id]
		}
	}
	return nil
}

// ReadScenarios reads a file of scenarios: a JSON list, or one alone. Each comes
// with its own error, so that one that is invalid does not hide the others. The last
// result is about the file as a whole.
func ReadScenarios(data []byte) ([]*Scenario, []error, error) {
	trimmed := bytes.TrimSpace(data)
	var raw []json.RawMessage
	if len(trimmed) > 0 && trimmed[0] == '[' {
		if err := json.Unmarshal(trimmed, &raw); err != nil {
			return nil, nil, plainJSONError(err)
		}
	} else {
		if !json.Valid(trimmed) {
			var v any
			return nil, nil, plainJSONError(json.Unmarshal(trimmed, &v))
		}
		raw = []json.RawMessage{trimmed}
	}
	scenarios, errs := make([]*Scenario, len(raw)), make([]error, len(raw))
	for i, r := range raw {
		s := new(Scenario)
		if err := s.UnmarshalJSON(r); err != nil {
			errs[i] = err
			continue
		}
		scenarios[i] = s
	}
	return scenarios, errs, nil
}
