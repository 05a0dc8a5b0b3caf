package main

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/seed-c461eb89/nodelock/internal/live"
)

// check judges a participant in any language.
func check(args []string, _ io.Reader, stdout, stderr io.Writer) error {
	flags := newFlags("check")
	quick := flags.Bool("quick", false, "")
	asJSON := flags.Bool("json", false, "")
	if err := parse(flags, args, stdout); err != nil {
		return err
	}
	if flags.NArg() == 0 {
		return fmt.Errorf("%w: check needs the command of a participant", errUsage)
	}
	began := time.Now()
	result, err := live.Check(flags.Args(), *quick, stderr)
	if err != nil {
		return err
	}
	if *asJSON {
		return printCheckJSON(stdout, result)
	}
	return printOutcomes(stdout, result.Outcomes, result.NotApplicable, fmt.Sprintf("of participant %q", result.Version), began)
}

func printCheckJSON(out io.Writer, result *live.Candidacy) error {
	type row struct {
		System  string `json:"system"`
		Check   string `json:"check"`
		Result  string `json:"result"` // pass, fail or not applicable
		Figures string `json:"figures,omitempty"`
		Error   string `json:"error,omitempty"`
	}
	var rows []row
	var failure error
	for _, o := range result.Outcomes {
		r := row{System: o.System, Check: o.Check, Result: "pass", Figures: o.Figures}
		if o.Err != nil {
			r.Result, r.Error, failure = "fail", o.Err.Error(), errFailed
		}
		rows = append(rows, r)
	}
	for _, system := range result.NotApplicable {
		rows = append(rows, row{System: system, Check: "all", Result: "not applicable"})
	}
	text, err := json.MarshalIndent(map[string]any{"participant": result.Version, "checks": rows}, "", "  ")
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(out, "%s\n", text); err != nil {
		return err
	}
	return failure
}
