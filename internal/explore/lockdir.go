package explore

import (
	"context"

	"strings"
	"time"

	"github.com/seed-c461eb89/nodelock/internal/filesystem"
	"github.com/seed-c461eb89/nodelock/internal/lockdir"
	"github.com/seed-c461eb89/nodelock/internal/sim"
)

// The lock directory that is explored, and the times that are.
const (
	lockDirectory = "a.lockdir"
	incomingTime  = 500 * time.Millisecond
	settleTime    = 300 * time.Millisecond
)

var lockdirOptions = lockdir.Options{
	Heartbeat: staleTime / 2, Stale: staleTime, Incoming: incomingTime, PutBack: 200 * time.Millisecond,
}

// lockdirLock is a program that makes one acquisition, or with patience as many as it
// takes, holds the lock and releases it. With verify it looks a second time whether it is
// alone, some time later, before it counts on the lock.
func lockdirLock(patience, verify bool, without *lack) func(*Process) {
	return func(p *Process) {
		s := without.from(p.System)
		l, err := lockdir.New(s, s, s, lockdir.POSIX(), s).Directory("/"+lockDirectory, target, lockdirOptions)
		if err != nil {
			p.End(err)
			return
		}
		p.Contend()
		acquire := l.Acquire
		if patience {
			acquire = l.AcquireWait
		}
		lease, err := acquire(context.Background())
		if err == nil && verify {
			_ = p.Wait(context.Background(), settleTime)
			err = lease.Verify(context.Background())
		}
		if err != nil {
			p.End(err)
			return
		}
		if err := p.Hold(lease.Context(), holdTime); err != nil {
			p.Lose(err)
		}
		p.Release()
		p.End(lease.Release())
	}
}

// palee makes the calls that PALEE makes: it has no other way to publish a record than to
// make the directory and to write into it, and never looks whether it is alone there.
var palee = &lack{"staging and look", func(do sim.Do) sim.Do {
	var written string // what was written last, until anything is listed or removed
	return func(c sim.Call) sim.Answer {
		switch {
		case c.Op == sim.RenameNoReplace, c.Op == sim.Link:
			return sim.Answer{Code: "EPERM"}
		case strings.HasPrefix(c.Path, "/"+lockDirectory+"."):
			return sim.Answer{Code: "ENOENT"}
		case c.Op == sim.OpenTruncate:
			_, written, _ = strings.Cut(c.Path, lockDirectory+"/")
		case c.Op == sim.Unlink:
			written = ""
		case c.Op == sim.Readdir && written != "":
			a := sim.Answer{Data: written}
			written = ""
			return a
		}
		return do(c)
	}
}}

// The participants. PALEE never looks whether it is alone, so that beside it it takes a
// Verify to be sure.
var (
	publishes = Participant{"lockdir", lockdirLock(false, false, nil)}
	plain     = Participant{"lockdir without rename", lockdirLock(false, false, plainRename)}
	original  = Participant{"PALEE", lockdirLock(false, false, palee)}

	lockdirPairs = []struct {
		name         string
		participants []Participant
	}{
		{"2", []Participant{publishes, publishes}},
		{"plain", []Participant{plain, plain}},
		{"mixed", []Participant{publishes, plain}},
		{"palee", []Participant{{"lockdir, Verify", lockdirLock(false, true, nil)}, original}},
		{"plain-palee", []Participant{{"lockdir without rename, Verify", lockdirLock(false, true, plainRename)}, original}},
	}
)

// lockdirStarts are what they may find.
var lockdirStarts = []struct {
	name string
	left []Left
}{
	{"free", nil},
	{"empty", []Left{{lockDirectory, filesystem.Directory, oldTime}}},
	{"stale", []Left{{lockDirectory, filesystem.Directory, oldTime}, {lockDirectory + "/old.json", filesystem.File, oldTime}}},
	{"residue", []Left{
		{lockDirectory, filesystem.Directory, oldTime}, {lockDirectory + "/old.json.quarantine", filesystem.File, oldTime},
		{lockDirectory + "/x", filesystem.File, oldTime},
	}},
}

func records(name string, left []Left, participants ...Participant) Config {
	return Config{
		Name: "lockdir-" + name, Lock: lockDirectory, Records: true, Stale: staleTime, Left: left,
		Participants: participants, Next: Participant{"lockdir", lockdirLock(true, false, nil)},
		Shorter: incomingTime + 100*time.Millisecond,
	}
}

// lockDirectories are the configurations about PALEE's lock directories: all orders of two
// participants' calls, and, which are large, whatever they find, with one that is killed or
// stopped, or comes later.
//
// What is violated is W1: PALEE stops between making its directory and writing its record,
// and then writes it, whatever has become of the directory. A second look does not help if
// PALEE stops for longer than that takes. And if both have found an old directory to
// sweep, the one that PALEE has just made can be swept, however young it is.
func lockDirectories() (list []Config) {
	for _, pair := range lockdirPairs {
		one, two := pair.participants[0], pair.participants[1]
		beside := two.Kind == original.Kind
		for _, start := range lockdirStarts {
			add := func(kind string, crashes, pauses int, violated bool, participants ...Participant) {
				c := records(pair.name+"-"+start.name+kind, start.left, participants...).stops(crashes, pauses)
				c.Large = kind != "" && (pair.name != "2" || start.left != nil)
				if violated {
					c.Expect = []Invariant{SingleWinner}
				}
				list = append(list, c)
			}
			if start.name == "stale" {
				add("", 0, 0, false, one, two)
			}
			add("-crash", 1, 0, false, one, two)
			add("-pause", 0, 1, beside && start.left != nil, one, two)
			add("-later", 0, 1, false, one, two.later())
			if one.Kind != two.Kind {
				add("-sooner", 0, 1, beside, two, one.later())
			}
		}
	}
	list = append(list, records("without-look", lockdirStarts[2].left, original, original).expect(SingleWinner))
	for _, p := range []Participant{publishes, plain, original} {
		name := strings.ReplaceAll(p.Kind, " ", "-") + "-after-PALEE"
		list = append(list, records(name, nil, original, p.later()).stops(0, 1).expect(SingleWinner))
	}
	return list
}
