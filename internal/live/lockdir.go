package live

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed-c461eb89/nodelock/compat/lockdir"
)

// lockdirChecks are the checks of lock directories. They are between Go processes alone:
// there is no package of the other side.
func lockdirChecks() []check {
	const name = "lockdir"
	return []check{
		{name, "8 Go processes on one lock directory", func(t *trial) string {
			for range 8 {
				t.start("Go")
			}
			return t.contend(t.lockdir(), amount(t.Harness, 100, 25))
		}},
		{name, "a holder is killed, and the next one has the lock at once", (*trial).lockdirKilled},
		{name, "a directory in the lock directory", func(t *trial) string {
			mkdir := func(path string) (func() error, error) { return nothing, os.Mkdir(path, 0o777) }
			return t.lockdirObstructed("sub", mkdir, 5*time.Second)
		}},
		{name, "a file that cannot be removed", func(t *trial) string {
			return t.lockdirObstructed("stays", unremovable, 10*time.Second)
		}},
	}
}

func (t *trial) lockdir() command {
	return command{System: "lockdir", ID: "a", Path: t.path("a.lockdir")}
}

// lockdirKilled has a holder die, and another take the lock in one attempt.
func (t *trial) lockdirKilled() string {
	holder, other := t.startTwo("Go", "Go")
	c := t.lockdir()
	c.Do = "lock"
	holder.do(c)
	c.Do = "lockSync"
	if a := other.call(c); a.Error == nil || a.Error.Code != "ECONFLICT" {
		failf("a held lock: %v", a.Error)
	}
	must(holder.cmd.Process.Kill())
	holder.wait()
	began := time.Now()
	other.do(c)
	took := time.Since(began)
	release(other, c)
	return fmt.Sprintf("%.1f ms", float64(took)/1e6)
}

// errNotPossible is for what this user or system cannot do.
var errNotPossible = errors.New("not possible here")

func nothing() error { return nil }

// lockdirObstructed has a participant meet something that stays in the directory, and
// looks what that costs, beside a participant that does nothing.
func (t *trial) lockdirObstructed(name string, obstruct func(path string) (restore func() error, err error), limit time.Duration) string {
	c := t.lockdir()
	must(os.Mkdir(c.Path, 0o777))
	defer os.RemoveAll(c.Path)
	restore, err := obstruct(filepath.Join(c.Path, name))
	defer func() { must(restore()) }()
	if errors.Is(err, errNotPossible) {
		return "skipped: " + err.Error()
	}
	must(err)
	idle, busy := t.startTwo("Go", "Go")
	c.Do = "lockSync"
	began := time.Now()
	a := busy.call(c)
	took := time.Since(began)
	switch {
	case a.Error == nil || a.Error.Code != "ECONFLICT" || !strings.HasSuffix(a.Error.Message, ": "+name):
		failf("the answer is %v", a.Error)
	case took > limit:
		failf("it took %v", took)
	}
	var used [2]time.Duration
	for i, p := range []*process{idle, busy} {
		p.stop()
		used[i] = p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()
	}
	cpu := max(used[1]-used[0], 0)
	if cpu >= 50*time.Millisecond {
		failf("it took %v of CPU", cpu)
	}
	return fmt.Sprintf("%d ms, of which %.1f ms CPU", took.Milliseconds(), float64(cpu)/1e6)
}

// lockdirSystem takes the locks of compat/lockdir.
type lockdirSystem struct{}

// lock waits for a holder, and in its synchronous form makes one attempt.
func (lockdirSystem) lock(c command, sync bool) (lock, error) {
	var o lockdir.Options
	if !sync {
		o = lockdir.Options{Backoff: time.Millisecond, WaitLimit: 4 * time.Millisecond}
	}
	l, err := lockdir.NewDirectory(c.Path, c.Path, o)
	if err != nil {
		return nil, err
	}
	if sync {
		return l.Acquire(context.Background())
	}
	return l.AcquireWait(context.Background())
}

func (lockdirSystem) check(command, bool) (bool, error) {
	return false, errors.New("lockdir has no check")
}

func (lockdirSystem) cleanup() { lockdir.Cleanup() }
