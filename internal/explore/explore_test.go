package explore

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the recorded counterexamples anew")

// TestConfigurations explores the default list, and holds the violations to those that
// are known. Those of the mirrors are recorded, and must be the same step by step.
func TestConfigurations(t *testing.T) {
	large := slices.DeleteFunc(lockDirectories(), func(c Config) bool { return !c.Large })
	for _, c := range append(Configurations(false), large...) {
		t.Run(c.Name, func(t *testing.T) {
			if c.Large && (testing.Short() || race) {
				t.Skip("takes long")
			}
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
			if strings.Contains(c.Name, "mutex") || c.Large {
				return
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

// TestParts leaves out the parts of a Mutex one at a time: something is violated then
// that is not with it.
func TestParts(t *testing.T) {
	for _, p := range protocols {
		for _, part := range p.parts() {
			violated := func(omit *lack) (list []Invariant) {
				c := part.situation(p.name, omit)
				found, err := c.tally()
				if err != nil {
					t.Fatal(err)
				}
				for i, n := range found.steps {
					if n > 0 {
						list = append(list, Invariant(i))
					}
				}
				return list
			}
			t.Run(p.name+strings.ReplaceAll(without(part.part), " ", "-"), func(t *testing.T) {
				with, lacking := violated(nil), violated(part.part)
				t.Logf("with it: %v; without: %v", with, lacking)
				if part.part != claim && len(with) > 0 {
					t.Errorf("violated in spite of it: %v", with)
				}
				for _, i := range lacking {
					if !slices.Contains(with, i) {
						return
					}
				}
				t.Error("nothing more is violated without it")
			})
		}
	}
}

// TestProtection holds the table in the documentation to what the explorer finds.
func TestProtection(t *testing.T) {
	got, err := Protection()
	if err != nil {
		t.Fatal(err)
	}
	recorded := filepath.Join("..", "..", "testdata", "explore", "protection.md")
	if *update {
		if err := os.WriteFile(recorded, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(recorded)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("found:\n%s\nrecorded:\n%s", got, want)
	}
}

// TestReadme holds README.md to the table.
func TestReadme(t *testing.T) {
	table, err := os.ReadFile(filepath.Join("..", "..", "testdata", "explore", "protection.md"))
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Skip(err)
	}
	_, after, ok := strings.Cut(string(readme), "<!-- protection -->\n")
	if !ok {
		t.Skip("README.md does not quote the table")
	}
	got, _, ended := strings.Cut(after, "<!-- end of protection -->")
	if !ended || strings.TrimSpace(got) != strings.TrimSpace(string(table)) {
		t.Errorf("README.md quotes:\n%s\nThe table in testdata/explore/protection.md is:\n%s", got, table)
	}
}

// TestPackageDocumentation holds the tables of six columns in the packages' documentation to
// the rows of the table that speak of their Mutex.
func TestPackageDocumentation(t *testing.T) {
	table, err := os.ReadFile(filepath.Join("..", "..", "testdata", "explore", "protection.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"lockfile/lockfile.go", "properlockfile/mutex.go"} {
		source, err := os.ReadFile(filepath.Join("..", "..", "compat", filepath.FromSlash(file)))
		if err != nil {
			t.Fatal(err)
		}
		name := strings.Split(file, "/")[0] + ".Mutex"
		want := tableRows(string(table), "|", func(line string) bool {
			return strings.Contains(line, "the lock of") || strings.Contains(line, "`"+name+"`")
		})
		got := tableRows(string(source), "//\t", func(line string) bool { return strings.Count(line, " | ") == 5 })
		if !slices.Equal(got, want) {
			t.Errorf("%s says:\n%s\nThe explorer finds:\n%s", file, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// tableRows returns the rows of a table, without what only sets it.
func tableRows(text, prefix string, is func(line string) bool) []string {
	var rows []string
	for line := range strings.Lines(text) {
		row, ok := strings.CutPrefix(line, prefix)
		if !ok || !is(line) {
			continue
		}
		cells := strings.Split(strings.TrimSuffix(strings.TrimSpace(row), "|"), "|")
		for i, cell := range cells {
			cells[i] = strings.TrimSpace(strings.NewReplacer("`", "", "*", "").Replace(cell))
		}
		rows = append(rows, strings.Join(cells, " | "))
	}
	return rows
}
