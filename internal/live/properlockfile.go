package live

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/seed-c461eb89/nodelock/compat/properlockfile"
)

const (
	properLockfile4 = "proper-lockfile 4.1.2"
	properLockfile1 = "proper-lockfile 1.2.0"
)

// lockSuffix makes the lock's path of the file's.
const lockSuffix = ".lock"

// properLockfileChecks are the checks of the proper-lockfile protocol, with the sides of
// lockfileChecks.
func properLockfileChecks(first, second string) []check {
	var checks []check
	for _, name := range []string{properLockfile4, properLockfile1} {
		checks = append(checks, check{name, fmt.Sprintf("4 %s and 4 %s processes on one lock", first, second), func(t *trial) string {
			return t.withTarget(name, func(c command) string {
				// Short and even: who waits longer and longer starves.
				c.Options.Schedule = schedule{Retries: 100_000, Factor: 1, MinTimeout: 2}
				return t.contention(first, second, c)
			})
		}})
	}
	const name = properLockfile4
	for _, sides := range [][2]string{{first, second}, {second, first}} {
		holder, other := sides[0], sides[1]
		checks = append(checks,
			check{name, fmt.Sprintf("%s sees and waits for %s's lock", other, holder), func(t *trial) string {
				return t.withTarget(name, func(c command) string {
					return t.sees(holder, other, c, "ELOCKED", options{Schedule: schedule{Retries: 10_000, Factor: 1, MinTimeout: 10}})
				})
			}},
			check{name, fmt.Sprintf("%s keeps its lock while %s tries to take it", holder, other), func(t *trial) string {
				return t.withTarget(name, func(c command) string { return t.kept(holder, other, c) })
			}},
			check{name, fmt.Sprintf("%s ends by itself", holder), func(t *trial) string {
				return t.withTarget(name, func(c command) string { return t.endsByItself(holder, c, c.Path+lockSuffix) })
			}},
		)
		checks = append(checks, properSignalChecks(name, holder, other)...)
	}
	return checks
}

// target makes a file to lock, with the shortest thresholds there are.
func (t *trial) target(system string) command {
	path := t.path("f")
	must(os.WriteFile(path, nil, 0o666))
	return command{System: system, ID: "a", Path: path, Options: options{Stale: 2000, Update: 1000}}
}

// withTarget is a check of a file that is removed when all went well.
func (t *trial) withTarget(system string, try func(command) string) string {
	c := t.target(system)
	figures := try(c)
	must(os.Remove(c.Path))
	return figures
}

func release(p *process, c command) {
	p.do(command{Do: "release", System: c.System, ID: c.ID})
}

// kept has a holder keep a lock for many times the threshold, while the other side
// tries to take it.
func (t *trial) kept(holding, taking string, c command) string {
	holder, other := t.startTwo(holding, taking)
	c.Do = "lock"
	holder.do(c)
	tries, began := 0, time.Now()
	for ; time.Since(began) < amount(t.Harness, 30*time.Second, 6*time.Second); tries++ {
		if err := catch(func() { expectRefused(other, c, "ELOCKED") }); err != nil {
			failf("after %v: %w", time.Since(began), err)
		}
		time.Sleep(50 * time.Millisecond)
	}
	expectLost(holder, c, "")
	release(holder, c)
	return fmt.Sprintf("%d tries in %v", tries, time.Since(began).Round(time.Second))
}

// expectLost asks p whether it knows that it has lost its lock; code is "" if it has
// not.
func expectLost(p *process, c command, code string) {
	lost := ""
	if a := p.do(command{Do: "lost", System: c.System, ID: c.ID}); a.Lost != nil {
		lost = a.Lost.Code
	}
	if lost != code {
		failf("%s: lost %q, not %q", p.side, lost, code)
	}
}

// properLockfileSystem takes the locks of compat/properlockfile.
type properLockfileSystem struct{ contract properlockfile.Contract }

func (s properLockfileSystem) options(c command) properlockfile.Options {
	o := c.Options
	retries := properlockfile.Retries{Count: o.Retries}
	if o.Schedule != (schedule{}) {
		retries = properlockfile.Retries{
			Count: o.Schedule.Retries, Factor: o.Schedule.Factor, MinTimeout: milliseconds(o.Schedule.MinTimeout),
		}
	}
	return properlockfile.Options{
		Stale: milliseconds(o.Stale), Update: milliseconds(o.Update), Retries: retries, Contract: s.contract,
	}
}

func (s properLockfileSystem) lock(c command, sync bool) (lock, error) {
	if sync {
		return properlockfile.LockSync(c.Path, s.options(c))
	}
	return properlockfile.Lock(context.Background(), c.Path, s.options(c))
}

func (s properLockfileSystem) check(c command, sync bool) (bool, error) {
	if sync {
		return properlockfile.CheckSync(c.Path, s.options(c))
	}
	return properlockfile.Check(c.Path, s.options(c))
}

func (properLockfileSystem) cleanup() { properlockfile.Cleanup() }
