// Package live has Go and Node processes contend for locks on a real filesystem, in real
// time: what no virtual world shows.
package live

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-c461eb89/nodelock/conformance/node"
)

// ParticipantCommand is the argument that makes a program a participant: [New] takes the
// program that it runs in for one that then calls [Serve].
const ParticipantCommand = "participant"

// An Outcome is what came of a check.
type Outcome struct {
	System, Check string
	// Figures is for the table.
	Figures string
	Err     error
}

// A check is one thing that is tried with real processes.
type check struct {
	system, name string
	// try returns figures for the table. What fails in it ends it: see must.
	try func(t *trial) string
}

// must ends a check with an error, if it is one, and failf does.
func must(err error) {
	if err != nil {
		panic(ended{err})
	}
}

func failf(format string, args ...any) { must(fmt.Errorf(format, args...)) }

type ended struct{ error }

// catch returns what has ended f, or nil.
func catch(f func()) (err error) {
	defer func() {
		switch e := recover().(type) {
		case nil:
		case ended:
			err = e.error
		default:
			panic(e)
		}
	}()
	f()
	return nil
}

// A Harness has what all checks need: Node with the published packages.
type Harness struct {
	NodeVersion string
	// Quick makes less of the checks that take long.
	Quick bool

	dir      string // removed in the end
	packages string
	node     string
	self     string
	// candidate is the command of a program that is judged.
	candidate []string
}

// amount is how much there is of something: less when it has to be quick.
func amount[T int | time.Duration](l *Harness, full, quick T) T {
	if l.Quick {
		return quick
	}
	return full
}

// A trial is a check under way. It has a directory of its own, which has to be empty in
// the end, and participants, which are stopped in the end.
type trial struct {
	*Harness
	scratch      string
	participants []*process
}

// New installs the packages, from the lock file, with npm.
func New(nodePath string, progress io.Writer) (*Harness, error) {
	nodePath, err := exec.LookPath(nodePath)
	if err != nil {
		return nil, fmt.Errorf("live needs Node: %w", err)
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		return nil, fmt.Errorf("live needs npm: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "nodelock-live-")
	if err != nil {
		return nil, err
	}
	l := &Harness{dir: dir, node: nodePath, self: self, packages: filepath.Join(dir, "node")}
	fmt.Fprintln(progress, "live: installing the published packages")
	if err := l.install(npm); err != nil {
		l.Remove()
		return nil, err
	}
	return l, nil
}

func (l *Harness) install(npm string) error {
	if err := os.CopyFS(l.packages, node.Participant); err != nil {
		return err
	}
	cmd := exec.Command(npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts")
	cmd.Dir = l.packages
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci: %w: %s", err, strings.TrimSpace(string(out)))
	}
	version, err := exec.Command(l.node, "--version").Output()
	if err != nil {
		return fmt.Errorf("%s --version: %w", l.node, err)
	}
	l.NodeVersion = strings.TrimSpace(string(version))
	return nil
}

// Remove removes what New has installed.
func (l *Harness) Remove() { _ = os.RemoveAll(l.dir) }

// atOnce is how many checks run at a time: most of them wait most of the time.
const atOnce = 4

// Run runs all checks.
func (l *Harness) Run(progress io.Writer) []Outcome {
	return l.runAll(progress, slices.Concat(
		lockfileChecks("Go", "Node"), properLockfileChecks("Go", "Node"), mutexChecks(), lockdirChecks()))
}

func (l *Harness) runAll(progress io.Writer, checks []check) []Outcome {
	var (
		wait     sync.WaitGroup
		limit    = make(chan struct{}, atOnce)
		outcomes = make([]Outcome, len(checks))
	)
	for i, c := range checks {
		limit <- struct{}{}
		fmt.Fprintf(progress, "live: %d of %d: %s: %s\n", i+1, len(checks), c.system, c.name)
		wait.Go(func() {
			defer func() { <-limit }()
			figures, err := l.run(c)
			outcomes[i] = Outcome{c.system, c.name, figures, err}
		})
	}
	wait.Wait()
	return outcomes
}

func (l *Harness) run(c check) (figures string, err error) {
	scratch, err := os.MkdirTemp(l.dir, "check-")
	if err != nil {
		return "", err
	}
	t := &trial{Harness: l, scratch: scratch}
	err = catch(func() { figures = c.try(t) })
	for _, p := range t.participants {
		p.stop()
	}
	if err == nil {
		err = t.nothingLeft()
	}
	return figures, err
}

func (t *trial) nothingLeft() error {
	left, err := os.ReadDir(t.scratch)
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("left on disk: %q", left[0].Name())
	}
	return err
}

func (t *trial) path(name string) string { return filepath.Join(t.scratch, name) }

// start starts a participant that is stopped at the end of the check.
func (t *trial) start(side string) *process {
	var cmd *exec.Cmd
	switch side {
	case "Go":
		cmd = exec.Command(t.self, ParticipantCommand)
	case Candidate:
		cmd = exec.Command(t.candidate[0], t.candidate[1:]...)
	default:
		cmd = exec.Command(t.node, "participant.js")
		cmd.Dir = t.packages
	}
	p := start(side, cmd)
	t.participants = append(t.participants, p)
	// Once it answers, it is ready for anything, signals included.
	p.do(command{Do: "hello"})
	return p
}

// startTwo starts a participant of each of two sides.
func (t *trial) startTwo(first, second string) (a, b *process) {
	return t.start(first), t.start(second)
}

// contention lets four processes of each side take one lock again and again.
func (t *trial) contention(first, second string, c command) string {
	const processes = 4
	for range processes {
		t.startTwo(first, second)
	}
	return t.contend(c, amount(t.Harness, 200, 25))
}

// contend lets all participants take one lock again and again.
func (t *trial) contend(c command, rounds int) string {
	c.Do, c.Rounds = "contend", rounds
	c.Guard, c.Counter = t.path("guard"), t.path("counter")
	must(os.WriteFile(c.Counter, []byte("0"), 0o666))
	began := time.Now()
	for _, p := range t.participants {
		p.send(c)
	}
	overlaps := 0
	for _, p := range t.participants {
		a := p.answer()
		if a.Error != nil {
			failf("%s: %w", p.side, a.Error)
		}
		overlaps += a.Overlaps
	}
	took := time.Since(began)
	text, err := os.ReadFile(c.Counter)
	must(err)
	if want := fmt.Sprint(len(t.participants) * rounds); string(text) != want || overlaps > 0 {
		failf("%d overlaps, counter %s instead of %s", overlaps, text, want)
	}
	must(os.Remove(c.Counter))
	return fmt.Sprintf("%s rounds, 0 overlaps, 0 lost, %.1f s", text, took.Seconds())
}

// expectLocked asks p whether a lock is held.
func expectLocked(p *process, c command, want bool) {
	for _, do := range []string{"check", "checkSync"} {
		c.Do = do
		if a := p.do(c); a.Locked != want {
			failf("%s: %s says %v, not %v", p.side, do, a.Locked, want)
		}
	}
}

// expectRefused has p try to take a lock that is held.
func expectRefused(p *process, c command, code string) {
	for _, do := range []string{"lock", "lockSync"} {
		c.Do = do
		if a := p.call(c); a.Error == nil || a.Error.Code != code {
			failf("%s: %s of a held lock: %v, not %s", p.side, do, a.Error, code)
		}
	}
}

// exists reports whether there is something at path.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
