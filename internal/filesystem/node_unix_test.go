//go:build unix

package filesystem

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/seed-c461eb89/nodelock/compat/nodeerror"
)

// An outcome is what came of a call. Value is what it returned, if that is a path or
// names.
type outcome struct {
	Value any      `json:"value,omitempty"`
	Error *failure `json:"error,omitempty"`
}

type failure struct {
	Message string `json:"message"`
	Code    string `json:"code"`
	Errno   int    `json:"errno,omitempty"`
	Syscall string `json:"syscall,omitempty"`
	Path    string `json:"path,omitempty"`
	Dest    string `json:"dest,omitempty"`
}

func outcomeOf(value any, err error) outcome {
	if err == nil {
		return outcome{Value: value}
	}
	e, ok := err.(*nodeerror.Error)
	if !ok {
		panic(fmt.Sprintf("%v is a %T", err, err))
	}
	return outcome{Error: &failure{e.Error(), e.Code, e.Errno, e.Syscall, e.Path, e.Dest}}
}

// The circumstances of calls made in another process.
type circumstances struct {
	// Exhaust leaves the process no descriptor.
	Exhaust bool `json:"exhaust"`
	// UID, unless 0, is who the process becomes first.
	UID int `json:"uid"`
	// Gone, unless empty, is a directory that the process goes to and removes.
	Gone string `json:"gone"`
	// ReadOnly, unless empty, is a directory to have a filesystem that cannot be
	// written to, with a file f and a directory d in it. Only this test's binary can
	// see to it, which then starts Node, if it is for Node.
	ReadOnly string `json:"readOnly"`
	Node     bool   `json:"node"`

	Calls []call `json:"calls"`
}

// nodeCalls makes calls in Node, each in the form with a callback and in the one
// without, which must agree.
const nodeCalls = `
const fs = require('fs'), util = require('util')
const input = JSON.parse(fs.readFileSync(0, 'utf8'))
const functions = {
  OpenExclusive: ['open', p => [p, 'wx'], fd => fs.closeSync(fd)],
  OpenRead: ['open', p => [p, 'r'], fd => fs.closeSync(fd)],
  Close: ['close', () => [9999]],
  Fstat: ['fstat', () => [9999]],
  Stat: ['stat', p => [p]],
  Lstat: ['lstat', p => [p]],
  Unlink: ['unlink', p => [p]],
  Link: ['link', (p, q) => [p, q]],
  Rename: ['rename', (p, q) => [p, q]],
  Mkdir: ['mkdir', p => [p]],
  Rmdir: ['rmdir', p => [p]],
  Utimes: ['utimes', p => [p, 1, 1]],
  Realpath: ['realpath', p => [p], s => s],
  Readdir: ['readdir', p => [p], s => s],
}
function failure (e) {
  return { message: e.message, code: e.code, errno: e.errno, syscall: e.syscall, path: e.path, dest: e.dest }
}
async function main () {
  if (input.uid) process.setuid(input.uid)
  if (input.gone) { process.chdir(input.gone); fs.rmdirSync('../' + input.gone) }
  if (input.exhaust) try { for (;;) fs.openSync('/dev/null', 'r') } catch {}
  const outcomes = []
  for (const { name, args = [] } of input.calls) {
    if (name === 'Getwd') {
      try { outcomes.push({ value: process.cwd() }) } catch (e) { outcomes.push({ error: failure(e) }) }
      continue
    }
    const [name2, args2, use] = functions[name]
    const one = async f => {
      try {
        const result = await f(...args2(...args))
        return { value: use && use(result) }
      } catch (e) { return { error: failure(e) } }
    }
    const a = await one(util.promisify((...args) => fs[name2](...args)))
    const b = await one(fs[name2 + 'Sync'])
    if (JSON.stringify(a) !== JSON.stringify(b) && a.error && b.error) {
      throw new Error(JSON.stringify([a, b]))
    }
    outcomes.push(a)
  }
  const out = JSON.stringify(outcomes)
  fs.writeSync(1, out)
}
main()
`

// node returns where Node is, or skips the test. The texts are those of Node 20 and
// since.
func node(t *testing.T) string {
	t.Helper()
	missing := t.Skip
	if os.Getenv("NODELOCK_NODE") == "1" {
		missing = t.Fatal
	}
	path, err := exec.LookPath("node")
	if err != nil {
		missing("node is not on PATH")
	}
	version, err := exec.Command(path, "-p", "process.versions.node").Output()
	if err != nil {
		t.Fatal(err)
	}
	major, _, _ := strings.Cut(string(version), ".")
	if n, err := strconv.Atoi(major); err != nil || n < 20 {
		missing("node is only version ", string(version))
	}
	return path
}

const childEnvironment = "NODELOCK_FILESYSTEM_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childEnvironment) != "" {
		os.Exit(child())
	}
	os.Exit(m.Run())
}

// inNode makes the calls in Node in the working directory and under the
// circumstances.
func inNode(t *testing.T, c circumstances) []outcome {
	t.Helper()
	cmd := exec.Command(node(t), "-e", nodeCalls)
	if c.Exhaust {
		cmd = exec.Command("sh", "-c", `ulimit -n 64; exec "$@"`, "sh", node(t), "-e", nodeCalls)
	}
	return run(t, cmd, c)
}

// inChild makes the calls in this test's binary, likewise.
func inChild(t *testing.T, c circumstances) []outcome {
	t.Helper()
	return run(t, childCommand(), c)
}

func childCommand() *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnvironment+"=1")
	return cmd
}

// child is what the test's binary does as a child.
func child() int {
	var c circumstances
	if err := json.NewDecoder(os.Stdin).Decode(&c); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := c.enter(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if c.Node {
		return childOfChild(c)
	}
	outcomes := make([]outcome, len(c.Calls))
	for i, call := range c.Calls {
		outcomes[i] = outcomeOf(call.make())
	}
	if err := json.NewEncoder(os.Stdout).Encode(outcomes); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// childOfChild makes the calls in Node where the child has got to.
func childOfChild(c circumstances) int {
	c.Node, c.ReadOnly = false, ""
	input, err := json.Marshal(c)
	if err != nil {
		panic(err)
	}
	cmd := exec.Command("node", "-e", nodeCalls)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(string(input)), os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return 1
	}
	return 0
}

// run runs cmd with the circumstances at its standard input. Standard output has the
// outcomes.
func run(t *testing.T, cmd *exec.Cmd, c circumstances) []outcome {
	t.Helper()
	input, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var complaints strings.Builder
	cmd.Stdin, cmd.Stderr = strings.NewReader(string(input)), &complaints
	output, err := cmd.Output()
	if err != nil {
		if skip, ok := strings.CutPrefix(complaints.String(), "skip: "); ok {
			t.Skip(skip)
		}
		t.Fatalf("%s: %v\n%s", cmd.Path, err, &complaints)
	}
	var outcomes []outcome
	if err := json.Unmarshal(output, &outcomes); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	if len(outcomes) != len(c.Calls) {
		t.Fatalf("%d outcomes of %d calls", len(outcomes), len(c.Calls))
	}
	return outcomes
}

// inThisProcess makes the calls here. The values pass through JSON as those of other
// processes do.
func inThisProcess(t *testing.T, calls []call) []outcome {
	t.Helper()
	outcomes := make([]outcome, len(calls))
	for i, c := range calls {
		outcomes[i] = outcomeOf(c.make())
	}
	text, err := json.Marshal(outcomes)
	if err != nil {
		t.Fatal(err)
	}
	outcomes = nil
	if err := json.Unmarshal(text, &outcomes); err != nil {
		t.Fatal(err)
	}
	return outcomes
}

// compare checks what came of the calls here against what did in Node.
func compare(t *testing.T, calls []call, ours, nodes []outcome) {
	t.Helper()
	for i, c := range calls {
		theirs := nodes[i]
		if theirs.Error != nil && theirs.Error.Code == "ERR_INVALID_ARG_VALUE" && ours[i].Error != nil {
			theirs.Error.Path = ours[i].Error.Path // Node leaves it out
		}
		if theirs.Error != nil {
			// Node 24 explains.
			theirs.Error.Message = strings.Replace(theirs.Error.Message,
				"process.cwd failed with error no such file or directory, the current working directory was likely removed without changing the working directory",
				"no such file or directory", 1)
		}
		if diff := cmp.Diff(theirs, ours[i]); diff != "" {
			t.Errorf("%v (-Node +Go):\n%s", c, diff)
		}
	}
}

func (o outcome) String() string {
	if o.Error != nil {
		return fmt.Sprintf("%+v", *o.Error)
	}
	return fmt.Sprint(o.Value)
}
