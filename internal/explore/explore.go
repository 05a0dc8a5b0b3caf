// Package explore looks at every way in which a few participants in a lock protocol can
// get in each other's way.
//
// A participant is a process: an engine of its own and a program that calls it, both
// unchanged. Whatever they ask of the system goes through the seams, so every system
// call and every timer is a point at which others can come first, or the process can be
// stopped or killed. Explore tries all orders, see [Config.Explore], and checks the
// invariants after every step, see [Invariant].
//
// # How
//
// Engines run in goroutines, whose state cannot be copied. But a process knows nothing
// except what the system has answered: what it does next is a function of its history.
// So engines are run apart from any filesystem, once for each history that turns up, and
// what they did is remembered: see automaton. A state of the world is then a small value
// (files, clock, and for each participant the history it has), and a step a copy, a
// system call on it and the look-up of a history that is one answer longer.
//
// Two schedules that lead to the same state have the same future, and it is looked at
// once. No other reduction is made, so that there is nothing to prove: the order of
// independent calls is not fixed beforehand, it only leads to the same state. States are
// compared by all that can matter to their future (of a process that has ended that is
// nothing), by 128 bits of a hash; that two different ones are taken for one is not to be
// expected in the life of this universe. A history only grows, so states form no circles,
// and the number of schedules is counted without walking them all.
//
// # Time
//
// A system call takes none. Time passes only when nobody who is not paused can do
// anything, and then to the next timer, so an awake participant is always in time. One
// that is not in time is a paused one: it stops at any point, until any moment at which
// something is due, and for 1.5 s beyond the threshold at the longest, while the others,
// their heartbeats and time go on.
//
// # Locks that are records
//
// A lock directory of PALEE's is held by whoever has a record in it. What is looked at there
// is that not more than one holds it, that a holder's record is in it, and what is left in
// the end; but not what becomes of a record on the way, as one may be moved aside and put
// back (W2).
//
// # What is not looked at
//
// A pause that is longer still, and a second one but in the configurations that say so. One that is shorter while the paused one has a kernel
// lock: all that the others can do meanwhile is to wait for that. Waits that are shorter
// than leastWait. A clock that is set, another user's permissions, a system call that
// fails without a reason. And what goes on inside of a process that makes no call: its
// goroutines take turns at calls only. Watching a stale lock before it is taken over (Doubt)
// is looked at in configurations of its own, among Mutexes.
package explore

import (
	"slices"
	"time"

	"github.com/seed-c461eb89/nodelock/internal/filesystem"
)

// A Config is a situation to explore.
type Config struct {
	// Name is what a seed calls it.
	Name string
	// Lock is the path of the lock that the invariants are about.
	Lock string
	// Type is what the lock is: a file or a directory.
	Type filesystem.Type
	// ByChange has the lock's age counted from its change time.
	ByChange bool
	// Stale is the age from which on a lock may be taken over.
	Stale time.Duration
	// Records says that the lock is a directory, and whoever has a record in it holds it.
	Records bool
	// Left is what is there in the beginning.
	Left []Left
	// Participants are who takes part, seven at most.
	Participants []Participant
	// Next is who takes the lock when all is over. It must get it.
	Next Participant
	// Crashes and Pauses say how many there can be in one schedule.
	Crashes, Pauses int
	// Shorter is a length that a pause may have beside those that the others' timers and
	// the threshold give it.
	Shorter time.Duration
	// Expect are the invariants that are violated, as is known.
	Expect []Invariant
	// More says that others may be violated too.
	More bool
	// Large says that it takes seconds.
	Large bool
	// Walks is how many schedules are tried at random; 0: all are.
	Walks int
}

// A Left is a file that was left some time ago.
type Left struct {
	Path string
	Type filesystem.Type
	Age  time.Duration
}

// A Participant is one process.
type Participant struct {
	// Kind says what it is, for tables.
	Kind string
	// Run is its program.
	Run func(*Process)
}

// A Phase is how far a program is.
type Phase uint8

// The phases. A program that is Holding believes that the lock is its own.
const (
	Outside Phase = iota
	Contending
	Holding
	Releasing
)

// An Invariant is what must be so after every step.
type Invariant uint8

// The invariants. A participant whose lock became older than the threshold while it was
// paused is not protected by them, until it begins anew: it is late.
const (
	// SingleWinner: not more than one participant holds the lock.
	SingleWinner Invariant = iota
	// LiveLocksAreSafe: nobody who wants the lock removes, replaces or touches one whose
	// owner is in time.
	LiveLocksAreSafe
	// NoFalseOwner: what is at the lock's path was made by the participant that believes
	// that it holds the lock.
	NoFalseOwner
	// ReleaseSparesOthers: nobody who has or had the lock removes, replaces or touches
	// another's, by a release or a heartbeat that comes too late.
	ReleaseSparesOthers
	// NothingStranded: in the end no lock, side file or descriptor is left of a
	// participant that has ended in peace, none waits for ever, and the next one gets
	// the lock.
	NothingStranded
	// NoSleepOnFree: nobody waits to be woken while the lock is free, and nothing wakes it.
	NoSleepOnFree

	invariants
)

var invariantNames = [invariants]string{
	"single winner", "live locks are safe", "no false owner", "release spares others", "nothing stranded",
	"a free lock is not slept on",
}

func (i Invariant) String() string { return invariantNames[i] }

// A Violation is a schedule that ends in a state in which an invariant does not hold.
type Violation struct {
	Invariant Invariant
	// Steps is how many steps in how many schedules of the search violate it: of those
	// that lead to the same state one.
	Steps int
	// Victims are those at whose expense it is: participants whose lock is harmed, or who
	// believe that they hold one.
	Victims []int
	// Seed is the shortest schedule that does, for [Config.Transcript].
	Seed string
}

// A Result is what an exploration has found.
type Result struct {
	Config *Config
	// States is how many states there are, Steps how many steps between them, and
	// Schedules how many ways from the beginning to an end. For a random exploration,
	// Schedules is how many were walked, and States is 0.
	States, Steps int
	Schedules     float64
	// Histories is how many different histories processes had.
	Histories int
	// Cut is how many states were not followed further because they are ten thresholds from
	// the beginning.
	Cut int
	// Violations has those found, by invariant.
	Violations []Violation
	Duration   time.Duration
}

// Expected reports whether the invariants that are violated are those that are known to
// be, and everything was explored.
func (r *Result) Expected() bool {
	c := r.Config
	if r.Cut > 0 && c.Walks == 0 || len(r.Violations) > len(c.Expect) && !c.More {
		return false
	}
	for _, i := range c.Expect {
		if !slices.ContainsFunc(r.Violations, func(v Violation) bool { return v.Invariant == i }) {
			return false
		}
	}
	return true
}
