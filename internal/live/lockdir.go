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
		{name, "8 Go processes on one lock directory", func(t *trial) (string, error) {
			for range 8 {
				if _, err := t.start("Go"); err != nil {
					return "", err
				}
			}
			return t.contend(t.lockdir(), amount(t.Harness, 100, 25))
		}},
		{name, "a holder is killed, and the next one has the lock at once", (*trial).lockdirKilled},
		{name, "a directory in the lock directory", func(t *trial) (string, error) {
			mkdir := func(path string) (func() error, error) { return nothing, os.Mkdir(path, 0o777) }
			return t.lockdirObstructed("sub", mkdir, 5*time.Second)
		}},
		{name, "a file that cannot be removed", func(t *trial) (string, error) {
			return t.lockdirObstructed("stays", unremovable, 10*time.Second)
		}},
	}
}

func (t *trial) lockdir() command {
	return command{System: "lockdir", ID: "a", Path: t.path("a.lockdir")}
}

// lockdirKilled has a holder die, and another take the lock in one attempt.
func (t *trial) lockdirKilled() (string, error) {
	holder, other, err := t.startTwo("Go", "Go")
	if err != nil {
		return "", err
	}
	c := t.lockdir()
	c.Do = "lock"
	if _, err := holder.must(c); err != nil {
		return "", err
	}
	c.Do = "lockSync"
	if a, err := other.call(c); err != nil || a.Error == nil || a.Error.Code != "ECONFLICT" {
		return "", fmt.Errorf("a held lock: %v, %v", a.Error, err)
	}
	if err := holder.cmd.Process.Kill(); err != nil {
		return "", err
	}
	if err := holder.wait(); err != nil {
		return "", err
	}
	began := time.Now()
	if _, err := other.must(c); err != nil {
		return "", err
	}
	took := time.Since(began)
	return fmt.Sprintf("%.1f ms", float64(took)/1e6), release(other, c)
}

// errNotPossible is for what this user or system cannot do.
var errNotPossible = errors.New("not possible here")

func nothing() error { return nil }

// lockdirObstructed has a participant meet something that stays in the directory, and
// looks what that costs, beside a participant that does nothing.
func (t *trial) lockdirObstructed(name string, obstruct func(path string) (restore func() error, err error), limit time.Duration) (figures string, err error) {
	c := t.lockdir()
	if err := os.Mkdir(c.Path, 0o777); err != nil {
		return "", err
	}
	defer os.RemoveAll(c.Path)
	restore, err := obstruct(filepath.Join(c.Path, name))
	defer func() { err = errors.Join(err, restore()) }()
	if errors.Is(err, errNotPossible) {
		return "skipped: " + err.Error(), nil
	}
	if err != nil {
		return "", err
	}
	idle, busy, err := t.startTwo("Go", "Go")
	if err != nil {
		return "", err
	}
	c.Do = "lockSync"
	began := time.Now()
	a, err := busy.call(c)
	took := time.Since(began)
	switch {
	case err != nil:
		return "", err
	case a.Error == nil || a.Error.Code != "ECONFLICT" || !strings.HasSuffix(a.Error.Message, ": "+name):
		return "", fmt.Errorf("the answer is %v", a.Error)
	case took > limit:
		return "", fmt.Errorf("it took %v", took)
	}
	var used [2]time.Duration
	for i, p := range []*participant{idle, busy} {
		p.stop()
		used[i] = p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()
	}
	cpu := max(used[1]-used[0], 0)
	if cpu >= 50*time.Millisecond {
		return "", fmt.Errorf("it took %v of CPU", cpu)
	}
	return fmt.Sprintf("%d ms, of which %.1f ms CPU", took.Milliseconds(), float64(cpu)/1e6), nil
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
