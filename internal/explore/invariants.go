package explore

import (
	"math/bits"
	"strings"

	"github.com/seed-c461eb89/nodelock/internal/sim"
)

// violations are the invariants that a step violates, each with those who suffer from it.
type violations uint64

// violated is a violation at somebody's expense.
func violated(i Invariant, whose int) violations {
	return 1 << (int(i)*maxParticipants + whose)
}

// victims returns who suffers from a violation of i, as a set: bit 0 is A.
func (v violations) victims(i Invariant) uint16 {
	return uint16(v >> (int(i) * maxParticipants) & (1<<maxParticipants - 1))
}

func (v violations) has(i Invariant) bool { return v.victims(i) != 0 }

// lock returns what is at the lock's path; it is not in use if nothing is. Who owns it is
// judged by who made it, which no participant can see.
func (w *world) lock(s *state) *sim.Node {
	at := s.files.Lookup(0, w.config.Lock)
	if at.Node == sim.None || w.config.Records {
		return &nothing
	}
	return &s.files.Nodes[at.Node]
}

var nothing sim.Node

// record returns the record of a participant in the lock directory, or what is not in use.
func (w *world) record(s *state, who int) *sim.Node {
	dir := s.files.Lookup(0, w.config.Lock).Node
	for i := range s.files.Entries {
		e := &s.files.Entries[i]
		if n := &s.files.Nodes[e.Node]; e.Dir == dir && int(n.Maker()) == who+1 && strings.HasSuffix(e.Name, ".json") {
			return n
		}
	}
	return &nothing
}

// harm says what a call of who's has done to the lock that was there before.
func (w *world) harm(s *state, before *sim.Node, who int) violations {
	owner := int(before.Maker()) - 1
	if !before.Used || owner < 0 || owner == who {
		return 0
	}
	after := w.lock(s)
	if *after == *before || after.Used && after.ID == before.ID && after.Mtime == before.Mtime && after.Ctime == before.Ctime {
		return 0
	}
	p := &s.parts[owner]
	if !p.active() || p.late || w.age(s, before) > w.stale {
		return 0
	}
	if phase := p.history.phase; phase != Contending && phase != Holding {
		return 0
	}
	// Whoever contends is not yet through with what he took for stale; anybody else is
	// late with a release or a heartbeat.
	if s.parts[who].history.phase == Contending {
		return violated(LiveLocksAreSafe, owner)
	}
	return violated(ReleaseSparesOthers, owner)
}

// check says which invariants do not hold, and notes whose lock has become stale.
func (w *world) check(s *state) (found violations) {
	lock := w.lock(s)
	var holders violations
	for who := range s.parts[:s.count] {
		p := &s.parts[who]
		if !p.active() || p.late {
			continue
		}
		own := lock
		if w.config.Records {
			own = w.record(s, who)
		}
		owns := own.Used && int(own.Maker()) == who+1
		if owns && w.age(s, own) > w.stale {
			p.late = true
			continue
		}
		if p.history.phase == Holding {
			holders |= violated(SingleWinner, who)
			if !owns {
				found |= violated(NoFalseOwner, who)
			}
		}
	}
	if bits.OnesCount64(uint64(holders)) > 1 {
		found |= holders
	}
	return found | w.sleeping(s)
}

// sleeping says who waits for a lock that is free.
func (w *world) sleeping(s *state) (found violations) {
	if !w.free(s) {
		return 0
	}
	for who := range s.parts[:s.count] {
		p := &s.parts[who]
		if !p.active() {
			continue
		}
		for i := range p.history.wants {
			want := &p.history.wants[i]
			if want.live && want.call.Op == sim.Await && !s.files.Fires(uint8(who)+1, want.call.Handle) {
				found |= violated(NoSleepOnFree, who)
			}
		}
	}
	return found
}

// free reports whether nothing is at the lock's path, or if it is a directory of records,
// nothing in it.
func (w *world) free(s *state) bool {
	at := s.files.Lookup(0, w.config.Lock)
	if at.Node == sim.None || !w.config.Records {
		return at.Node == sim.None
	}
	for i := range s.files.Entries {
		if s.files.Entries[i].Dir == at.Node {
			return false
		}
	}
	return true
}

// stranded says whether something is left in a state in which nothing can happen any
// more, and if so what.
func (w *world) stranded(s *state, scratch *state) string {
	for who := range s.parts[:s.count] {
		if s.parts[who].active() {
			return name(who) + " waits for ever"
		}
	}
	peaceful := func(actor uint8) bool { return actor > 0 && !s.parts[actor-1].crashed }
	for _, h := range s.files.Handles {
		return name(int(h.Owner)-1) + " has " + h.Path + " open"
	}
	for _, e := range s.files.Entries {
		// What lies at the lock's path is left by its maker, and anything else by who put
		// it there. A directory for records is there for what is in it.
		by := e.By
		switch {
		case w.config.Records && e.Name == w.config.Lock:
			continue
		case w.config.Records || e.Name == w.config.Lock:
			by = s.files.Nodes[e.Node].Maker()
		}
		if peaceful(by) {
			return e.Name + " stays, of " + name(int(by)-1)
		}
	}
	if w.config.Next.Run == nil {
		return ""
	}
	scratch.copyFrom(s)
	if !w.nextAcquires(scratch) {
		return "the next one does not get the lock"
	}
	return ""
}

// strandedViolation is at the expense of whoever comes next.
var strandedViolation = violated(NothingStranded, nextActor)

// nextAcquires lets one more participant come, alone, and reports whether he gets the
// lock.
func (w *world) nextAcquires(s *state) bool {
	if w.automata[nextActor] == nil {
		w.automata[nextActor] = newAutomaton(w.config.Next.Run, nextActor, epoch)
	}
	s.crashes, s.pauses = 0, 0
	w.enter(s, nextActor)
	p := &s.parts[nextActor]
	until := s.now + 10*w.stale
	var space [8]move
	for p.active() && s.now < until {
		if p.history.phase == Holding {
			if w.config.Records {
				return w.record(s, nextActor).Used
			}
			return w.lock(s).Maker() == nextActor+1
		}
		moves := w.moves(s, space[:0])
		if len(moves) == 0 {
			return false
		}
		w.play(s, moves[0], nil)
	}
	return false
}

func name(who int) string {
	if who == nextActor {
		return "the next one"
	}
	return string(rune('A' + who))
}
