package conformance

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/seed-c461eb89/nodelock/compat/nodeerror"
)

// An Error is the error of this module's packages. An adapter may return any error;
// one that has an Error in its chain is recorded with Node's fields.
type Error = nodeerror.Error

// A Recording is what happened in a run, as FORMAT.md describes it.
type Recording struct {
	Trace        []Event             `json:"trace"`
	Results      []Result            `json:"results"`
	Disk         map[string]DiskFile `json:"disk"`
	FDs          int                 `json:"fds"`
	RecordedWith map[string]string   `json:"recorded_with,omitempty"`
}

// An Event is one line of a trace: a step's start (Call), a system call or timer
// (Sys), or a compromise that was reported (Compromised).
type Event struct {
	T           int64
	Step        int
	Call        string
	Sys         string
	Args        []any
	Ret         string
	Compromised *ErrorRecord
	Of          int
}

type eventJSON struct {
	T           int64        `json:"t"`
	Step        *int         `json:"step,omitempty"`
	Call        string       `json:"call,omitempty"`
	Sys         string       `json:"sys,omitempty"`
	Args        *[]any       `json:"args,omitempty"`
	Ret         string       `json:"ret,omitempty"`
	Compromised *ErrorRecord `json:"compromised,omitempty"`
	Of          *int         `json:"of,omitempty"`
}

// MarshalJSON writes the fields that the kind of event has.
func (e Event) MarshalJSON() ([]byte, error) {
	out := eventJSON{T: e.T, Call: e.Call, Sys: e.Sys, Ret: e.Ret, Compromised: e.Compromised}
	switch {
	case e.Sys != "":
		args := e.Args
		if args == nil {
			args = []any{}
		}
		out.Args = &args
	case e.Compromised != nil:
		out.Of = &e.Of
	default:
		out.Step = &e.Step
	}
	return marshal(out)
}

// UnmarshalJSON reads an event.
func (e *Event) UnmarshalJSON(data []byte) error {
	var in eventJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	*e = Event{T: in.T, Call: in.Call, Sys: in.Sys, Ret: in.Ret, Compromised: in.Compromised}
	if in.Step != nil {
		e.Step = *in.Step
	}
	if in.Of != nil {
		e.Of = *in.Of
	}
	if in.Args != nil {
		e.Args = *in.Args
	}
	return nil
}

// An ErrorRecord is an error as recordings have it.
type ErrorRecord struct {
	Message string `json:"message"`
	Code    string `json:"code,omitempty"`
	Errno   int    `json:"errno,omitempty"`
	Syscall string `json:"syscall,omitempty"`
	Path    string `json:"path,omitempty"`
	Dest    string `json:"dest,omitempty"`
	File    string `json:"file,omitempty"`
}

// recordError describes err, with paths relative to the world's root.
func recordError(err error) *ErrorRecord {
	if err == nil {
		return nil
	}
	var e *Error
	if !errors.As(err, &e) {
		return &ErrorRecord{Message: relative(err.Error())}
	}
	return &ErrorRecord{
		Message: strings.ReplaceAll(e.Error(), root+"/", ""),
		Code:    e.Code, Errno: e.Errno, Syscall: e.Syscall,
		Path: relative(e.Path), Dest: relative(e.Dest), File: relative(e.File),
	}
}

// A Result is how a step ended.
type Result struct {
	Step    int
	Call    string
	Pending bool
	At      int64
	Error   *ErrorRecord
	// Locked is what a check reported, or nil.
	Locked *bool
	// OptionsAfter are the options as the call left them, or nil.
	OptionsAfter map[string]any
}

type resultJSON struct {
	Step         int             `json:"step"`
	Call         string          `json:"call"`
	At           *int64          `json:"at,omitempty"`
	Error        json.RawMessage `json:"error,omitempty"`
	Locked       *bool           `json:"locked,omitempty"`
	OptionsAfter *map[string]any `json:"options_after,omitempty"`
	Pending      bool            `json:"pending,omitempty"`
}

// MarshalJSON writes a result; one that is pending says so and nothing else.
func (r Result) MarshalJSON() ([]byte, error) {
	if r.Pending {
		return marshal(resultJSON{Step: r.Step, Call: r.Call, Pending: true})
	}
	failure, err := marshal(r.Error)
	if err != nil {
		return nil, err
	}
	out := resultJSON{Step: r.Step, Call: r.Call, At: &r.At, Error: failure, Locked: r.Locked}
	if r.OptionsAfter != nil {
		out.OptionsAfter = &r.OptionsAfter
	}
	return marshal(out)
}

// UnmarshalJSON reads a result.
func (r *Result) UnmarshalJSON(data []byte) error {
	var in resultJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	*r = Result{Step: in.Step, Call: in.Call, Pending: in.Pending, Locked: in.Locked}
	if in.At != nil {
		r.At = *in.At
	}
	if in.OptionsAfter != nil {
		r.OptionsAfter = *in.OptionsAfter
	}
	if len(in.Error) > 0 {
		return json.Unmarshal(in.Error, &r.Error)
	}
	return nil
}

// A DiskFile is something left on disk.
type DiskFile struct {
	Type  string `json:"type"`
	To    string `json:"to,omitempty"`
	Mtime int64  `json:"mtime"`
	Nlink int    `json:"nlink,omitempty"`
	// Content is for lockdir only.
	Content string `json:"content,omitempty"`
}

// An Entry is a scenario with what Node did in it.
type Entry struct {
	Scenario  *Scenario  `json:"scenario"`
	Recording *Recording `json:"recording"`
	// Go is what a Go implementation does instead, where the contract lists a
	// difference.
	Go *Deviation `json:"go,omitempty"`
	// Expected is what the contract says, where Node did nothing.
	Expected *Expected `json:"expected,omitempty"`
}

// A Deviation is a listed difference between Node and Go.
type Deviation struct {
	Recording *Recording `json:"recording"`
	// Difference names the listed difference.
	Difference string `json:"difference"`
	// Reason says why Go does not do as Node does.
	Reason string `json:"reason"`
}

// ReadEntries reads a file of recordings.
func ReadEntries(data []byte) ([]Entry, error) {
	var entries []Entry
	if err := json.Unmarshal(data, &entries); err != nil {
		return nil, err
	}
	return entries, nil
}

// marshal is json.Marshal without the escaping that is meant for HTML: messages
// have arrows in them.
func marshal(v any) ([]byte, error) {
	if m, ok := v.(json.Marshaler); ok {
		return m.MarshalJSON() // which comes from here
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return []byte(strings.TrimSuffix(b.String(), "\n")), nil
}

// Line returns the recording as one line of JSON.
func (r *Recording) Line() ([]byte, error) { return marshal(r) }
