// Conform checks implementations of Node's lock protocols.
//
//	conform [replay] [-json]   run every recording on the Go engines and compare
//	conform observe FILE...    run scenarios on the Go engines and print what they do
//	conform live [-node PATH] [-quick]
//	                           contend with real Node processes on a real filesystem
//	conform check [-quick] [-json] -- COMMAND...
//	                           hold a participant in any language to the live checks
//	conform explore [-long] [-transcripts] [NAME...]
//	                           try every order of the calls of a few processes, and compare
//	                           the violations with those that are known
//	conform explore -replay SEED
//	                           print what happens in a schedule
//	conform explore -table     print whose lock is safe from whom
//
// The exit status is 0 if all is well, 1 if something differs or fails, and 2 if the
// command line is wrong. See conformance/FORMAT.md for scenarios and recordings.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/seed-c461eb89/nodelock/internal/live"
)

const usage = `usage:
  conform [replay] [-json]   run every recording on the Go engines and compare
  conform observe FILE...    run scenarios on the Go engines, one recording a line
                             ("-" reads standard input)
  conform live [-node PATH] [-quick]
                             contend with real Node processes on a real filesystem
  conform check [-quick] [-json] -- COMMAND...
                             hold a participant in any language to the live checks
  conform explore [-long] [-transcripts] [NAME...]
                             try every order of the calls of a few processes, and compare
                             the violations with those that are known
  conform explore -replay SEED
                             print what happens in a schedule
  conform explore -table     print whose lock is safe from whom
`

// errUsage is for a command line that is wrong.
var errUsage = errors.New("usage")

// errFailed is for a run whose report has been printed.
var errFailed = errors.New("failed")

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	name := "replay"
	if len(args) > 0 && args[0] != "" && args[0][0] != '-' {
		name, args = args[0], args[1:]
	}
	command, ok := map[string]func([]string, io.Reader, io.Writer, io.Writer) error{
		"replay": replay, "observe": observe, "live": contend, "check": check, "explore": exploreAll,
		live.ParticipantCommand: participate,
	}[name]
	err := fmt.Errorf("%w: there is no command %q", errUsage, name)
	if ok {
		err = command(args, stdin, stdout, stderr)
	}
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return 0
	case errors.Is(err, errUsage):
		fmt.Fprintf(stderr, "conform: %v\n%s", err, usage)
		return 2
	case errors.Is(err, errFailed):
		return 1
	default:
		fmt.Fprintf(stderr, "conform: %v\n", err)
		return 1
	}
}

// newFlags returns the flags of a command. What is wrong with them is reported by
// run.
func newFlags(name string) *flag.FlagSet {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	return flags
}

func parse(flags *flag.FlagSet, args []string, stdout io.Writer) error {
	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, usage)
		return err
	}
	if err != nil {
		return fmt.Errorf("%w: %v", errUsage, err)
	}
	return nil
}
