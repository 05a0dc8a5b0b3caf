package main

import (
	"fmt"
	"os"
)

// lockfileChecks are the checks of the lockfile protocol.
func lockfileChecks() []check {
	const name = "lockfile"
	checks := []check{{system: name, name: "4 Go and 4 Node processes on one lock", try: func(l *liveRun) (string, error) {
		return l.contention(command{System: name, Path: l.path("a.lock"), Options: map[string]float64{"wait": 100_000, "pollPeriod": 1}})
	}}}
	for _, sides := range [][2]string{{"Go", "Node"}, {"Node", "Go"}} {
		holder, other := sides[0], sides[1]
		checks = append(checks,
			check{system: name, name: fmt.Sprintf("%s sees and waits for %s's lock", other, holder), try: func(l *liveRun) (string, error) {
				return l.lockfileSees(holder, other)
			}},
			check{system: name, name: fmt.Sprintf("%s takes over %s's stale lock", other, holder), try: func(l *liveRun) (string, error) {
				return l.lockfileTakeover(holder, other)
			}},
			check{system: name, name: fmt.Sprintf("%s ends by itself", holder), try: func(l *liveRun) (string, error) {
				return l.endsByItself(holder, command{System: name, Path: l.path("a.lock")}, l.path("a.lock"))
			}},
		)
		checks = append(checks, signalChecks(name, holder, other)...)
	}
	return checks
}

// lockfileSees has one side wait for the lock of the other.
func (l *liveRun) lockfileSees(holding, waiting string) (string, error) {
	holder, other, err := l.startTwo(holding, waiting)
	if err != nil {
		return "", err
	}
	c := command{System: "lockfile", ID: "a", Path: l.path("a.lock")}
	for _, do := range []string{"lock", "lockSync"} {
		c.Do = do
		if _, err := holder.must(c); err != nil {
			return "", err
		}
		if err := expectLocked(other, c, true); err != nil {
			return "", err
		}
		if err := expectRefused(other, c, "EEXIST"); err != nil {
			return "", err
		}
		waits := c
		waits.Do, waits.Options = "lock", map[string]float64{"wait": 60_000, "pollPeriod": 10}
		if err := other.send(waits); err != nil {
			return "", err
		}
		if _, err := holder.must(command{Do: "release", System: c.System, ID: c.ID}); err != nil {
			return "", err
		}
		if a, err := other.answer(); err != nil || a.Error != nil {
			return "", fmt.Errorf("%s: waiting: %v %v", other.side, a.Error, err)
		}
		if err := expectLocked(holder, c, true); err != nil {
			return "", err
		}
		if _, err := other.must(command{Do: "release", System: c.System, ID: c.ID}); err != nil {
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
func (l *liveRun) lockfileTakeover(holding, taking string) (string, error) {
	holder, other, err := l.startTwo(holding, taking)
	if err != nil {
		return "", err
	}
	c := command{System: "lockfile", ID: "a", Path: l.path("a.lock")}
	for _, do := range []string{"lock", "lockSync"} {
		c.Do, c.Options = "lock", nil
		if _, err := holder.must(c); err != nil {
			return "", err
		}
		before, err := os.Stat(c.Path)
		if err != nil {
			return "", err
		}
		c.Options = map[string]float64{"stale": 100}
		if c.Do = do; do == "lock" {
			c.Options["wait"], c.Options["pollPeriod"] = 60_000, 10
		} else {
			c.Options["retries"] = 1e9 // at once, until the lock is stale
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
		if _, err := other.must(command{Do: "release", System: c.System, ID: c.ID}); err != nil {
			return "", err
		}
	}
	return "", nil
}

// endsByItself has a holder exit in an orderly way.
func (l *liveRun) endsByItself(holding string, c command, lockPath string) (string, error) {
	holder, err := l.start(holding)
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
