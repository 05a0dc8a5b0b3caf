package main

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
	"text/tabwriter"
	"time"

	"github.com/seed-c461eb89/nodelock/conformance/node"
)

// participantCommand makes this program a participant of another's live run.
const participantCommand = "participant"

// live contends with real Node processes.
func live(args []string, _ io.Reader, stdout, stderr io.Writer) error {
	flags := newFlags("live")
	nodePath := flags.String("node", "node", "")
	quick := flags.Bool("quick", false, "")
	if err := parse(flags, args, stdout); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%w: live takes no arguments", errUsage)
	}
	l, err := newLiveRun(*nodePath, stderr)
	if err != nil {
		return err
	}
	defer l.remove()
	l.quick = *quick
	began := time.Now()
	checks := slices.Concat(lockfileChecks(), properLockfileChecks(), mutexChecks(), lockdirChecks())
	outcomes := l.runAll(checks, stderr)
	table := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "system\tcheck\tresult\tfigures\n")
	failed := 0
	for i, c := range checks {
		result, figures := "pass", outcomes[i].figures
		if err := outcomes[i].err; err != nil {
			failed++
			result, figures = "FAIL", err.Error()
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", c.system, c.name, result, figures)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%d checks with Node %s: %d passed, %d failed (%.0f s)\n",
		len(checks), l.nodeVersion, len(checks)-failed, failed, time.Since(began).Seconds())
	if failed > 0 {
		return errFailed
	}
	return nil
}

// A check is one thing that is tried with real processes.
type check struct {
	system, name string
	// try returns figures for the table.
	try func(t *trial) (string, error)
}

// A checked is what came of a check.
type checked struct {
	figures string
	err     error
}

// A liveRun has what all checks need: Node with the published packages.
type liveRun struct {
	dir         string // removed in the end
	packages    string
	node        string
	nodeVersion string
	self        string
	// quick makes less of the checks that take long.
	quick bool
}

// amount is how much there is of something: less when it has to be quick.
func amount[T int | time.Duration](l *liveRun, full, quick T) T {
	if l.quick {
		return quick
	}
	return full
}

// A trial is a check under way. It has a directory of its own, which has to be empty in
// the end, and participants, which are stopped in the end.
type trial struct {
	*liveRun
	scratch      string
	participants []*participant
}

// newLiveRun installs the packages, from the lock file, with npm.
func newLiveRun(nodePath string, progress io.Writer) (*liveRun, error) {
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
	l := &liveRun{dir: dir, node: nodePath, self: self, packages: filepath.Join(dir, "node")}
	fmt.Fprintln(progress, "live: installing the published packages")
	if err := l.install(npm); err != nil {
		l.remove()
		return nil, err
	}
	return l, nil
}

func (l *liveRun) install(npm string) error {
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
	l.nodeVersion = strings.TrimSpace(string(version))
	return nil
}

func (l *liveRun) remove() { _ = os.RemoveAll(l.dir) }

// atOnce is how many checks run at a time: most of them wait most of the time.
const atOnce = 4

func (l *liveRun) runAll(checks []check, progress io.Writer) []checked {
	var (
		wait     sync.WaitGroup
		limit    = make(chan struct{}, atOnce)
		outcomes = make([]checked, len(checks))
	)
	for i := range checks {
		limit <- struct{}{}
		fmt.Fprintf(progress, "live: %d of %d: %s: %s\n", i+1, len(checks), checks[i].system, checks[i].name)
		wait.Go(func() {
			defer func() { <-limit }()
			outcomes[i].figures, outcomes[i].err = l.run(checks[i])
		})
	}
	wait.Wait()
	return outcomes
}

func (l *liveRun) run(c check) (string, error) {
	scratch, err := os.MkdirTemp(l.dir, "check-")
	if err != nil {
		return "", err
	}
	t := &trial{liveRun: l, scratch: scratch}
	figures, err := c.try(t)
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
func (t *trial) start(side string) (*participant, error) {
	var cmd *exec.Cmd
	if side == "Go" {
		cmd = exec.Command(t.self, participantCommand)
	} else {
		cmd = exec.Command(t.node, "participant.js")
		cmd.Dir = t.packages
	}
	p, err := start(side, cmd)
	if err != nil {
		return nil, err
	}
	t.participants = append(t.participants, p)
	// Once it answers, it is ready for anything, signals included.
	_, err = p.must(command{Do: "hello"})
	return p, err
}

// startTwo starts a participant of each of two sides.
func (t *trial) startTwo(first, second string) (a, b *participant, err error) {
	if a, err = t.start(first); err != nil {
		return nil, nil, err
	}
	b, err = t.start(second)
	return a, b, err
}

// contention lets four processes of each side take one lock again and again.
func (t *trial) contention(c command) (string, error) {
	const processes = 4
	for range processes {
		if _, _, err := t.startTwo("Go", "Node"); err != nil {
			return "", err
		}
	}
	return t.contend(c, amount(t.liveRun, 200, 25))
}

// contend lets all participants take one lock again and again.
func (t *trial) contend(c command, rounds int) (string, error) {
	c.Do, c.Rounds = "contend", rounds
	c.Guard, c.Counter = t.path("guard"), t.path("counter")
	if err := os.WriteFile(c.Counter, []byte("0"), 0o666); err != nil {
		return "", err
	}
	began := time.Now()
	for _, p := range t.participants {
		if err := p.send(c); err != nil {
			return "", err
		}
	}
	overlaps := 0
	for _, p := range t.participants {
		a, err := p.answer()
		if err == nil && a.Error != nil {
			err = fmt.Errorf("%s: %w", p.side, a.Error)
		}
		if err != nil {
			return "", err
		}
		overlaps += a.Overlaps
	}
	took := time.Since(began)
	text, err := os.ReadFile(c.Counter)
	if err != nil {
		return "", err
	}
	if want := fmt.Sprint(len(t.participants) * rounds); string(text) != want || overlaps > 0 {
		return "", fmt.Errorf("%d overlaps, counter %s instead of %s", overlaps, text, want)
	}
	if err := os.Remove(c.Counter); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s rounds, 0 overlaps, 0 lost, %.1f s", text, took.Seconds()), nil
}

// expectLocked asks p whether a lock is held.
func expectLocked(p *participant, c command, want bool) error {
	for _, do := range []string{"check", "checkSync"} {
		c.Do = do
		a, err := p.must(c)
		if err != nil {
			return err
		}
		if a.Locked != want {
			return fmt.Errorf("%s: %s says %v, not %v", p.side, do, a.Locked, want)
		}
	}
	return nil
}

// expectRefused has p try to take a lock that is held.
func expectRefused(p *participant, c command, code string) error {
	for _, do := range []string{"lock", "lockSync"} {
		c.Do = do
		a, err := p.call(c)
		if err != nil {
			return err
		}
		if a.Error == nil || a.Error.Code != code {
			return fmt.Errorf("%s: %s of a held lock: %v, not %s", p.side, do, a.Error, code)
		}
	}
	return nil
}

// exists reports whether there is something at path.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
