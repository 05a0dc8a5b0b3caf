package conformance

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var record = flag.Bool("record", false, "write the recordings of lockdir anew")

// TestRecordLockdir writes what the engine does in the scenarios of lockdir beside what
// was expected of it by hand. It refuses one that does not do what is expected.
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
		var entries []struct{ Scenario, Expected json.RawMessage }
		if err := json.Unmarshal(data, &entries); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		var out bytes.Buffer
		for i, e := range entries {
			recording := recordOne(t, path, e.Scenario, e.Expected)
			out.WriteString([]string{"[\n ", ",\n "}[min(i, 1)] + "{\n")
			for _, part := range []struct {
				name string
				data []byte
			}{{"scenario", e.Scenario}, {"expected", e.Expected}, {"recording", recording}} {
				if part.name != "scenario" {
					out.WriteString(",\n")
				}
				out.WriteString(`  "` + part.name + `": `)
				writeJSON(&out, part.data, "  ", part.name)
			}
			out.WriteString("\n }")
		}
		out.WriteString("\n]\n")
		if !t.Failed() {
			if err := os.WriteFile(path, out.Bytes(), 0o666); err != nil {
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

// writeJSON writes data as the recorder of the other systems does: one step, file, event
// or result a line.
func writeJSON(out *bytes.Buffer, data []byte, indent, name string) {
	lists := []string{"trace", "results", "disk", "files", "faults", "world", "steps"}
	names, values := members(data)
	list := slices.Contains(lists, name)
	if len(values) == 0 || !list && !slices.ContainsFunc(values, isCompound) || isCompound(data) && data[0] == '[' && !list {
		writeLine(out, data)
		return
	}
	brackets := "{}"
	if data[0] == '[' {
		brackets = "[]"
	}
	out.WriteByte(brackets[0])
	for i, v := range values {
		out.WriteString([]string{"\n", ",\n"}[min(i, 1)] + indent + " ")
		if names != nil {
			out.Write(names[i])
			out.WriteString(": ")
		}
		if list {
			writeLine(out, v)
		} else {
			writeJSON(out, v, indent+" ", strings.Trim(string(names[i]), `"`))
		}
	}
	out.WriteString("\n" + indent)
	out.WriteByte(brackets[1])
}

func writeLine(out *bytes.Buffer, data []byte) {
	names, values := members(data)
	if !isCompound(data) {
		out.Write(plain(data))
		return
	}
	if len(values) == 0 {
		out.WriteString(map[byte]string{'{': "{}", '[': "[]"}[data[0]])
		return
	}
	open, end := "{ ", " }"
	if data[0] == '[' {
		open, end = "[", "]"
	}
	out.WriteString(open)
	for i, v := range values {
		if i > 0 {
			out.WriteString(", ")
		}
		if names != nil {
			out.Write(names[i])
			out.WriteString(": ")
		}
		writeLine(out, v)
	}
	out.WriteString(end)
}

func isCompound(data []byte) bool { return len(data) > 0 && (data[0] == '{' || data[0] == '[') }

// members takes an object or a list apart, in order. Names are nil for a list.
func members(data []byte) (names, values [][]byte) {
	data = bytes.TrimSpace(data)
	if !isCompound(data) {
		return nil, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	_, _ = decoder.Token()
	for decoder.More() {
		if data[0] == '{' {
			name, _ := decoder.Token()
			names = append(names, encode(name))
		}
		var v json.RawMessage
		if decoder.Decode(&v) != nil {
			return nil, nil
		}
		values = append(values, bytes.TrimSpace(v))
	}
	return names, values
}

// plain writes a string with no more escapes than it needs.
func plain(data []byte) []byte {
	var s string
	if json.Unmarshal(data, &s) != nil || data[0] != '"' {
		return data
	}
	return encode(s)
}

func encode(v any) []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(v) // of a string
	return bytes.TrimSpace(b.Bytes())
}
