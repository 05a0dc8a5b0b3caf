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

// An Event is one line of a trace: a step's start (Step and Call), a system call or timer
// (Sys and Args, which is not nil then, and Ret), or a compromise that was reported
// (Compromised and Of).
type Event struct {
	T           int64        `json:"t"`
	Step        *int         `json:"step,omitempty"`
	Call        string       `json:"call,omitempty"`
	Sys         string       `json:"sys,omitempty"`
	Args        []any        `json:"args,omitzero"`
	Ret         string       `json:"ret,omitempty"`
	Compromised *ErrorRecord `json:"compromised,omitempty"`
	Of          *int         `json:"of,omitempty"`
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
	Step    int          `json:"step"`
	Call    string       `json:"call"`
	Pending bool         `json:"pending,omitempty"`
	At      int64        `json:"at"`
	Error   *ErrorRecord `json:"error"`
	// Locked is what a check reported, or nil.
	Locked *bool `json:"locked,omitempty"`
	// OptionsAfter are the options as the call left them, or nil.
	OptionsAfter map[string]any `json:"options_after,omitzero"`
}

// MarshalJSON writes a result; one that is pending says so and nothing else.
func (r Result) MarshalJSON() ([]byte, error) {
	if r.Pending {
		return marshal(struct {
			Step    int    `json:"step"`
			Call    string `json:"call"`
			Pending bool   `json:"pending"`
		}{r.Step, r.Call, true})
	}
	type plain Result
	return marshal(plain(r))
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
