package participant

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// Each line has one answer, whatever is in it.
func TestServe(t *testing.T) {
	in := strings.Join([]string{
		`{"do":"hello"}`,
		`{"do":"lock","stael":5}`,
		`{"do":"lock"} {}`,
		`{}`,
		`nonsense`,
		`{"do":"lock","system":"lockfile","path":"a"}`,
	}, "\n")
	var out strings.Builder
	err := Serve(strings.NewReader(in), &out, func(c Command) (Answer, error) {
		if c.Do == "hello" {
			return Answer{Version: "v", Protocol: Version}, nil
		}
		return Answer{}, fmt.Errorf("lock %s: %w", c.Path, &Failure{"ELOCKED", "held"})
	})
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	wants := []string{
		`{"version":"v","protocol":1}`, `unknown field`, `more after it`, `no \"do\"`,
		EPROTOCOL, `{"error":{"code":"ELOCKED","message":"lock a: held"}}`,
	}
	if len(lines) != len(wants) {
		t.Fatalf("%d answers, want %d: %s", len(lines), len(wants), &out)
	}
	for i, want := range wants {
		if !strings.Contains(lines[i], want) {
			t.Errorf("there is no %s in %s", want, lines[i])
		}
	}
}

// A line that is too long is an error, not a command cut short.
func TestServeLongLine(t *testing.T) {
	in := `{"do":"` + strings.Repeat("x", LineLimit) + `"}`
	obey := func(Command) (Answer, error) { t.Error("obeyed"); return Answer{}, nil }
	if err := Serve(strings.NewReader(in), &strings.Builder{}, obey); err == nil {
		t.Error("no error")
	}
}

// What is accepted as a command is the same command when it is written and read again.
func FuzzParseCommand(f *testing.F) {
	f.Add([]byte(`{"do":"lock","options":{"schedule":{"retries":3,"factor":1,"minTimeout":5}}}`))
	f.Add([]byte(`{"do":"storm","paths":["a","b"]}`))
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		c, err := ParseCommand(line)
		if err != nil {
			return
		}
		text, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseCommand(text)
		if len(c.Paths) == 0 {
			c.Paths = nil
		}
		if err != nil || !reflect.DeepEqual(c, again) {
			t.Errorf("%+v became %+v, %v", c, again, err)
		}
	})
}
