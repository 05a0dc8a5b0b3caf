package explore

import (
	"fmt"
	"strings"
	"time"

	"github.com/seed-c461eb89/nodelock/internal/nodetime"
	"github.com/seed-c461eb89/nodelock/internal/sim"
)

// A move is what can happen next.
type move struct {
	kind moveKind
	who  uint8 // participant, from 0 on
	slot uint8 // task or timer
}

type moveKind uint8

const (
	// moveTask answers a task, and moveTimer runs a timer that has run out.
	moveTask moveKind = iota
	moveTimer
	moveCrash
	movePause
	moveResume
	// moveTime lets time pass.
	moveTime
)

// marks are what a seed has for moves that are not of a task.
var marks = map[moveKind]string{moveCrash: "!", movePause: "~", moveResume: "^"}

// String returns the move as a seed has it: the participant's letter, and a digit for a
// task that is not the first, a small letter for a timer, "!" for a crash, "~" for a
// pause and "^" for its end; or "+" for time.
func (m move) String() string {
	switch who := string(rune('A' + m.who)); {
	case m.kind == moveTime:
		return "+"
	case m.kind == moveTimer:
		return who + string(rune('a'+m.slot))
	case m.kind == moveTask && m.slot > 0:
		return who + string(rune('0'+m.slot))
	default:
		return who + marks[m.kind]
	}
}

func parseMoves(text string) (moves []move, err error) {
	for text != "" {
		c := text[0]
		text = text[1:]
		m := move{kind: moveTime}
		if c != '+' {
			if c < 'A' || c >= 'A'+maxParticipants {
				return nil, fmt.Errorf("explore: a seed has no %q", c)
			}
			m = move{who: c - 'A'}
			next, rest := byte(0), text
			if text != "" {
				next, rest = text[0], text[1:]
			}
			switch {
			case next >= '1' && next < '0'+maxTasks:
				m.slot, text = next-'0', rest
			case next >= 'a' && next < 'a'+maxTimers:
				m.kind, m.slot, text = moveTimer, next-'a', rest
			}
			for kind, mark := range marks {
				if string(next) == mark {
					m.kind, text = kind, rest
				}
			}
		}
		moves = append(moves, m)
	}
	return moves, nil
}

func format(moves []move) string {
	var b strings.Builder
	for _, m := range moves {
		b.WriteString(m.String())
	}
	return b.String()
}

// A world is a configuration with the automata of its participants.
type world struct {
	config   *Config
	automata [maxParticipants]*automaton
	members  int // without the next one
	stale    int64
	horizon  int64
	sleep    int64
	initial  state
}

// epoch is when everything begins: an arbitrary time, not on a whole second.
const epoch = int64(1_700_000_000_123)

// nextActor is the participant that comes when all is over.
const nextActor = maxParticipants - 1

func newWorld(c *Config) *world {
	if len(c.Participants) > nextActor {
		panic("explore: too many participants")
	}
	w := &world{config: c, members: len(c.Participants), stale: c.Stale.Milliseconds()}
	w.horizon = epoch + 10*w.stale
	// Heartbeats may set a time that is rounded up to the second.
	w.sleep = w.stale + 1500
	s := &w.initial
	s.now, s.crashes, s.pauses = epoch, int8(c.Crashes), int8(c.Pauses)
	s.files = *sim.New("", 1, epoch*1e6)
	for _, l := range c.Left {
		node, code := s.files.Place(l.Path, l.Type, "")
		if code != "" {
			panic("explore: " + l.Path + " cannot be placed: " + code)
		}
		at := s.files.Now - l.Age.Nanoseconds()
		s.files.SetTimes(node, at, at)
	}
	for i, p := range c.Participants {
		w.automata[i] = newAutomaton(p.Run, i, epoch)
		w.enter(s, i)
	}
	return w
}

func (w *world) close() {
	for _, a := range w.automata {
		if a != nil {
			a.close()
		}
	}
}

// err returns what is wrong with a program.
func (w *world) err() error {
	for _, a := range w.automata {
		if a != nil && a.err != nil {
			return a.err
		}
	}
	return nil
}

// enter lets a participant begin.
func (w *world) enter(s *state, who int) {
	s.count = max(s.count, who+1)
	p := &s.parts[who]
	*p = part{present: true, history: w.automata[who].root}
	p.settle(s.now)
}

// settle sets the timers that the last step of its history has set.
func (p *part) settle(now int64) {
	h := p.history
	for _, t := range h.set {
		p.timers[t.slot] = 0
		if t.ms >= 0 {
			p.timers[t.slot] = now + t.ms
		}
	}
	if h.waits >= 0 {
		p.waits[h.waits] = now + h.wants[h.waits].call.N/1e6
	}
}

// runnable reports whether a task of a participant can go on.
func (s *state) runnable(who, task int) bool {
	p := &s.parts[who]
	want := &p.history.wants[task]
	switch {
	case !want.live:
		return false
	case !want.call.Op.Lasts(), want.cancelled, p.waits[task] <= s.now:
		return true
	}
	return want.call.Op == sim.Await && s.files.Fired(uint8(who)+1, want.call.Handle)
}

// moves lists what can happen next.
func (w *world) moves(s *state, list []move) []move {
	busy := false
	for who := range s.parts[:s.count] {
		p := &s.parts[who]
		if !p.active() {
			continue
		}
		if p.pausedAt != 0 {
			if w.mayResume(s, who) {
				list = append(list, move{kind: moveResume, who: uint8(who)})
			}
			continue
		}
		for i := range p.history.wants {
			if s.runnable(who, i) {
				busy = true
				list = append(list, move{moveTask, uint8(who), uint8(i)})
			}
		}
		for i, due := range p.timers {
			if due != 0 && due <= s.now {
				busy = true
				list = append(list, move{moveTimer, uint8(who), uint8(i)})
			}
		}
	}
	if !busy {
		if next := w.nextTime(s); next > s.now {
			list = append(list, move{kind: moveTime})
		}
	}
	// What stops a participant comes last, so that searches look at calm schedules first.
	if s.crashes > 0 || s.pauses > 0 {
		for who := range s.parts[:s.count] {
			p := &s.parts[who]
			if !p.active() {
				continue
			}
			if s.crashes > 0 {
				list = append(list, move{kind: moveCrash, who: uint8(who)})
			}
			if s.pauses > 0 && p.pausedAt == 0 {
				list = append(list, move{kind: movePause, who: uint8(who)})
			}
		}
	}
	return list
}

// mayResume reports whether a paused participant may go on. That it does at once is no
// pause. While it has the guard all others wait for that, and it goes on in the end.
func (w *world) mayResume(s *state, who int) bool {
	since := s.now - s.parts[who].pausedAt
	if since == 0 || since >= w.sleep {
		return since != 0
	}
	return !s.files.Guards(uint8(who) + 1)
}

// nextTime returns when something is due next: a timer, or the end of the longest pause,
// which nothing goes beyond; or 0.
func (w *world) nextTime(s *state) int64 {
	next := int64(0)
	due := func(at int64) {
		if at >= s.now && (next == 0 || at < next) {
			next = at
		}
	}
	for who := range s.parts[:s.count] {
		p := &s.parts[who]
		switch {
		case !p.active():
		case p.pausedAt != 0:
			due(p.pausedAt + w.sleep)
			if shorter := p.pausedAt + w.config.Shorter.Milliseconds(); shorter > s.now {
				due(shorter)
			}
		default:
			for i := range p.history.wants {
				if want := &p.history.wants[i]; want.live && want.call.Op.Lasts() {
					due(p.waits[i])
				}
			}
			for _, at := range p.timers {
				due(at)
			}
		}
	}
	return next
}

// An action is what a move was, for transcripts.
type action struct {
	now    int64
	call   sim.Call
	answer sim.Answer
	notes  []string
}

// play makes a move, and returns the invariants that it violates.
func (w *world) play(s *state, m move, what *action) violations {
	var found violations
	p := &s.parts[m.who]
	switch m.kind {
	case moveCrash:
		s.crashes--
		p.crashed = true
		s.files.CloseAll(m.who + 1)
	case movePause:
		s.pauses--
		p.pausedAt = s.now
	case moveResume:
		p.pausedAt = 0
	case moveTime:
		s.now = w.nextTime(s)
		s.files.Now = s.now * 1e6
	case moveTimer:
		p.timers[m.slot] = 0
		w.advance(s, int(m.who), &event{timer: true, slot: int(m.slot)}, what)
	case moveTask:
		h := p.history
		e := event{slot: int(m.slot)}
		call := &h.wants[m.slot].call
		if call.Op.Lasts() {
			p.waits[m.slot] = 0
		}
		switch call.Op {
		case sim.Wait:
		case sim.Kill:
			if other := &s.parts[call.N-1]; !other.active() {
				e.answer.Code = "ESRCH"
			}
		default:
			before := *w.lock(s)
			s.files.Actor = m.who + 1
			e.answer = s.files.Perform(call)
			found = w.harm(s, &before, int(m.who))
		}
		if what != nil {
			what.call, what.answer = *call, e.answer
		}
		w.advance(s, int(m.who), &e, what)
	}
	if what != nil {
		what.now = s.now
	}
	return found | w.check(s)
}

// advance makes the history of a participant longer.
func (w *world) advance(s *state, who int, e *event, what *action) {
	p := &s.parts[who]
	before := p.history.rounds
	p.history = w.automata[who].after(p.history, e, s.now)
	if p.history.rounds != before {
		p.late = false
	}
	p.settle(s.now)
	if what != nil {
		what.notes = p.history.notes
	}
}

// age returns how old a lock is.
func (w *world) age(s *state, n *sim.Node) int64 {
	t := n.Mtime
	if w.config.ByChange {
		t = n.Ctime
	}
	return s.now - nodetime.Milliseconds(time.Unix(0, t))
}
