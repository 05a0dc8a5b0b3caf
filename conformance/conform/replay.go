package main

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/seed-c461eb89/nodelock/conformance"
	"github.com/seed-c461eb89/nodelock/testdata"
)

// A verdict is what a replay showed.
type verdict string

const (
	passed verdict = "pass"
	failed verdict = "FAIL"
	// differs is for a listed difference: Go did what it is to do instead.
	differs verdict = "difference"
)

// A replayed is an entry with what came of it.
type replayed struct {
	API      string   `json:"api"`
	Version  string   `json:"version"`
	File     string   `json:"file"`
	Scenario string   `json:"scenario"`
	Covers   []string `json:"covers"`
	Verdict  verdict  `json:"verdict"`
	// Listed is the listed difference that applies.
	Listed     string                  `json:"listed,omitempty"`
	Difference *conformance.Difference `json:"difference,omitempty"`
	Error      string                  `json:"error,omitempty"`
}

// A report is the outcome of a whole replay, as -json prints it.
type report struct {
	Rows      []rowResult `json:"rows"`
	Scenarios []replayed  `json:"scenarios"`
	Passed    int         `json:"passed"`
	Differ    int         `json:"differences"`
	Failed    int         `json:"failed"`
}

// A rowResult is a contract row with its scenarios.
type rowResult struct {
	API       string  `json:"api"`
	Row       string  `json:"row"`
	Says      string  `json:"says"`
	Scenarios int     `json:"scenarios"`
	Verdict   verdict `json:"verdict"`
	// Source says where the expectations come from, if it is not from recordings.
	Source string `json:"source,omitempty"`
}

// replay runs every embedded recording.
func replay(args []string, _ io.Reader, stdout, _ io.Writer) error {
	flags := newFlags("replay")
	asJSON := flags.Bool("json", false, "")
	if err := parse(flags, args, stdout); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%w: replay takes no arguments", errUsage)
	}
	began := time.Now()
	r, err := replayAll(testdata.Recordings)
	if err != nil {
		return err
	}
	if *asJSON {
		enc := json.NewEncoder(stdout)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		if err := enc.Encode(r); err != nil {
			return err
		}
	} else if err := r.print(stdout, time.Since(began)); err != nil {
		return err
	}
	if r.Failed > 0 {
		return errFailed
	}
	return nil
}

// replayAll runs the recordings of all files, on all processors.
func replayAll(recordings fs.FS) (*report, error) {
	paths, err := fs.Glob(recordings, "*/*.json")
	if err != nil {
		return nil, err
	}
	var (
		wait    sync.WaitGroup
		limit   = make(chan struct{}, runtime.GOMAXPROCS(0))
		results = make([][]replayed, len(paths))
		errs    = make([]error, len(paths))
	)
	for i, p := range paths {
		wait.Add(1)
		go func() {
			defer wait.Done()
			limit <- struct{}{}
			defer func() { <-limit }()
			results[i], errs[i] = replayFile(recordings, p)
		}()
	}
	wait.Wait()
	r := &report{}
	for i := range paths {
		if errs[i] != nil {
			return nil, errs[i]
		}
		r.Scenarios = append(r.Scenarios, results[i]...)
	}
	r.count()
	return r, nil
}

func replayFile(recordings fs.FS, file string) ([]replayed, error) {
	data, err := fs.ReadFile(recordings, file)
	if err != nil {
		return nil, err
	}
	entries, err := conformance.ReadEntries(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path.Base(file), err)
	}
	results := make([]replayed, len(entries))
	for i := range entries {
		results[i] = replayEntry(&entries[i])
		results[i].File = file
	}
	return results, nil
}

func replayEntry(e *conformance.Entry) replayed {
	s := e.Scenario
	r := replayed{API: s.API, Version: s.Version, Scenario: s.Name, Covers: s.Covers, Verdict: failed}
	got, err := conformance.Observe(s)
	if err != nil {
		r.Error = err.Error()
		return r
	}
	if e.Expected != nil {
		if r.Difference = e.Expected.Check(got); r.Difference != nil {
			return r
		}
	}
	want, agreed := e.Recording, passed
	if e.Go != nil {
		r.Listed = e.Go.Difference
		want, agreed = e.Go.Recording, differs
	}
	if r.Difference = conformance.Compare(want, got); r.Difference == nil {
		r.Verdict = agreed
	}
	return r
}

// count fills in the rows and the totals.
func (r *report) count() {
	for _, row := range slices.Concat(rows, lockdirRows) {
		result := rowResult{API: row.api, Row: row.id, Says: row.says, Verdict: passed, Source: sources[row.api]}
		for _, s := range r.Scenarios {
			if s.API == row.api && s.covers(row.id) {
				result.Scenarios++
				switch {
				case s.Verdict == failed:
					result.Verdict = failed
				case s.Verdict == differs && result.Verdict == passed:
					result.Verdict = differs
				}
			}
		}
		if result.Scenarios == 0 {
			result.Verdict = failed
			r.Failed++
		}
		r.Rows = append(r.Rows, result)
	}
	for _, s := range r.Scenarios {
		switch s.Verdict {
		case passed:
			r.Passed++
		case differs:
			r.Differ++
		default:
			r.Failed++
		}
	}
}

func (r replayed) covers(row string) bool {
	for _, c := range r.Covers {
		if c == row {
			return true
		}
	}
	return false
}

// print writes the table, the listed differences and what failed.
func (r *report) print(out io.Writer, took time.Duration) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	api := ""
	for _, row := range r.Rows {
		if row.API != api {
			api = row.API
			header := api
			if row.Source != "" {
				header += ": " + row.Source
			}
			fmt.Fprintf(table, "%s\n  row\tscenarios\tresult\twhat it says\n", header)
		}
		verdict := string(row.Verdict)
		if row.Scenarios == 0 {
			verdict = "NONE"
		}
		fmt.Fprintf(table, "  %s\t%d\t%s\t%s\n", row.Row, row.Scenarios, verdict, row.Says)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, s := range r.Scenarios {
		if s.Verdict == differs {
			fmt.Fprintf(out, "difference: %s %s: %s: %s\n", s.API, s.Version, s.Scenario, s.Listed)
		}
	}
	for _, s := range r.Scenarios {
		if s.Verdict == failed {
			fmt.Fprintf(out, "\nFAIL %s %s: %s (%s)\n", s.API, s.Version, s.Scenario, s.File)
			if s.Error != "" {
				fmt.Fprintf(out, "  %s\n", s.Error)
			}
			if s.Difference != nil {
				text := s.Difference.String()
				if sources[s.API] != "" {
					text = strings.Replace(text, "  Node: ", "  want: ", 1)
				}
				fmt.Fprint(out, text)
			}
		}
	}
	_, err := fmt.Fprintf(out, "%d scenarios: %d passed, %d listed differences, %d failed (%.2f s)\n",
		len(r.Scenarios), r.Passed, r.Differ, r.Failed, took.Seconds())
	return err
}
