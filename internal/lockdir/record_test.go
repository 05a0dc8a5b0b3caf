package lockdir

import (
	"github.com/seed-c461eb89/nodelock/internal/exithook"
	"strings"
	"testing"
	"time"
)

// What JSON.stringify of Node 20 gives for strings.
func TestQuote(t *testing.T) {
	var controls strings.Builder
	for c := range 32 {
		controls.WriteByte(byte(c))
	}
	for text, want := range map[string]string{
		controls.String():           `"\u0000\u0001\u0002\u0003\u0004\u0005\u0006\u0007\b\t\n\u000b\f\r\u000e\u000f\u0010\u0011\u0012\u0013\u0014\u0015\u0016\u0017\u0018\u0019\u001a\u001b\u001c\u001d\u001e\u001f"`,
		`"\/`:                       `"\"\\/"`,
		"\x7f\u0080\u009f\u00a0":    "\"\x7f\u0080\u009f\u00a0\"",
		"\u2028\u2029<>&\ufffd":     "\"\u2028\u2029<>&\ufffd\"",
		"café 😀":                    `"café 😀"`,
		"not \xff UTF-8, as Node's": "\"not \ufffd UTF-8, as Node's\"",
	} {
		if got := quote(text); got != want {
			t.Errorf("quote(%q) = %s, want %s", text, got, want)
		}
	}
}

// What Node 20 gives for the object with JSON.stringify(record, null, 2).
func TestBody(t *testing.T) {
	const want = "{\n  \"lock_id\": \"L-20231114T221320-0a1b2c3d\",\n  \"target\": \"notes/to \\\"pic\\\".md\",\n  \"pid\": 1,\n  \"hostname\": \"host.example\",\n  \"created_at\": \"2023-11-14T22:13:20.007Z\"\n}"
	l := &Lock{Engine: New(nil, nil, newOracle(), POSIX(), exithook.None{}), options: Options{Hostname: "host.example"}, target: `notes/to "pic".md`}
	at := time.UnixMilli(1700000000007).In(time.FixedZone("east", 3600))
	if got := string(l.body("L-20231114T221320-0a1b2c3d", at)); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestMint(t *testing.T) {
	at := time.UnixMilli(1700000000999).In(time.FixedZone("west", -8*3600))
	if got, want := New(nil, nil, fixedChance{newOracle()}, POSIX(), exithook.None{}).mint(at), "L-20231114T221320-0a1b2c3d"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

type fixedChance struct{ *oracle }

func (fixedChance) Random(p []byte) { copy(p, []byte{0x0a, 0x1b, 0x2c, 0x3d}) }

// A pid is trusted only if it is a number that names a process, to Node.
func TestParse(t *testing.T) {
	for _, test := range []struct {
		data string
		pid  int
		host string
	}{
		{`{"pid":7,"hostname":"here"}`, 7, "here"},
		{`{"hostname":"here","pid":7.0,"heartbeat_at":"2020"}`, 7, "here"},
		{`{"pid":2147483647}`, 2147483647, ""},
		{`{"pid":7,"hostname":5}`, 7, ""},
		{`{"pid":1,"pid":7,"hostname":"here"}`, 7, "here"},
		{"{\"pid\":7,\"hostname\":\"\xff\"}", 7, "\ufffd"},
		{``, 0, ""},
		{`no JSON`, 0, ""},
		{`null`, 0, ""},
		{`[7]`, 0, ""},
		{`7`, 0, ""},
		{`{}`, 0, ""},
		{`{"pid":"7","hostname":"here"}`, 0, ""},
		{`{"pid":null,"hostname":"here"}`, 0, ""},
		{`{"pid":0,"hostname":"here"}`, 0, ""},
		{`{"pid":-7,"hostname":"here"}`, 0, ""},
		{`{"pid":7.5,"hostname":"here"}`, 0, ""},
		{`{"pid":2147483648,"hostname":"here"}`, 0, ""},
		{`{"pid":1e400,"hostname":"here"}`, 0, ""},
		{`{"PID":7,"hostname":"here"}`, 0, ""},
		{`{"pid":7,"hostname":"here"}` + "x", 0, ""},
		{"\ufeff" + `{"pid":7,"hostname":"here"}`, 0, ""},
		{`{"pid":7,"hostname":"here"}` + strings.Repeat(" ", maxRecord), 0, ""},
	} {
		pid, host := holder(parse([]byte(test.data)))
		if pid != test.pid || pid != 0 && host != test.host {
			t.Errorf("holder(parse(%.60q)) = %d, %q, want %d, %q", test.data, pid, host, test.pid, test.host)
		}
	}
}

func TestActiveNames(t *testing.T) {
	for name, want := range map[string][2]bool{
		"L-1.json": {true, false}, ".json": {true, false}, "L-1.JSON": {false, false}, "json": {false, false},
		"L-1.json.quarantine": {false, true}, "L-1.quarantine": {false, false}, "L-1.json.Quarantine": {false, false},
	} {
		if got := [2]bool{isRecordName(name), isQuarantineName(name)}; got != want {
			t.Errorf("%s: record, quarantine: %v, want %v", name, got, want)
		}
	}
}
