package live

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/seed-c461eb89/nodelock/conformance"
)

var (
	randomCount = flag.Int("random.count", 300, "how many random scenarios TestRandom tries for each version")
	randomSeed  = flag.Uint64("random.seed", 1, "what TestRandom makes them from")
)

// TestRandom runs scenarios that nobody thought of in Node and in Go, and compares.
func TestRandom(t *testing.T) {
	needNode(t)
	l, err := New("node", io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Remove()
	scripts, err := filepath.Glob("../../conformance/node/*.js")
	if err != nil {
		t.Fatal(err)
	}
	for _, script := range scripts {
		text, err := os.ReadFile(script)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(l.packages, filepath.Base(script)), text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, version := range []struct{ api, version string }{
		{"lockfile", "1.0.6"},
		{"proper-lockfile", "4.1.2"},
		{"proper-lockfile", "1.2.0"},
	} {
		t.Run(version.api+" "+version.version, func(t *testing.T) {
			scenarios := make([]json.RawMessage, *randomCount)
			for i := range scenarios {
				r := randomScenario{rand.New(rand.NewPCG(*randomSeed, uint64(i)))}
				scenarios[i] = r.scenario(version.api, version.version, i)
			}
			compareWithNode(t, l, scenarios)
		})
	}
}

func compareWithNode(t *testing.T, l *Harness, scenarios []json.RawMessage) {
	input, err := json.Marshal(scenarios)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "scenarios.json")
	if err := os.WriteFile(path, input, 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(l.node, "record.js", "run", path)
	cmd.Dir = l.packages
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	output, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	lines := bytes.Split(bytes.TrimSpace(output), []byte("\n"))
	if len(lines) != len(scenarios) {
		t.Fatalf("%d recordings of %d scenarios", len(lines), len(scenarios))
	}
	overflows := 0
	for i, line := range lines {
		var want struct {
			conformance.Recording
			// Truncated says that Node did not come to an end by itself.
			Truncated any
		}
		if err := json.Unmarshal(line, &want); err != nil {
			t.Fatal(err)
		}
		s := new(conformance.Scenario)
		if err := json.Unmarshal(scenarios[i], s); err != nil {
			t.Fatal(err)
		}
		got, err := conformance.Observe(s)
		if err != nil {
			t.Errorf("%v\n%s", err, scenarios[i])
			continue
		}
		if want.Truncated != nil {
			overflows++
			continue
		}
		if d := conformance.Compare(&want.Recording, got); d != nil {
			t.Errorf("%s\n%v", scenarios[i], d)
		}
	}
	t.Logf("%d compared; in %d more Node did not come to an end", len(lines)-overflows, overflows)
}

// A randomScenario makes a scenario from random numbers.
type randomScenario struct{ *rand.Rand }

func (r randomScenario) chance(p float64) bool { return r.Float64() < p }

func oneOf[T any](r randomScenario, list ...T) T { return list[r.IntN(len(list))] }

type object = map[string]any

func (r randomScenario) scenario(api, version string, i int) json.RawMessage {
	s := object{
		"name": fmt.Sprintf("random %d", i), "covers": []string{}, "api": api, "version": version,
		"timestamps": oneOf(r, "ns", "ns", "ms", "10ms", "s", "2s"),
		"epoch":      1700000000000 + oneOf[int64](r, 0, 1, 76, 400, 999),
		"until":      oneOf(r, 100, 1000, 30_000, 60_000),
	}
	v := vocabularies[api]
	if api == "lockfile" {
		s["filetime"] = oneOf(r, "ctime", "mtime")
	}
	files := object{}
	for _, path := range v.paths {
		if r.chance(0.35) || path == v.always {
			files[path] = r.file(v)
		}
	}
	if f, ok := files["f.lock"].(object); ok && f["type"] != "dir" {
		delete(files, "f.lock/x")
	}
	s["files"] = files
	s["faults"] = repeat(r, 2, func() any { return r.fault(v) })
	s["world"] = repeat(r, 3, func() any { return r.worldEvent(v) })
	s["steps"] = r.steps(v)
	text, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return text
}

func repeat(r randomScenario, most int, make func() any) []any {
	list := []any{}
	for range r.IntN(most + 1) {
		list = append(list, make())
	}
	return list
}

// A vocabulary is what the scenarios of an API are made of.
type vocabulary struct {
	paths    []string
	always   string // is there at the start, as a file
	lock     string
	targets  []string // what the calls are made on
	syscalls []string
	ages     []float64
	times    []int
	options  func(r randomScenario, call string) object
	release  bool
}

var vocabularies = map[string]vocabulary{
	"lockfile": {
		paths:    []string{"a.lock", "a.lock.STALE", "a.lock.STALE.STALE", "b.lock", "d/a.lock", "l.lock"},
		lock:     "file",
		targets:  []string{"a.lock", "a.lock", "a.lock", "a.lock.STALE", "b.lock", "d/a.lock", "l.lock"},
		syscalls: []string{"open", "close", "fstat", "stat", "unlink", "link"},
		ages:     []float64{0, 0.5, 100, 999.5, 1000, 1000.5, 1500, 2000, 5000, 100_000, -500},
		times:    []int{0, 1, 50, 80, 99, 100, 150, 200, 230, 500},
		options:  randomScenario.lockfileOptions,
	},
	"proper-lockfile": {
		paths:    []string{"f", "f.lock", "f.lock/x", "g", "g.lock", "d/f", "l"},
		always:   "f",
		lock:     "dir",
		targets:  []string{"f", "f", "f", "g", "d/f", "l"},
		syscalls: []string{"mkdir", "rmdir", "stat", "utimes", "realpath"},
		ages:     []float64{0, 0.5, 1000, 1999.5, 2000, 2000.5, 5000, 10_000, 10_000.5, 100_000, -500},
		times:    []int{0, 1, 500, 1000, 2000, 4999, 5000, 5001, 10_000, 12_345},
		options:  randomScenario.properLockfileOptions,
		release:  true,
	},
}

func (r randomScenario) file(v vocabulary) object {
	f := object{"type": oneOf(r, v.lock, v.lock, v.lock, v.lock, "file", "dir", "symlink")}
	if f["type"] == "symlink" {
		f["to"] = oneOf(r, append(v.paths, "nowhere", "d")...)
	}
	if r.chance(0.7) {
		f["age"] = oneOf(r, v.ages...)
	}
	for _, age := range []string{"mtime_age", "ctime_age"} {
		if r.chance(0.2) {
			f[age] = oneOf(r, v.ages...)
		}
	}
	return f
}

func (r randomScenario) fault(v vocabulary) object {
	f := object{
		"syscall": oneOf(r, v.syscalls...),
		"code":    oneOf(r, "EPERM", "EACCES", "ENOENT", "EEXIST", "EIO", "EMFILE", "EROFS", "EISDIR", "EBUSY"),
	}
	if r.chance(0.6) {
		f["path"] = oneOf(r, v.paths...)
	}
	switch {
	case r.chance(0.8):
		f["call"] = oneOf(r, 1, 1, 2, 3)
	case r.chance(0.5):
		f["from"] = oneOf(r, 1, 2, 3)
	}
	if r.chance(0.3) {
		f["after"] = true
	}
	return f
}

func (r randomScenario) worldEvent(v vocabulary) object {
	e := object{"at": oneOf(r, v.times...), "do": oneOf(r, "create", "unlink", "mkdir", "rmdir", "rename", "touch", "jump")}
	if e["do"] == "jump" {
		e["by"] = oneOf(r, -1000, 500, 1000, 10_000, 100_000)
		return e
	}
	e["path"] = oneOf(r, v.paths...)
	switch e["do"] {
	case "rename":
		e["to"] = oneOf(r, v.paths...)
	case "touch":
		if r.chance(0.4) {
			e["skew"] = oneOf(r, -5000, -999, 2000)
		}
	}
	return e
}

func (r randomScenario) steps(v vocabulary) []object {
	var steps []object
	var locks []int
	shared := map[string]bool{}
	for i := range 1 + r.IntN(5) {
		if v.release && len(locks) > 0 && r.chance(0.3) {
			steps = append(steps, r.when(v, object{"call": "release", "of": oneOf(r, locks...)}))
			continue
		}
		call := oneOf(r, "lock", "lock", "lock", "lockSync", "unlock", "unlockSync", "check", "checkSync")
		step := object{"call": call, "path": oneOf(r, v.targets...)}
		if call == "lock" || call == "lockSync" {
			locks = append(locks, i)
		}
		if v.release || call != "unlock" && call != "unlockSync" {
			if r.chance(0.6) {
				step["options"] = v.options(r, call)
			}
			if !v.release && r.chance(0.15) {
				id := oneOf(r, "o", "p")
				if shared[id] {
					delete(step, "options")
				}
				step["options_id"], shared[id] = id, true
			}
		}
		steps = append(steps, r.when(v, step))
	}
	if r.chance(0.3) {
		steps = append(steps, object{"call": "exit"})
	}
	return steps
}

// when gives a step its time.
func (r randomScenario) when(v vocabulary, step object) object {
	if r.chance(0.4) {
		step["at"] = oneOf(r, v.times...)
	}
	if r.chance(0.25) {
		step["background"] = true
	}
	return step
}

func (r randomScenario) lockfileOptions(call string) object {
	o := object{}
	if r.chance(0.5) {
		o["stale"] = oneOf(r, 0, 1, 50, 100, 999, 1000, 1001, 1500, 2000, 5000, -100, -1500)
	}
	if r.chance(0.3) {
		o["pollPeriod"] = oneOf(r, 0, 1, 10, 50, 100, 130, -7)
	}
	if r.chance(0.3) {
		o["retries"] = oneOf(r, 0, 1, 2, 3, -1)
	}
	// Mostly an error in a synchronous call.
	if call == "lock" || r.chance(0.1) {
		if r.chance(0.4) {
			o["wait"] = oneOf(r, 0, 1, 50, 80, 100, 150, 300, 1000, -5)
		}
		if r.chance(0.2) {
			o["retryWait"] = oneOf(r, 0, 1, 20, 100, -3)
		}
	}
	return o
}

func (r randomScenario) properLockfileOptions(call string) object {
	o := object{}
	if r.chance(0.5) {
		o["stale"] = oneOf(r, 0, 1, 1999, 2000, 2001, 5000, 10_000, 20_000, -100)
	}
	if r.chance(0.4) {
		o["update"] = oneOf(r, 0, 1, 1000, 1001, 1500, 5000, 100_000, -100)
	}
	if call == "lock" && r.chance(0.4) || r.chance(0.05) {
		o["retries"] = oneOf[any](r, 0, 1, 2, 3,
			object{"retries": 3, "factor": 1, "minTimeout": 100},
			object{"retries": 2, "minTimeout": 500, "maxTimeout": 700},
			object{"retries": 5, "factor": 3, "minTimeout": 1, "maxRetryTime": 50},
			object{"forever": true, "factor": 1, "minTimeout": 2500, "retries": 2})
	}
	if r.chance(0.2) {
		o["realpath"] = r.chance(0.3)
	}
	if r.chance(0.15) {
		o["lockfilePath"] = oneOf(r, "f.lock", "g.lock", "elsewhere", "no/where")
	}
	return o
}
