package explore

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/seed-c461eb89/nodelock/internal/filesystem"
	"github.com/seed-c461eb89/nodelock/internal/lockfile"
	"github.com/seed-c461eb89/nodelock/internal/mutex"
	"github.com/seed-c461eb89/nodelock/internal/properlockfile"
	"github.com/seed-c461eb89/nodelock/internal/retry"
)

// The times of all configurations. The threshold is the least that proper-lockfile has,
// whose heartbeats are then 1 s apart: who holds a lock for holdTime makes one.
const (
	staleTime = 2 * time.Second
	holdTime  = 1200 * time.Millisecond
	oldTime   = 3 * time.Second
)

// The participants of the configurations.
var (
	proper4 = Participant{"proper-lockfile 4.1.2", properLockfile(properOptions(properlockfile.V4))}
	proper1 = Participant{"proper-lockfile 1.2.0", properLockfile(properOptions(properlockfile.V1))}
	// properNext tries until a lock that somebody left is stale.
	properNext = Participant{"proper-lockfile 4.1.2", properLockfile(properlockfile.Options{
		Stale: staleTime, NoRealpath: true,
		Retries: retry.Options{Count: 6, Factor: 1, MinTimeout: time.Second},
	})}

	async     = Participant{"lockfile lock", lockfileLock(false, lockfile.Options{Stale: staleTime})}
	asyncOnce = Participant{"lockfile lock, without stale", lockfileLock(false, lockfile.Options{})}
	sync      = Participant{"lockfile lockSync", lockfileLock(true, lockfile.Options{Stale: staleTime})}
	owner     = Participant{"lockfile unlock, by the lock's owner", lockfileUnlock}
	fileNext  = Participant{"lockfile lock", lockfileLock(false, lockfile.Options{
		Stale: staleTime, Wait: 3 * staleTime, PollPeriod: 500 * time.Millisecond,
	})}
)

// later returns a participant that comes when a lock that was taken in the beginning, and
// not renewed, is stale.
func (p Participant) later() Participant {
	return Participant{p.Kind + ", later", func(process *Process) {
		_ = process.Wait(context.Background(), staleTime+time.Second)
		p.Run(process)
	}}
}

func properOptions(contract properlockfile.Contract) properlockfile.Options {
	return properlockfile.Options{Stale: staleTime, NoRealpath: true, Contract: contract}
}

// directories returns a configuration about proper-lockfile's locks.
func directories(name string, participants ...Participant) Config {
	return Config{
		Name: name, Lock: lockPath, Type: filesystem.Directory, Stale: staleTime,
		Participants: participants, Next: properNext,
	}
}

// files returns a configuration about lockfile's locks.
func files(name string, participants ...Participant) Config {
	return Config{
		Name: name, Lock: lockPath, Type: filesystem.File, ByChange: true, Stale: staleTime,
		Participants: participants, Next: fileNext,
	}
}

// With a stale lock that is there in the beginning.
func (c Config) stale() Config {
	c.Left = []Left{{c.Lock, c.Type, oldTime}}
	return c
}

func (c Config) stops(crashes, pauses int) Config {
	c.Crashes, c.Pauses = crashes, pauses
	return c
}

func (c Config) random(walks int) Config {
	c.Walks = walks
	return c
}

func (c Config) expect(i ...Invariant) Config {
	c.Expect = i
	return c
}

// Configurations returns the list of situations that are explored, and what is known of
// them. With long it has more.
func Configurations(long bool) []Config {
	list := mirrors()
	for i := range protocols {
		list = append(list, protocols[i].mutexes(long)...)
		list = append(list, protocols[i].incomplete()...)
		list = append(list, protocols[i].withNode()...)
	}
	for _, c := range lockDirectories() {
		if long || !c.Large {
			list = append(list, c)
		}
	}
	if long {
		list = append(list, longMirrors()...)
	}
	return list
}

// mirrors are the weaknesses of Node's packages, each in the least situation that shows
// it.
func mirrors() []Config {
	return []Config{
		// proper-lockfile#121.
		directories("proper4-takeover", proper4, proper4).stale().
			expect(SingleWinner, LiveLocksAreSafe, NoFalseOwner, ReleaseSparesOthers),
		directories("proper4-takeover-3", proper4, proper4, proper4).stale().
			expect(SingleWinner, LiveLocksAreSafe, NoFalseOwner, ReleaseSparesOthers),
		directories("proper1-takeover", proper1, proper1).stale().
			expect(SingleWinner, LiveLocksAreSafe, NoFalseOwner, ReleaseSparesOthers),
		// Whoever slept releases his successor's lock, and the first probe of the precision
		// or a heartbeat touches it. Whose lock was touched leaves it behind (P13).
		directories("proper4-sleeper", proper4, proper4.later()).stops(0, 1).
			expect(LiveLocksAreSafe, NoFalseOwner, ReleaseSparesOthers, NothingStranded),
		// And a heartbeat of 1.2.0 that comes too late leaves the lock behind.
		directories("proper1-sleeper", proper1, proper1.later()).stops(0, 1).
			expect(NoFalseOwner, ReleaseSparesOthers, NothingStranded),
		directories("proper4-crash", proper4, proper4.later()).stops(1, 0),
		files("lockfile-sync", sync, sync).stale().
			expect(SingleWinner, LiveLocksAreSafe, NoFalseOwner, ReleaseSparesOthers),
		// The .STALE that stays: L14.
		files("lockfile-async", async, async).stale().expect(NothingStranded),
		// Between the second look and the unlink the owner releases, and a third takes the
		// lock.
		files("lockfile-async-owner", owner, async, asyncOnce).stale().
			expect(SingleWinner, LiveLocksAreSafe, NoFalseOwner, ReleaseSparesOthers, NothingStranded),
		files("lockfile-sleeper", async, async.later()).stops(0, 1).
			expect(NoFalseOwner, ReleaseSparesOthers, NothingStranded),
	}
}

// A protocol is what configurations with Mutexes are made of.
type protocol struct {
	name          string
	configuration func(string, ...Participant) Config
	target        mutex.Target
	node          []mirror
}

// A mirror is one of Node's packages, and what it violates if it may be stopped.
type mirror struct {
	Participant
	stopped []Invariant
}

var protocols = []protocol{
	{"lockfile", files, mutex.Lockfile(lockPath, func() bool { return true }), []mirror{
		{async, []Invariant{NoFalseOwner, ReleaseSparesOthers}},
		{sync, []Invariant{NoFalseOwner, ReleaseSparesOthers}},
	}},
	{"proper", directories, mutex.ProperLockfile(target, "", true), []mirror{
		{proper4, []Invariant{LiveLocksAreSafe, NoFalseOwner, ReleaseSparesOthers, NothingStranded}},
		{proper1, []Invariant{NoFalseOwner, ReleaseSparesOthers, NothingStranded}},
	}},
}

// lock is a Mutex that waits for the lock, and try one that does not. Parts can be left
// out.
func (p *protocol) lock(omit *lack) Participant {
	return Participant{"Mutex" + without(omit), mutexLock(p.target, true, omit, mutexOptions)}
}

func (p *protocol) try(omit *lack) Participant {
	return Participant{"Mutex" + without(omit) + ", TryLock", mutexLock(p.target, false, omit, mutexOptions)}
}

// watching is a Mutex that waits to be woken.
func (p *protocol) watching(omit *lack) Participant {
	return Participant{"Mutex" + without(omit) + " that watches", mutexLock(p.target, true, omit, watching())}
}

func without(omit *lack) string {
	if omit == nil {
		return ""
	}
	return " without " + omit.name
}

// mutexes are the configurations of Mutexes alone: nothing is violated.
func (p *protocol) mutexes(long bool) []Config {
	lock, try, watch := p.lock(nil), p.try(nil), p.watching(nil)
	plain := Participant{"Mutex, plain rename", mutexLock(p.target, false, plainRename, mutexOptions)}
	noNote := Participant{"Mutex without note, TryLock", mutexLock(p.target, false, note, mutexOptions)}
	doubts := Participant{"Mutex that doubts, TryLock", mutexLock(p.target, false, nil, doubting())}
	name := p.name + "-mutex-"
	list := []Config{
		p.configuration(name+"2", try, try).stale().stops(1, 1),
		p.configuration(name+"2-wait", lock, lock).stops(1, 1),
		p.configuration(name+"2-later", lock, try.later()).stops(1, 1),
		p.configuration(name+"2-plain", plain, plain).stale().stops(1, 1),
		p.configuration(name+"2-no-note", noNote, noNote).stale().stops(1, 1),
		p.configuration(name+"2-doubt", doubts, doubts).stale().stops(1, 1),
		p.configuration(name+"3", try, try, try).stale().stops(1, 1),
		p.configuration(name+"3-crash", lock, lock, lock).stale().stops(2, 0),
		p.configuration(name+"2-watch", watch, watch).stops(1, 1),
		p.configuration(name+"2-watch-stale", watch, watch).stale().stops(1, 1),
		p.configuration(name+"3-watch", watch, watch, watch),
	}
	if long {
		list = append(list,
			p.configuration(name+"2-later-2", lock, try.later()).stops(1, 2),
			p.configuration(name+"3-pause", lock, lock, lock).stale().stops(0, 1),
			p.configuration(name+"3-watch-crash", watch, watch, watch).stops(1, 0),
			p.configuration(name+"6-random", lock, lock, try, try, lock.later(), try.later()).stale().stops(2, 2).random(50_000),
		)
	}
	for i := range list {
		second := list[i].Participants[1].Kind
		list[i].Next = lock
		list[i].Large = len(list[i].Participants) > 2 || second == lock.Kind || second == watch.Kind
	}
	// Nobody takes a lock over but from the dead, and the next one gets it all the same.
	never := Participant{"Mutex, stale 0", mutexLock(p.target, true, nil, forever())}
	c := p.configuration(name+"2-forever", never, never).stops(2, 0)
	c.Stale, c.Next = 10*staleTime, never
	return append(list, c)
}

// parts are situations in which a Mutex needs its parts: with the part, there are fewer
// violations.
func (p *protocol) parts() []struct {
	part      *lack
	situation func(name string, omit *lack) Config
} {
	return []struct {
		part      *lack
		situation func(name string, omit *lack) Config
	}{
		{guard, func(name string, omit *lack) Config {
			return p.configuration(name, p.try(omit), p.try(omit), p.try(omit)).stale()
		}},
		{identity, func(name string, omit *lack) Config {
			return p.configuration(name, p.lock(omit), p.lock(omit).later()).stops(0, 1)
		}},
		// The claim is for those who know no guard.
		{claim, func(name string, omit *lack) Config {
			return p.configuration(name, p.try(omit), p.node[0].Participant).stale()
		}},
		{secondLook, func(name string, omit *lack) Config {
			return p.configuration(name, p.lock(nil), p.watching(omit)).stops(0, 1)
		}},
	}
}

// incomplete are Mutexes that lack a part, and what that leads to at the least.
func (p *protocol) incomplete() []Config {
	expect := []Invariant{SingleWinner, ReleaseSparesOthers, SingleWinner, NoSleepOnFree}
	var list []Config
	for i, part := range p.parts() {
		name := p.name + "-mutex-no-" + strings.ReplaceAll(part.part.name, " ", "-")
		c := part.situation(name, part.part).expect(expect[i])
		c.More = true
		c.Large = len(c.Participants) > 2
		list = append(list, c)
	}
	return list
}

// withNode are Mutexes with a participant that knows no guard. A Mutex that takes over
// may rename aside what the other has just made, and put it back.
func (p *protocol) withNode() []Config {
	var list []Config
	for i, node := range p.node {
		c := p.configuration(fmt.Sprintf("%s-mutex-node-%d", p.name, i+1), p.try(nil), node.Participant).stale()
		c.Expect = []Invariant{LiveLocksAreSafe, NoFalseOwner}
		if i == 0 {
			c.Expect = append(c.Expect, NothingStranded)
		}
		list = append(list, c)

		// One is killed at any point, and the lock is not old.
		c = p.configuration(fmt.Sprintf("%s-mutex-node-%d-crash", p.name, i+1), p.lock(nil), p.try(nil), node.Participant).stops(1, 0)
		c.Next = p.lock(nil)
		list = append(list, c)

		// A Mutex that watches is woken by the other's calls, too. What a stopped Node does, it
		// does without a Mutex.
		c = p.configuration(fmt.Sprintf("%s-mutex-node-%d-watch", p.name, i+1), p.watching(nil), node.Participant).stops(1, 1).
			expect(node.stopped...)
		c.Next = p.lock(nil)
		list = append(list, c)
	}
	return list
}

func longMirrors() []Config {
	return []Config{
		directories("proper4-all", proper4, proper4, proper4).stale().stops(1, 1).
			expect(SingleWinner, LiveLocksAreSafe, NoFalseOwner, ReleaseSparesOthers, NothingStranded),
		files("lockfile-async-3", async, async, async).stale().stops(1, 1).
			expect(SingleWinner, LiveLocksAreSafe, NoFalseOwner, ReleaseSparesOthers, NothingStranded),
	}
}

// Find returns the configuration of a seed and the schedule in it.
func Find(seed string) (*Config, string, error) {
	name, schedule, ok := strings.Cut(seed, ":")
	if !ok {
		return nil, "", fmt.Errorf("explore: a seed is a configuration's name, a colon and a schedule: %q", seed)
	}
	for _, c := range Configurations(true) {
		if c.Name == name {
			return &c, schedule, nil
		}
	}
	return nil, "", fmt.Errorf("explore: there is no configuration %q", name)
}
