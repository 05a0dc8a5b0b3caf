package main

import (
	"testing"

	"github.com/seed-c461eb89/nodelock/testdata"
)

// TestReplay holds the engines to every recording, and every contract row to having
// one.
func TestReplay(t *testing.T) {
	r, err := replayAll(testdata.Recordings)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range r.Rows {
		if row.Scenarios == 0 {
			t.Errorf("no recording shows %s %s", row.API, row.Row)
		}
	}
	for _, s := range r.Scenarios {
		t.Run(s.API+" "+s.Version+"/"+s.Scenario, func(t *testing.T) {
			switch {
			case s.Error != "":
				t.Error(s.Error)
			case s.Difference != nil:
				t.Errorf("%s\n%v", s.File, s.Difference)
			}
		})
	}
}
