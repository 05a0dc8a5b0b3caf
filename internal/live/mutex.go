package live

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/seed-c461eb89/nodelock/compat/lockfile"
	"github.com/seed-c461eb89/nodelock/compat/properlockfile"
)

// mutexOf is what the Mutex of a system is called. Node has none.
func mutexOf(system string) string { return "Mutex, " + system }

// mutexChecks are the checks of what only a Mutex promises.
func mutexChecks() []check {
	var checks []check
	for _, protocol := range []string{"lockfile", properLockfile4} {
		for _, mix := range []struct{ of, first, second string }{
			{"8 Go Mutexes", "Go", "Go"},
			{"8 Node", "Node", "Node"},
			{"4 Go Mutexes and 4 Node", "Go", "Node"},
		} {
			name := mix.of + " contend for stale locks"
			checks = append(checks, check{protocol, name, func(t *trial) string {
				return t.storm(protocol, mix.first, mix.second)
			}})
		}
	}
	return append(checks, chaosChecks()...)
}

const (
	// stormWidth is how many of them are contended for at once, each in a directory of
	// its own.
	stormWidth = 20
	// stormOld is how old a stale lock is, and stormStale the threshold: far enough apart
	// that no holder's lock goes stale in a storm.
	stormOld   = time.Hour
	stormStale = time.Minute
)

// storm has processes contend for stale locks, and counts the owners of each: those that
// were told that they have it and have not been told otherwise. They all hold what they
// have until all have had their try. With Mutexes alone there must be one.
func (t *trial) storm(protocol, first, second string) string {
	const pairs = 4
	for range pairs {
		t.startTwo(first, second)
	}
	var paths []string
	for i := range stormWidth {
		dir := t.path(fmt.Sprint(i))
		must(os.Mkdir(dir, 0o777))
		paths = append(paths, filepath.Join(dir, "f"))
	}
	two, none := 0, 0
	rounds := amount(t.Harness, 2000, 200)
	began := time.Now()
	for range rounds / stormWidth {
		for _, path := range paths {
			must(makeStale(protocol, path))
		}
		owners := t.round(protocol, paths)
		for i, path := range paths {
			switch {
			case owners[i] == 0:
				none++
			case owners[i] > 1:
				two++
			}
			must(clearAway(path))
		}
	}
	for _, path := range paths {
		must(os.Remove(filepath.Dir(path)))
	}
	figures := fmt.Sprintf("%d rounds, more than one owner: %d (%.2f %%), none: %d, %.1f s",
		rounds, two, 100*float64(two)/float64(rounds), none, time.Since(began).Seconds())
	if first == "Go" && second == "Go" && two+none > 0 {
		must(errors.New(figures))
	}
	return figures
}

// round has all contend for the paths, and returns how many owners each had.
func (t *trial) round(protocol string, paths []string) []int {
	owners := make([]int, len(paths))
	for _, do := range []string{"storm", "calm"} {
		for _, p := range t.participants {
			c := command{Do: do, System: protocol, Paths: paths, Options: options{Stale: stormStale.Milliseconds()}}
			if p.side == "Go" {
				c.System = mutexOf(protocol)
			}
			p.send(c)
		}
		for _, p := range t.participants {
			for i, won := range p.answer().Won {
				if won {
					owners[i]++
				}
			}
		}
	}
	return owners
}

// lockOf returns where the lock of a storm's path is.
func lockOf(protocol, path string) string {
	if protocol == "lockfile" {
		return path
	}
	return path + lockSuffix
}

// makeStale makes a lock that its owner has left behind.
func makeStale(protocol, path string) error {
	var err error
	if err = os.WriteFile(path, nil, 0o666); err != nil {
		return err
	}
	lock := lockOf(protocol, path)
	if lock != path {
		if err := os.Mkdir(lock, 0o777); err != nil {
			return err
		}
	}
	then := time.Now().Add(-stormOld)
	return os.Chtimes(lock, then, then)
}

// clearAway removes what is left of a round.
func clearAway(path string) error {
	dir := filepath.Dir(path)
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if err = os.Remove(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return err
}

// storm tries to take many locks at once. Those of lockfile go by mtime in it, which can
// be set back.
func storm(s system, c command, held map[string]lock) []bool {
	lockfile.SetFiletime(lockfile.Mtime)
	won := make([]bool, len(c.Paths))
	locks := make([]lock, len(c.Paths))
	var wait sync.WaitGroup
	for i, path := range c.Paths {
		wait.Go(func() {
			one := c
			one.Path = path
			var err error
			locks[i], err = s.lock(one, true)
			won[i] = err == nil
		})
	}
	wait.Wait()
	for i, path := range c.Paths {
		if won[i] {
			held[path] = locks[i]
		}
	}
	return won
}

// lockfileMutexSystem takes the locks of lockfile.Mutex. Synchronous is TryLock.
type lockfileMutexSystem struct{ lockfileSystem }

func (lockfileMutexSystem) lock(c command, sync bool) (lock, error) {
	m := lockfile.NewMutex(c.Path, lockfile.MutexOptions{
		Stale: milliseconds(c.Options.Stale), Update: milliseconds(c.Options.Update), Poll: 10 * time.Millisecond,
	})
	if sync {
		return m.TryLock(context.Background())
	}
	return m.Lock(context.Background())
}

// properMutexSystem takes the locks of properlockfile.Mutex. Synchronous is TryLock.
type properMutexSystem struct {
	properLockfileSystem
}

func (properMutexSystem) lock(c command, sync bool) (lock, error) {
	m := properlockfile.NewMutex(c.Path, properlockfile.MutexOptions{
		Stale: milliseconds(c.Options.Stale), Update: milliseconds(c.Options.Update), Poll: 10 * time.Millisecond,
	})
	if sync {
		return m.TryLock(context.Background())
	}
	return m.Lock(context.Background())
}
