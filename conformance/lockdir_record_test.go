package conformance

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

var record = flag.Bool("record", false, "write the recordings of lockdir anew")

// TestRecordLockdir writes what the engine does in the scenarios of lockdir beside what
// was expected of it by hand. It refuses one that does not do what is expected. Node writes
// the file, as it does with those of the other systems.
func TestRecordLockdir(t *testing.T) {
	if !*record {
		t.Skip("only with -record")
	}
	paths, err := filepath.Glob("../testdata/lockdir/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatalf("nothing to record: %v", err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var entries []struct {
			Scenario  json.RawMessage `json:"scenario"`
			Expected  json.RawMessage `json:"expected"`
			Recording json.RawMessage `json:"recording"`
		}
		if err := json.Unmarshal(data, &entries); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for i := range entries {
			entries[i].Recording = recordOne(t, path, entries[i].Scenario, entries[i].Expected)
		}
		text, err := marshal(entries)
		if err != nil {
			t.Fatal(err)
		}
		node := exec.Command("node", "-e", `const fs = require('fs');
			console.log(require('./node/format').pretty(JSON.parse(fs.readFileSync(0, 'utf8'))))`)
		node.Stdin = bytes.NewReader(text)
		if data, err = node.Output(); err != nil {
			t.Fatal(err)
		}
		if !t.Failed() {
			if err := os.WriteFile(path, data, 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func recordOne(t *testing.T, path string, scenario, expected []byte) []byte {
	t.Helper()
	s := new(Scenario)
	if err := s.UnmarshalJSON(scenario); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	var e Expected
	decoder := json.NewDecoder(bytes.NewReader(expected))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&e); err != nil {
		t.Fatalf("%s: %s: %v", path, s.Name, err)
	}
	recording, err := Observe(s)
	if err != nil {
		t.Fatalf("%s: %s: %v", path, s.Name, err)
	}
	if d := e.Check(recording); d != nil {
		t.Errorf("%s: %s: %s\nwant %s\ngot  %s", path, s.Name, d.Where, d.Want, d.Got)
	}
	data, err := recording.Line()
	if err != nil {
		t.Fatal(err)
	}
	return data
}
