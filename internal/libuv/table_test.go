package libuv

import (
	"encoding/json"
	"os"
	"testing"
)

func TestTableIsSorted(t *testing.T) {
	for i := 1; i < len(table); i++ {
		if table[i-1].Code >= table[i].Code {
			t.Errorf("%s before %s", table[i-1].Code, table[i].Code)
		}
	}
	for _, e := range table {
		if found, ok := Lookup(e.Code); !ok || found != e {
			t.Errorf("%s is not found", e.Code)
		}
	}
	for _, code := range []string{"", "E", "ELOCKED", "Z"} {
		if _, ok := Lookup(code); ok {
			t.Errorf("%q is known", code)
		}
	}
}

// testdata/errno.json is what Node told of its table.
func TestTableIsNodes(t *testing.T) {
	content, err := os.ReadFile("../../testdata/errno.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Linux []struct {
			Code  string `json:"code"`
			Errno int    `json:"errno"`
			Text  string `json:"text"`
		} `json:"linux"`
	}
	if err := json.Unmarshal(content, &file); err != nil {
		t.Fatal(err)
	}
	nodes := map[string]Entry{}
	for _, e := range file.Linux {
		nodes[e.Code] = Entry{e.Code, e.Errno, e.Text}
		if ours, _ := Lookup(e.Code); ours != nodes[e.Code] {
			t.Errorf("%v; Node has %v", ours, nodes[e.Code])
		}
	}
	for _, e := range table {
		if nodes[e.Code] != e {
			t.Errorf("%v is unknown to Node", e)
		}
	}
	if len(table) < 80 {
		t.Errorf("there are %d errors", len(table))
	}
}

// Every code that this system has an error for is had back from that error.
func TestErrnoRoundTrip(t *testing.T) {
	for _, e := range table {
		errno, number, ok := Errno(e.Code)
		if !ok {
			continue
		}
		code, named := Named(errno)
		if code != e.Code && !(e.Code == "ENOTDIR" && code == "ENOENT") { // see errno_windows.go
			t.Errorf("%s is %d, which is %s", e.Code, errno, code)
		}
		if number >= 0 || named >= 0 {
			t.Errorf("%s is %d", e.Code, number)
		}
	}
	for _, known := range errnos {
		if _, ok := Lookup(known.code); !ok {
			t.Errorf("%s has no text", known.code)
		}
	}
}
