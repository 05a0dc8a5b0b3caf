package conformance

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// An Expected is what a contract says of a scenario, where there is nothing to record: it
// is written by hand, and first. The recording beside it has every call besides.
type Expected struct {
	// Says is why, in the words of the contract or nearly so.
	Says string `json:"says"`
	// Results are those of the steps.
	Results []ExpectedResult `json:"results"`
	// Disk lists every path that is left.
	Disk []string `json:"disk"`
	// Calls counts calls by their name in a trace, "timer" among them. What is not in it
	// may be called any number of times.
	Calls map[string]int `json:"calls,omitempty"`
	// Timers are the timers that are set, in ms, in order; nil if they do not matter.
	Timers []int64 `json:"timers,omitempty"`
	// Lost are the steps whose locks are reported lost.
	Lost []int `json:"lost,omitempty"`
}

// An ExpectedResult is how a step ends. Without a code there is no error.
type ExpectedResult struct {
	At   int64  `json:"at"`
	Code string `json:"code,omitempty"`
	// Message is the error's, and Starts what it begins with where the contract says no
	// more.
	Message string `json:"message,omitempty"`
	Starts  string `json:"starts,omitempty"`
}

// Check returns the first place where a recording is not as it should be, or nil.
func (e *Expected) Check(r *Recording) *Difference {
	calls := map[string]int{}
	timers := []int64{}
	var lost []int
	for _, event := range r.Trace {
		switch {
		case event.Compromised != nil:
			lost = append(lost, *event.Of)
		case event.Sys != "":
			calls[event.Sys]++
		}
		if event.Sys == "timer" {
			switch ms := event.Args[0].(type) {
			case int64:
				timers = append(timers, ms)
			case float64:
				timers = append(timers, int64(ms))
			}
		}
	}
	for i := range max(len(e.Results), len(r.Results)) {
		if i >= len(e.Results) || i >= len(r.Results) {
			return differ("the number of results", line(len(e.Results)), line(len(r.Results)))
		}
		if d := e.Results[i].check(i, r.Results[i]); d != nil {
			return d
		}
	}
	want := slices.Sorted(slices.Values(e.Disk))
	got := slices.Sorted(maps.Keys(r.Disk))
	if d := differ("what is left", strings.Join(want, " "), strings.Join(got, " ")); d != nil {
		return d
	}
	for _, name := range slices.Sorted(maps.Keys(e.Calls)) {
		if d := differ("the number of calls of "+name, line(e.Calls[name]), line(calls[name])); d != nil {
			return d
		}
	}
	if e.Timers != nil {
		if d := differ("the timers", line(e.Timers), line(timers)); d != nil {
			return d
		}
	}
	if d := differ("the locks that are reported lost", fmt.Sprint(e.Lost), fmt.Sprint(lost)); d != nil {
		return d
	}
	return differ("fds", "0", line(r.FDs))
}

func (e ExpectedResult) check(step int, r Result) *Difference {
	where := fmt.Sprintf("the result of step %d", step)
	got := ExpectedResult{At: r.At}
	if r.Error != nil {
		got.Code, got.Message = r.Error.Code, r.Error.Message
	}
	if e.Starts != "" && strings.HasPrefix(got.Message, e.Starts) {
		got.Message, got.Starts = "", e.Starts
	}
	return differ(where, line(e), line(got))
}
