package live

import (
	"context"
	"fmt"
	"os"

	"github.com/seed-c461eb89/nodelock/compat/lockfile"
)

// lockfileChecks are the checks of the lockfile protocol.
func lockfileChecks() []check {
	const name = "lockfile"
	checks := []check{{name, "4 Go and 4 Node processes on one lock", func(t *trial) (string, error) {
		return t.contention(command{System: name, Path: t.path("a.lock"), Options: options{Wait: 100_000, PollPeriod: 1}})
	}}}
	for _, sides := range [][2]string{{"Go", "Node"}, {"Node", "Go"}} {
		holder, other := sides[0], sides[1]
		checks = append(checks,
			check{name, fmt.Sprintf("%s sees and waits for %s's lock", other, holder), func(t *trial) (string, error) {
				return t.sees(holder, other, command{System: name, ID: "a", Path: t.path("a.lock")}, "EEXIST", options{Wait: 60_000, PollPeriod: 10})
			}},
			check{name, fmt.Sprintf("%s takes over %s's stale lock", other, holder), func(t *trial) (string, error) {
				return t.lockfileTakeover(holder, other)
			}},
			check{name, fmt.Sprintf("%s ends by itself", holder), func(t *trial) (string, error) {
				return t.endsByItself(holder, command{System: name, Path: t.path("a.lock")}, t.path("a.lock"))
			}},
		)
		checks = append(checks, signalChecks(name, holder, other)...)
	}
	return checks
}

// sees has one side wait for the lock of the other. Refusal is the error's code of a lock
// that is held, and patience the options of one that waits.
func (t *trial) sees(holding, waiting string, c command, refusal string, patience options) (string, error) {
	holder, other, err := t.startTwo(holding, waiting)
	if err != nil {
		return "", err
	}
	for _, do := range []string{"lock", "lockSync"} {
		c.Do = do
		if _, err := holder.must(c); err != nil {
			return "", err
		}
		if err := expectLocked(other, c, true); err != nil {
			return "", err
		}
		if err := expectRefused(other, c, refusal); err != nil {
			return "", err
		}
		waits := c
		waits.Do, waits.Options = "lock", patience
		if err := other.send(waits); err != nil {
			return "", err
		}
		if err := release(holder, c); err != nil {
			return "", err
		}
		if a, err := other.answer(); err != nil || a.Error != nil {
			return "", fmt.Errorf("%s: waiting: %v %v", other.side, a.Error, err)
		}
		if err := expectLocked(holder, c, true); err != nil {
			return "", err
		}
		if err := release(other, c); err != nil {
			return "", err
		}
		if err := expectLocked(holder, c, false); err != nil {
			return "", err
		}
	}
	return "", nil
}

// lockfileTakeover has one side take over the lock of the other, which lives and does
// not know: the protocol has no heartbeat.
func (t *trial) lockfileTakeover(holding, taking string) (string, error) {
	holder, other, err := t.startTwo(holding, taking)
	if err != nil {
		return "", err
	}
	c := command{System: "lockfile", ID: "a", Path: t.path("a.lock")}
	for _, do := range []string{"lock", "lockSync"} {
		c.Do, c.Options = "lock", options{}
		if _, err := holder.must(c); err != nil {
			return "", err
		}
		before, err := os.Stat(c.Path)
		if err != nil {
			return "", err
		}
		c.Options = options{Stale: 100}
		if c.Do = do; do == "lock" {
			c.Options.Wait, c.Options.PollPeriod = 60_000, 10
		} else {
			c.Options.Retries = 1e9 // at once, until the lock is stale
		}
		if _, err := other.must(c); err != nil {
			return "", err
		}
		after, err := os.Stat(c.Path)
		if err != nil {
			return "", err
		}
		if os.SameFile(before, after) && before.ModTime().Equal(after.ModTime()) {
			return "", fmt.Errorf("%s: %s says that it took the lock over, but it is the old one", other.side, do)
		}
		if err := release(other, c); err != nil {
			return "", err
		}
	}
	return "", nil
}

// endsByItself has a holder exit in an orderly way.
func (t *trial) endsByItself(holding string, c command, lockPath string) (string, error) {
	holder, err := t.start(holding)
	if err != nil {
		return "", err
	}
	c.Do, c.ID = "lock", "a"
	if _, err := holder.must(c); err != nil {
		return "", err
	}
	if !exists(lockPath) {
		return "", fmt.Errorf("%s: there is no lock at %s", holding, lockPath)
	}
	if err := holder.send(command{Do: "exit"}); err != nil {
		return "", err
	}
	return "", holder.wait()
}

// lockfileSystem takes the locks of compat/lockfile.
type lockfileSystem struct{}

func (lockfileSystem) options(c command) lockfile.Options {
	return lockfile.Options{
		Wait: milliseconds(c.Options.Wait), PollPeriod: milliseconds(c.Options.PollPeriod),
		Stale: milliseconds(c.Options.Stale), RetryWait: milliseconds(c.Options.RetryWait), Retries: c.Options.Retries,
	}
}

func (s lockfileSystem) lock(c command, sync bool) (lock, error) {
	if sync {
		return lockfile.LockSync(c.Path, s.options(c))
	}
	return lockfile.Lock(context.Background(), c.Path, s.options(c))
}

func (s lockfileSystem) check(c command, sync bool) (bool, error) {
	if sync {
		return lockfile.CheckSync(c.Path, s.options(c))
	}
	return lockfile.Check(c.Path, s.options(c))
}

func (lockfileSystem) cleanup() { lockfile.Cleanup() }
