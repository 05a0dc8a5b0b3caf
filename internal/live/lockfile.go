package live

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/seed-c461eb89/nodelock/compat/lockfile"
)

// lockfileChecks are the checks of the lockfile protocol. One side of each is first, the other
// second, and then the other way round.
func lockfileChecks(first, second string) []check {
	const name = "lockfile"
	checks := []check{{name, fmt.Sprintf("4 %s and 4 %s processes on one lock", first, second), func(t *trial) string {
		return t.contention(first, second, command{System: name, Path: t.path("a.lock"), Options: options{Wait: 100_000, PollPeriod: 1}})
	}}}
	for _, sides := range [][2]string{{first, second}, {second, first}} {
		holder, other := sides[0], sides[1]
		checks = append(checks,
			check{name, fmt.Sprintf("%s sees and waits for %s's lock", other, holder), func(t *trial) string {
				return t.sees(holder, other, command{System: name, ID: "a", Path: t.path("a.lock")}, "EEXIST", options{Wait: 60_000, PollPeriod: 10})
			}},
			check{name, fmt.Sprintf("%s takes over %s's stale lock", other, holder), func(t *trial) string {
				return t.lockfileTakeover(holder, other)
			}},
			check{name, fmt.Sprintf("%s ends by itself", holder), func(t *trial) string {
				return t.endsByItself(holder, command{System: name, Path: t.path("a.lock")}, t.path("a.lock"))
			}},
		)
		checks = append(checks, signalChecks(name, holder, other)...)
	}
	return checks
}

// sees has one side wait for the lock of the other. Refusal is the error's code of a lock
// that is held, and patience the options of one that waits.
func (t *trial) sees(holding, waiting string, c command, refusal string, patience options) string {
	holder, other := t.startTwo(holding, waiting)
	for _, do := range []string{"lock", "lockSync"} {
		c.Do = do
		holder.do(c)
		expectLocked(other, c, true)
		expectRefused(other, c, refusal)
		waits := c
		waits.Do, waits.Options = "lock", patience
		other.send(waits)
		release(holder, c)
		if a := other.answer(); a.Error != nil {
			failf("%s: waiting: %w", other.side, a.Error)
		}
		expectLocked(holder, c, true)
		release(other, c)
		expectLocked(holder, c, false)
	}
	return ""
}

// lockfileTakeover has one side take over the lock of the other, which lives and does
// not know: the protocol has no heartbeat.
func (t *trial) lockfileTakeover(holding, taking string) string {
	holder, other := t.startTwo(holding, taking)
	c := command{System: "lockfile", ID: "a", Path: t.path("a.lock")}
	for _, do := range []string{"lock", "lockSync"} {
		c.Do, c.Options = "lock", options{}
		holder.do(c)
		before, err := os.Stat(c.Path)
		must(err)
		c.Options = options{Stale: 100}
		if c.Do = do; do == "lock" {
			c.Options.Wait, c.Options.PollPeriod = 60_000, 10
		} else {
			// lockSync does not wait. If it retried until the lock is stale, it would be a race
			// with the end of Node's stack: there each retry is a call within the one before.
			time.Sleep(150*time.Millisecond - time.Since(before.ModTime()))
		}
		other.do(c)
		after, err := os.Stat(c.Path)
		must(err)
		if os.SameFile(before, after) && before.ModTime().Equal(after.ModTime()) {
			failf("%s: %s says that it took the lock over, but it is the old one", other.side, do)
		}
		release(other, c)
	}
	return ""
}

// endsByItself has a holder exit in an orderly way.
func (t *trial) endsByItself(holding string, c command, lockPath string) string {
	holder := t.start(holding)
	c.Do, c.ID = "lock", "a"
	holder.do(c)
	if !exists(lockPath) {
		failf("%s: there is no lock at %s", holding, lockPath)
	}
	holder.send(command{Do: "exit"})
	holder.wait()
	return ""
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
