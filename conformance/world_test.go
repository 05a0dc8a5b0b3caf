package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A program is a function for each step.
type program []func(Step) Outcome

func (p program) Call(s Step) Outcome { return p[s.Index](s) }
func (p program) Exit()               {}

// play runs steps of the calls in a scenario of these fields.
func play(t *testing.T, fields string, steps ...func(w *World) error) (*Recording, error) {
	t.Helper()
	calls := strings.TrimSuffix(strings.Repeat(`{"call":"lock","path":"x","background":true},`, len(steps)), ",")
	s := new(Scenario)
	text := `{"name":"n","covers":[],"api":"lockfile","version":"1.0.6",` + fields + `"steps":[` + calls + `]}`
	if err := json.Unmarshal([]byte(text), s); err != nil {
		t.Fatal(err)
	}
	return Run(s, func(w *World) (Program, error) {
		var p program
		for _, step := range steps {
			p = append(p, func(Step) Outcome { return Outcome{Err: step(w)} })
		}
		return p, nil
	})
}

// trace returns a recording's trace, one event a line: when, what and how it went.
func trace(r *Recording) (lines []string) {
	for _, e := range r.Trace {
		if e.Sys != "" {
			lines = append(lines, strings.TrimSpace(fmt.Sprint(e.T, " ", e.Sys, e.Args, " ", e.Ret)))
		}
	}
	return lines
}

func equal(t *testing.T, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("want (-), got (+):\n%s", d)
	}
}

// An adapter makes every call by its name in a trace.
func TestDo(t *testing.T) {
	r, err := play(t, `"files":{"d/f":{"type":"file","age":5000},"l":{"type":"symlink","to":"d/f"}},`, func(w *World) error {
		do := func(c Call) Answer {
			a, err := w.Do(c)
			if err != nil {
				t.Errorf("%+v: %v", c, err)
			}
			return a
		}
		fd := do(Call{Sys: "open", Mode: "w", Path: "d/g"}).FD
		do(Call{Sys: "write", FD: fd, Data: "text"})
		do(Call{Sys: "futimes", FD: fd, Mtime: defaultEpoch + 500})
		equal(t, Answer{Type: "file", Mtime: time.UnixMilli(defaultEpoch + 500), Ctime: w.Now()}, do(Call{Sys: "fstat", FD: fd}))
		do(Call{Sys: "close", FD: fd})
		fd = do(Call{Sys: "open", Mode: "nofollow", Path: "d/g"}).FD
		equal(t, Answer{Data: "tex"}, do(Call{Sys: "read", FD: fd, Limit: 3}))
		do(Call{Sys: "close", FD: fd})
		do(Call{Sys: "utimes", Path: "l", Mtime: defaultEpoch - 500})
		equal(t, time.UnixMilli(defaultEpoch-500), do(Call{Sys: "stat", Path: "l"}).Mtime)
		equal(t, "symlink", do(Call{Sys: "lstat", Path: "l"}).Type)
		do(Call{Sys: "link", Path: "d/f", Dest: "d/h"})
		do(Call{Sys: "rename", Path: "d/h", Dest: "d/i"})
		do(Call{Sys: "renameNoReplace", Path: "d/i", Dest: "d/j"})
		equal(t, Answer{Names: []string{"f", "g", "j"}}, do(Call{Sys: "readdir", Path: "d"}))
		equal(t, Answer{Path: root + "/d/f"}, do(Call{Sys: "realpath", Path: "l"}))
		if _, err := w.Do(Call{Sys: "mkdir", Path: "d"}); !errors.Is(err, fs.ErrExist) || err.Error() != "EEXIST: file already exists, mkdir 'd'" {
			t.Errorf("mkdir of what is there: %v", err)
		}
		if _, err := w.Do(Call{Sys: "open", Mode: "rw"}); err == nil {
			t.Error("a call that there is not is made")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, []string{
		"0 open[d/g w] ok", "0 write[4] ok", "0 futimes[500] ok", "0 fstat[] ok", "0 close[] ok", "0 open[d/g nofollow] ok",
		"0 read[] ok", "0 close[] ok", "0 utimes[l -500] ok", "0 stat[l] ok", "0 lstat[l] ok", "0 link[d/f d/h] ok",
		"0 rename[d/h d/i] ok", "0 renameNoReplace[d/i d/j] ok", "0 readdir[d] ok", "0 realpath[l] ok", "0 mkdir[d] EEXIST",
	}, trace(r))
	equal(t, DiskFile{Type: "file", Mtime: 500, Nlink: 1, Content: "text"}, r.Disk["d/g"])
}

// Time passes when nothing is ready; world events come first, and calls in turns.
func TestTime(t *testing.T) {
	stat := func(w *World, path string) { _, _ = w.Do(Call{Sys: "stat", Path: path}) }
	var stopped bool
	r, err := play(t, `"world":[{"at":20,"do":"create","path":"a"},{"at":30,"do":"jump","by":1000}],`,
		func(w *World) error {
			stat(w, "a")
			_ = w.Wait(t.Context(), 20*time.Millisecond)
			stat(w, "a")
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			return w.Wait(ended, time.Hour)
		},
		func(w *World) error {
			stat(w, "b")
			late := w.AfterFunc(time.Second, func() { t.Error("a timer that was stopped runs out") })
			w.AfterFunc(40*time.Millisecond, func() {
				stopped = late.Stop() && !late.Stop()
				equal(t, time.UnixMilli(defaultEpoch+1040), w.Now())
				stat(w, "c")
			})
			return nil
		})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, []string{
		"0 stat[a] ENOENT", "0 stat[b] ENOENT", "0 timer[20]", "0 timer[1000]", "0 timer[40]", "20 stat[a] ok", "40 stat[c] ENOENT",
	}, trace(r))
	equal(t, "context canceled", r.Results[0].Error.Message)
	equal(t, true, stopped)
}

// What is wrong with a program is an error of the run.
func TestBrokenPrograms(t *testing.T) {
	for want, step := range map[string]func(w *World) error{
		"panicked: on purpose": func(*World) error { panic("on purpose") },
		"does not end": func(w *World) error {
			for {
				_, _ = w.Do(Call{Sys: "stat", Path: "a"})
			}
		},
	} {
		if _, err := play(t, "", step); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	// A call that is under way when the run is over ends with it.
	if r, err := play(t, `"until":5,`, func(w *World) error {
		defer stopAgain(w)
		return w.Wait(t.Context(), time.Hour)
	}); err != nil || !r.Results[0].Pending {
		t.Errorf("%+v, %v", r, err)
	}
}

func stopAgain(w *World) { _, _ = w.Do(Call{Sys: "stat", Path: "a"}) }

// A scenario that is wrong says where.
func TestScenarioErrors(t *testing.T) {
	for field, want := range map[string]string{
		`"nme":"x"`:                       `unknown field "nme"`,
		`"until":"later"`:                 `until: a JSON string does not belong here`,
		`"api":"flock"`:                   `api: "flock" is not one of lockdir, lockfile, proper-lockfile`,
		`"version":"2"`:                   `version: lockfile has no version "2" here, only 1.0.6`,
		`"timestamps":"h"`:                `timestamps: "h" is not one of ns, ms, 10ms, s, 2s`,
		`"until":-1`:                      `until: is negative`,
		`"epoch":1e300`:                   `epoch: a JSON number 1e300 does not belong here`,
		`"files":{"a":{"type":"socket"}}`: `files["a"]: type "socket"`,
		`"files":{"a":{"type":"file"},"a/b":{"type":"file"}}`:                           `files["a/b"]: cannot be placed: ENOTDIR`,
		`"files":{"a":{"type":"symlink"}}`:                                              `a symlink needs a target`,
		`"files":{"a":{"type":"fifo"}}`:                                                 `fifo, content and size are for lockdir only`,
		`"faults":[{"syscall":"sync","code":"EIO"}]`:                                    `faults[0]: syscall "sync" is not one of kill, open, close`,
		`"faults":[{"syscall":"open","code":"EWHAT"}]`:                                  `faults[0]: code "EWHAT"`,
		`"faults":[{"syscall":"open","code":"EIO","call":1,"from":2}]`:                  `faults[0]: has both call and from`,
		`"world":[{"at":1,"do":"rename","path":"a"}]`:                                   `world[0]: a rename needs a target`,
		`"world":[{"at":-1,"do":"unlink","path":"a"}]`:                                  `world[0]: at is negative`,
		`"world":[{"do":"unlink"}]`:                                                     `world[0]: unlink needs a path`,
		`"steps":[{"call":"flock"}]`:                                                    `steps[0]: call "flock" is not one of lockfile`,
		`"steps":[{"call":"lock","options":{"age":1}}]`:                                 `steps[0]: options: "age"`,
		`"steps":[{"call":"exit"},{"call":"lock"}]`:                                     `steps[0]: exit is the last step`,
		`"steps":[{"call":"lock","vault":"v"}]`:                                         `steps[0]: vault and dir are for lockdir only`,
		`"api":"lockdir","version":"1","steps":[{"call":"acquire"}]`:                    `steps[0]: acquire needs a path`,
		`"api":"lockdir","version":"1","machine":{"platform":"plan9"}`:                  `machine: platform "plan9"`,
		`"api":"lockdir","version":"1","machine":{"random":[1]}`:                        `machine: random: 1 is not in [0, 1)`,
		`"api":"proper-lockfile","version":"4.1.2","filetime":"ctime"`:                  `filetime: is for lockfile only`,
		`"api":"proper-lockfile","version":"4.1.2","steps":[{"call":"release","of":0}]`: `steps[0]: of must be the index`,
	} {
		s := new(Scenario)
		err := s.UnmarshalJSON([]byte(`{"name":"n","covers":[],"api":"lockfile","version":"1.0.6","steps":[],` + field + `}`))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", field, err, want)
		}
	}
	for text, want := range map[string]string{`[{}]`: "scenario: name is missing", `[`: "unexpected end of JSON input", `{`: "unexpected end of JSON input"} {
		_, errs, err := ReadScenarios([]byte(text))
		if err = errors.Join(append(errs, err)...); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// The first difference is found in each part of a recording, and shown.
func TestCompare(t *testing.T) {
	read := func(text string) *Recording {
		r := new(Recording)
		if err := json.Unmarshal([]byte(text), r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	const whole = `{"trace":[{"t":0,"sys":"open","args":["a","wx"],"ret":"ok"},{"t":1,"sys":"timer","args":[5]}],
		"results":[{"step":0,"call":"lock","at":3,"error":null}],"disk":{"a":{"type":"file","mtime":0,"nlink":1}},"fds":0}`
	if d := Compare(read(whole), read(whole)); d != nil {
		t.Errorf("a recording differs from itself: %v", d)
	}
	for change, want := range map[[2]string]string{
		{`"args":[5]`, `"args":[6]`}:   "first difference at trace[1]\n        {\"t\":0,\"sys\":\"open\",\"args\":[\"a\",\"wx\"],\"ret\":\"ok\"}\n  Node: {\"t\":1,\"sys\":\"timer\",\"args\":[5]}\n  Go:   {\"t\":1,\"sys\":\"timer\",\"args\":[6]}\n",
		{`"at":3`, `"at":4`}:           "first difference at results[0]\n",
		{`"nlink":1`, `"nlink":2`}:     `first difference at disk["a"]`,
		{`"a":{"type"`, `"b":{"type"`}: "  Go:   (nothing)\n",
		{`"fds":0`, `"fds":1`}:         "first difference at fds\n",
	} {
		d := Compare(read(whole), read(strings.Replace(whole, change[0], change[1], 1)))
		if d == nil || !strings.Contains(d.String(), want) {
			t.Errorf("%q: %v, want %q", change, d, want)
		}
	}
}
