package explore

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the recorded counterexamples anew")

// TestConfigurations explores the default list, and holds the violations to the recorded
// counterexamples: no more, no less, and step by step the same.
func TestConfigurations(t *testing.T) {
	for _, c := range Configurations(false) {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			r, err := c.Explore()
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d states, %d steps, %.4g schedules, %d histories, %v", r.States, r.Steps, r.Schedules, r.Histories, r.Duration)
			if !r.Expected() {
				t.Errorf("violated: %v, expected: %v; %d states are cut off", r.Violations, c.Expect, r.Cut)
			}
			var b strings.Builder
			for _, v := range r.Violations {
				b.WriteString(v.Invariant.String() + "\n" + v.Seed + "\n\n")
				_, schedule, _ := strings.Cut(v.Seed, ":")
				text, err := c.Transcript(schedule)
				if err != nil {
					t.Error(err)
				}
				if !strings.Contains(text, "violated: "+v.Invariant.String()) {
					t.Errorf("%s: its seed does not violate it:\n%s", v.Invariant, text)
				}
				b.WriteString(text + "\n")
			}
			recorded := filepath.Join("..", "..", "testdata", "explore", c.Name+".txt")
			if *update {
				_ = os.Remove(recorded)
				if b.Len() > 0 {
					if err := os.WriteFile(recorded, []byte(b.String()), 0o666); err != nil {
						t.Fatal(err)
					}
				}
				return
			}
			want, err := os.ReadFile(recorded)
			if err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
			if got := b.String(); got != string(want) {
				t.Errorf("found:\n%s\nrecorded:\n%s", got, want)
			}
		})
	}
}
