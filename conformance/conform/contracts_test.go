package main

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/seed-c461eb89/nodelock/conformance"
	"github.com/seed-c461eb89/nodelock/testdata"
)

// contractsDir is where the contracts are, from the root of the repository.
const contractsDir = "conformance/contracts"

// repository is what the tests here read.
var repository = os.DirFS("../..")

// The contract of each system.
var contractFiles = map[string]string{
	"lockfile":        contractsDir + "/lockfile.md",
	"proper-lockfile": contractsDir + "/proper-lockfile.md",
	"lockdir":         contractsDir + "/lockdir.md",
}

// systemOf returns the system that a row belongs to. Ids are unique across the contracts, so
// the first letter says it.
func systemOf(row string) string {
	switch row[0] {
	case 'L':
		return "lockfile"
	case 'P', 'M':
		return "proper-lockfile"
	default:
		return "lockdir"
	}
}

// directorySystems are the systems of directories that are one system's alone, by the last
// name of the directory: compat/lockdir, internal/lockdir and testdata/lockdir are lockdir's.
var directorySystems = map[string]string{
	"lockfile":       "lockfile",
	"properlockfile": "proper-lockfile",
	"lockdir":        "lockdir",
}

// A contractRows has the rows of each contract's file.
type contractRows map[string][]string

var anchor = regexp.MustCompile(`<a id="row-([^"]*)"></a>\**([§\w]*)`)

// readContracts returns the rows that the contracts have. A row is an anchor.
func readContracts(t *testing.T) contractRows {
	t.Helper()
	contracts := contractRows{}
	for system, file := range contractFiles {
		text, err := fs.ReadFile(repository, file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range anchor.FindAllStringSubmatch(string(text), -1) {
			row, shown := match[1], match[2]
			if shown != shownID(row) {
				t.Errorf("%s: the anchor of %s stands before %q", file, row, shown)
			}
			if systemOf(row) != system {
				t.Errorf("%s: has the row %s, whose letter is that of %s", file, row, systemOf(row))
			}
			if slices.Contains(contracts[file], row) {
				t.Errorf("%s: has two rows %s", file, row)
			}
			contracts[file] = append(contracts[file], row)
		}
	}
	return contracts
}

// shownID returns how a contract shows the id of a row: S4 as §4, S4.F as F, S9.11 as 11.
func shownID(row string) string {
	if _, part, ok := strings.Cut(row, "."); ok {
		return part
	}
	if section, ok := strings.CutPrefix(row, "S"); ok {
		return "§" + section
	}
	return row
}

// The tables of conform and the contracts have the same rows. Sections of lockdir's
// contract need not be in the tables: some are no behaviour.
func TestTablesHaveTheRowsOfTheContracts(t *testing.T) {
	tables := map[string][]string{}
	for _, row := range slices.Concat(rows, lockdirRows) {
		tables[row.api] = append(tables[row.api], row.id)
	}
	contracts := readContracts(t)
	for system, file := range contractFiles {
		inContract := slices.DeleteFunc(slices.Clone(contracts[file]), func(row string) bool {
			return row[0] == 'S' && !slices.Contains(tables[system], row)
		})
		slices.Sort(inContract)
		slices.Sort(tables[system])
		if diff := cmp.Diff(inContract, tables[system]); diff != "" {
			t.Errorf("the rows of %s (-) and of the table (+) differ:\n%s", file, diff)
		}
	}
}

// Scenarios cover rows that the tables of conform have.
func TestScenariosCoverRowsOfTheTables(t *testing.T) {
	known := map[string]bool{}
	for _, row := range slices.Concat(rows, lockdirRows) {
		known[row.api+" "+row.id] = true
	}
	files, err := fs.Glob(testdata.Recordings, "*/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := fs.ReadFile(testdata.Recordings, file)
		if err != nil {
			t.Fatal(err)
		}
		entries, err := conformance.ReadEntries(data)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			for _, row := range e.Scenario.Covers {
				if !known[e.Scenario.API+" "+row] {
					t.Errorf("testdata/%s: %s: covers %s, which no table has", file, e.Scenario.Name, row)
				}
			}
		}
	}
}

// Rows that comments of Go and Markdown cite are in the contracts.
func TestCitedRowsAreInTheContracts(t *testing.T) {
	contracts := readContracts(t)
	cited := map[string]int{}
	walkTexts(t, func(file, where, text string) {
		for _, row := range citedRows(text) {
			cited[systemOf(row)]++
			if fault := contracts.fault(path.Base(path.Dir(file)), row); fault != "" {
				t.Errorf("%s: %s", where, fault)
			}
		}
	})
	for system := range contractFiles {
		if cited[system] == 0 {
			t.Errorf("no row of %s was found: the search for citations is broken", system)
		}
	}
}

// fault says what is wrong with citing a row in a directory, or nothing.
func (contracts contractRows) fault(directory, row string) string {
	system := systemOf(row)
	if own, ok := directorySystems[directory]; ok && own != system {
		return fmt.Sprintf("cites %s, a row of %s, in a directory of %s", row, system, own)
	}
	if file := contractFiles[system]; !slices.Contains(contracts[file], row) {
		return fmt.Sprintf("cites %s, which %s does not have", row, file)
	}
	return ""
}

var rowLink = regexp.MustCompile(`\]\(([^)#\s]*)#row-([^)\s]*)\)`)

// Links to rows lead to them.
func TestLinksToRowsLeadThere(t *testing.T) {
	contracts := readContracts(t)
	links := 0
	walkTexts(t, func(file, where, text string) {
		for _, match := range rowLink.FindAllStringSubmatch(text, -1) {
			links++
			target := file
			if match[1] != "" {
				target = path.Join(path.Dir(file), match[1])
			}
			if !slices.Contains(contracts[target], match[2]) {
				t.Errorf("%s: there is no row %s in %s", where, match[2], target)
			}
		}
	})
	if links == 0 {
		t.Error("no link was found: the search for links is broken")
	}
}

// walkTexts calls visit with every text of the repository that may cite rows: the comments
// of Go files, and Markdown files. where is the file, with the line for a comment.
func walkTexts(t *testing.T, visit func(file, where, text string)) {
	t.Helper()
	err := fs.WalkDir(repository, ".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && file != "." && (d.Name()[0] == '.' || d.Name() == "node_modules"):
			return fs.SkipDir
		case d.IsDir() || path.Ext(file) != ".go" && path.Ext(file) != ".md":
			return nil
		}
		source, err := fs.ReadFile(repository, file)
		if err != nil {
			return err
		}
		if path.Ext(file) == ".md" {
			visit(file, file, string(source))
			return nil
		}
		files := token.NewFileSet()
		parsed, err := parser.ParseFile(files, file, source, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, comment := range parsed.Comments {
			visit(file, files.Position(comment.Pos()).String(), comment.Text())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

var (
	// citation matches a row by its id (L15, C3b, S4.F), and a section by its sign (§4.F,
	// "§9 number 11", "§9 numbers 3 and 4").
	citation = regexp.MustCompile(`\b[LPMCWS][1-9][0-9]?[a-z]?(?:\.(?:[A-F]|[0-9]+))?\b` +
		`|§([1-9][0-9]?)(\.[A-Z])?(?:\s+numbers?((?:(?:,|\s+and)?\s+[0-9]+)+))?`)
	// controls matches where C1 is the control characters from U+0080 on, and no row.
	controls = regexp.MustCompile(`\bC0\b[^.]{0,20}\bC1\b`)
	digits   = regexp.MustCompile(`[0-9]+`)
)

// citedRows returns the rows that a text cites, by the names of their anchors.
func citedRows(text string) []string {
	var cited []string
	for _, match := range citation.FindAllStringSubmatch(controls.ReplaceAllString(text, ""), -1) {
		section := match[1]
		if section == "" {
			cited = append(cited, match[0])
			continue
		}
		cited = append(cited, "S"+section+match[2])
		for _, n := range digits.FindAllString(match[3], -1) {
			cited = append(cited, "S"+section+"."+n)
		}
	}
	return cited
}

func TestCitedRows(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"the asynchronous lock (L1 to L15), P7,\nM1 and C3b", []string{"L1", "L15", "P7", "M1", "C3b"}},
		{"L20's end, row-L2, W2.", []string{"L20", "L2", "W2"}},
		{`"covers": ["S4.F", "S9"]`, []string{"S4.F", "S9"}},
		{"§4.F, §4.A to F and §12", []string{"S4.F", "S4.A", "S12"}},
		{"(§9\nnumber 11) and (§9 numbers 3 and 4)", []string{"S9", "S9.11", "S9", "S9.3", "S9.4"}},
		{"§9 numbers 3, 4 and 5", []string{"S9", "S9.3", "S9.4", "S9.5"}},
		{"INV-09, ADR-0036, P256, SHA-256, U+0080, L-20060102T150405, W3C, V1", nil},
		{"C0, DEL and C1; C0 and C1 control characters", nil},
	} {
		if diff := cmp.Diff(c.want, citedRows(c.text)); diff != "" {
			t.Errorf("%q cites (-want +got):\n%s", c.text, diff)
		}
	}
}

func TestFaultOfACitation(t *testing.T) {
	contracts := contractRows{contractFiles["lockfile"]: {"L1"}, contractFiles["lockdir"]: {"W1"}}
	for _, c := range []struct{ directory, row, want string }{
		{"lockfile", "L1", ""},
		{"conform", "L1", ""},
		{"conform", "L2", "cites L2, which conformance/contracts/lockfile.md does not have"},
		{"lockfile", "W1", "cites W1, a row of lockdir, in a directory of lockfile"},
	} {
		if got := contracts.fault(c.directory, c.row); got != c.want {
			t.Errorf("%s in %s: got %q, want %q", c.row, c.directory, got, c.want)
		}
	}
}
