package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/seed-c461eb89/nodelock/conformance"
)

// observe prints a line for each scenario of the files, in order: its recording, or
// {"name", "error"} for one that is invalid. The latter is told on stderr too, and
// the command fails in the end.
func observe(args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	flags := newFlags("observe")
	if err := parse(flags, args, stdout); err != nil {
		return err
	}
	if flags.NArg() == 0 {
		return fmt.Errorf("%w: observe needs a file of scenarios", errUsage)
	}
	var failure error
	for _, path := range flags.Args() {
		data, err := readInput(path, stdin)
		if err != nil {
			return err
		}
		scenarios, errs, err := conformance.ReadScenarios(data)
		if err != nil {
			fmt.Fprintf(stderr, "conform: %s: %v\n", path, err)
			failure = errFailed
			continue
		}
		for i, s := range scenarios {
			text, err := observeOne(s, errs[i])
			if err != nil {
				fmt.Fprintf(stderr, "conform: %s: scenario %d: %v\n", path, i, err)
				failure = errFailed
				text, err = json.Marshal(map[string]any{"scenario": i, "error": err.Error()})
				if err != nil {
					return err
				}
			}
			if _, err := fmt.Fprintf(stdout, "%s\n", text); err != nil {
				return err
			}
		}
	}
	return failure
}

func observeOne(s *conformance.Scenario, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	recording, err := conformance.Observe(s)
	if err != nil {
		return nil, err
	}
	return recording.Line()
}

func readInput(path string, stdin io.Reader) ([]byte, error) {
	if path == "-" {
		return io.ReadAll(stdin)
	}
	return os.ReadFile(path)
}
