package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/seed-c461eb89/nodelock/internal/live"
	"github.com/seed-c461eb89/nodelock/internal/printable"
)

// contend contends with real Node processes.
func contend(args []string, _ io.Reader, stdout, stderr io.Writer) error {
	flags := newFlags("live")
	nodePath := flags.String("node", "node", "")
	quick := flags.Bool("quick", false, "")
	if err := parse(flags, args, stdout); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%w: live takes no arguments", errUsage)
	}
	l, err := live.New(*nodePath, stderr)
	if err != nil {
		return err
	}
	defer l.Remove()
	l.Quick = *quick
	began := time.Now()
	return printLive(stdout, l.NodeVersion, l.Run(stderr), began)
}

func printLive(out io.Writer, version string, outcomes []live.Outcome, began time.Time) error {
	return printOutcomes(out, outcomes, nil, "with Node "+version, began)
}

// printOutcomes prints a table of outcomes, and of systems that nothing was tried with, and
// fails if one of the outcomes is a failure. Against whom it was is for the last line.
func printOutcomes(out io.Writer, outcomes []live.Outcome, notApplicable []string, against string, began time.Time) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "system\tcheck\tresult\tfigures\n")
	failed := 0
	for _, o := range outcomes {
		result, figures := "pass", o.Figures
		if o.Err != nil {
			failed++
			// What another program wrote can be in it.
			result, figures = "FAIL", printable.Text(o.Err.Error())
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", o.System, o.Check, result, figures)
	}
	for _, system := range notApplicable {
		fmt.Fprintf(table, "%s\tall\tnot applicable\tthe participant does not have it\n", system)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(out, "%d checks %s: %d passed, %d failed (%.0f s)\n",
		len(outcomes), against, len(outcomes)-failed, failed, time.Since(began).Seconds())
	if failed > 0 {
		return errFailed
	}
	return nil
}

// participate makes this program a participant of another's live run.
func participate(_ []string, stdin io.Reader, stdout, _ io.Writer) error {
	return live.Serve(stdin, stdout)
}
