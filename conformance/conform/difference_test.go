package main

import (
	"io/fs"
	"testing"

	"github.com/seed-c461eb89/nodelock/conformance"
	"github.com/seed-c461eb89/nodelock/testdata"
)

// A listed difference says which it is and why, and what is expected instead is not what
// Node does anyway.
func TestDifferences(t *testing.T) {
	paths, err := fs.Glob(testdata.Recordings, "*/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		data, err := fs.ReadFile(testdata.Recordings, path)
		if err != nil {
			t.Fatal(err)
		}
		entries, err := conformance.ReadEntries(data)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			switch {
			case e.Go == nil:
			case e.Go.Difference == "" || e.Go.Reason == "" || e.Go.Recording == nil:
				t.Errorf("%s: %s: the difference is not described", path, e.Scenario.Name)
			case conformance.Compare(e.Recording, e.Go.Recording) == nil:
				t.Errorf("%s: %s: Node does the same", path, e.Scenario.Name)
			}
		}
	}
}
