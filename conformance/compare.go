package conformance

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Difference is the first place where two recordings differ.
type Difference struct {
	// Where names the part of the recording.
	Where string `json:"where"`
	// Before are the last lines of the trace that agree, if the traces differ.
	Before []string `json:"before,omitempty"`
	// Want and Got are what the two have there; "" is nothing.
	Want string `json:"want"`
	Got  string `json:"got"`
}

// shownBefore is how many lines before a difference are worth showing.
const shownBefore = 6

// Compare returns the first difference between what was recorded and what was
// observed, or nil.
func Compare(want, got *Recording) *Difference {
	for i := range max(len(want.Trace), len(got.Trace)) {
		if d := differ(fmt.Sprintf("trace[%d]", i), at(want.Trace, i), at(got.Trace, i)); d != nil {
			for _, e := range want.Trace[max(0, i-shownBefore):min(i, len(want.Trace))] {
				d.Before = append(d.Before, line(e))
			}
			return d
		}
	}
	for i := range max(len(want.Results), len(got.Results)) {
		if d := differ(fmt.Sprintf("results[%d]", i), at(want.Results, i), at(got.Results, i)); d != nil {
			return d
		}
	}
	paths := maps.Clone(want.Disk)
	if paths == nil {
		paths = map[string]DiskFile{}
	}
	maps.Copy(paths, got.Disk)
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		if d := differ(fmt.Sprintf("disk[%q]", path), inMap(want.Disk, path), inMap(got.Disk, path)); d != nil {
			return d
		}
	}
	return differ("fds", line(want.FDs), line(got.FDs))
}

func differ(where, want, got string) *Difference {
	if want == got {
		return nil
	}
	return &Difference{Where: where, Want: want, Got: got}
}

func at[T any](list []T, i int) string {
	if i >= len(list) {
		return ""
	}
	return line(list[i])
}

func inMap(m map[string]DiskFile, path string) string {
	f, ok := m[path]
	if !ok {
		return ""
	}
	return line(f)
}

// line writes a value as JSON. Whole numbers look the same whether they were read
// from a recording, as float64, or come from a run.
func line(v any) string {
	data, err := marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// String shows the difference with Node's side above Go's.
func (d *Difference) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "first difference at %s\n", d.Where)
	for _, l := range d.Before {
		fmt.Fprintf(&b, "        %s\n", l)
	}
	fmt.Fprintf(&b, "  Node: %s\n", orNothing(d.Want))
	fmt.Fprintf(&b, "  Go:   %s\n", orNothing(d.Got))
	return b.String()
}

func orNothing(s string) string {
	if s == "" {
		return "(nothing)"
	}
	return s
}
