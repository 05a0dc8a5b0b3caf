package explore

import (
	"reflect"
	"strings"
	"testing"
)

// plain walks every schedule one by one, and follows none twice because of what another
// led to. It returns how many there are and what is violated in them.
func (w *world) plain(s *state, depth int, found *[invariants]bool) (schedules float64) {
	moves := w.moves(s, nil)
	if done, stuck := w.over(s, moves); done {
		schedules++
		if stuck || w.stranded(s, new(state)) != "" {
			found[NothingStranded] = true
		}
	}
	for _, m := range moves {
		var next state
		next.copyFrom(s)
		v := w.play(&next, m, nil)
		for i := range invariants {
			found[i] = found[i] || v.has(i)
		}
		schedules += w.plain(&next, depth+1, found)
	}
	return schedules
}

// TestPlain compares the search with one that has no memory.
func TestPlain(t *testing.T) {
	for _, name := range []string{"proper4-takeover", "proper1-sleeper", "lockfile-async-owner", "lockfile-sleeper"} {
		c, _, err := Find(name + ":")
		if err != nil {
			t.Fatal(err)
		}
		r, err := c.Explore()
		if err != nil {
			t.Fatal(err)
		}
		w := newWorld(c)
		defer w.close()
		var got, want [invariants]bool
		for _, v := range r.Violations {
			got[v.Invariant] = true
		}
		if n := w.plain(&w.initial, 0, &want); n != r.Schedules || got != want {
			t.Errorf("%s: %v schedules, violated: %v; without a memory %v and %v", name, r.Schedules, got, n, want)
		}
	}
}

// TestAutomaton runs the program of every history again from its beginning, and expects
// the same.
func TestAutomaton(t *testing.T) {
	for _, name := range []string{"proper4-sleeper", "lockfile-async", "lockfile-mutex-2-later"} {
		c, _, err := Find(name + ":")
		if err != nil {
			t.Fatal(err)
		}
		w := newWorld(c)
		defer w.close()
		if _, err := w.visit(&Result{Config: c}); err != nil {
			t.Fatal(err)
		}
		histories := 0
		for _, a := range w.automata[:w.members] {
			var each func(h *history)
			each = func(h *history) {
				histories++
				if histories%7 == 0 { // each from its beginning takes long
					p := a.repeat(h)
					again := *a
					got := again.record(p, h.parent, h.event)
					p.tasks.Close()
					got.id, got.next, got.process = h.id, h.next, h.process
					if !reflect.DeepEqual(got.wants, h.wants) || got.phase != h.phase || got.ended != h.ended ||
						!reflect.DeepEqual(got.set, h.set) || !reflect.DeepEqual(got.notes, h.notes) || got.untimed != h.untimed {
						t.Errorf("%s: the same history leads to\n%+v and to\n%+v", name, got, h)
					}
				}
				for _, n := range h.next {
					each(n)
				}
			}
			each(a.root)
		}
		t.Logf("%s: %d histories", name, histories)
	}
}

// TestRandom finds the takeover race among many, and makes its schedule short.
func TestRandom(t *testing.T) {
	c := directories("proper4-random", proper4, proper4, proper4, proper4, proper4).stale().stops(1, 1).random(2000)
	r, err := c.Explore()
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range r.Violations {
		_, schedule, _ := strings.Cut(v.Seed, ":")
		text, err := c.Transcript(schedule)
		if err != nil || !strings.Contains(text, "violated: "+v.Invariant.String()) {
			t.Errorf("%s: %v: %v\n%s", v.Invariant, v.Seed, err, text)
		}
		moves, err := parseMoves(schedule)
		if err != nil {
			t.Fatal(err)
		}
		if v.Invariant == SingleWinner {
			if len(moves) != 12 {
				t.Errorf("the schedule has %d steps, and can have 12:\n%s", len(moves), text)
			}
			return
		}
	}
	t.Errorf("nobody of five has taken another's new lock: %v", r.Violations)
}

func TestSeeds(t *testing.T) {
	const seed = "AB1Ca+A~C!A^+"
	moves, err := parseMoves(seed)
	if err != nil {
		t.Fatal(err)
	}
	if got := format(moves); got != seed {
		t.Errorf("%q is read as %q", seed, got)
	}
	for _, bad := range []string{"a", "1", "A?", "Z"} {
		if _, err := parseMoves(bad); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
	c, _, err := Find("proper4-takeover:")
	if err != nil {
		t.Fatal(err)
	}
	for _, impossible := range []string{"+", "A1", "Aa", "A!", "A^", "AAAAAAAAAAAAAAAAAAAA"} {
		if _, err := c.Transcript(impossible); err == nil {
			t.Errorf("%q is played", impossible)
		}
	}
	if _, _, err := Find("nothing:A"); err == nil {
		t.Error("a configuration that there is not is found")
	}
}

// A program that panics is reported, and so is one that never ends.
func TestPrograms(t *testing.T) {
	c := files("panics", Participant{"one that panics", func(p *Process) {
		_ = p.Unlink("x")
		panic("on purpose")
	}})
	if _, err := c.Explore(); err == nil || !strings.Contains(err.Error(), "on purpose") {
		t.Errorf("a panic is reported as %v", err)
	}
	c = files("polls", Participant{"one that polls for ever", func(p *Process) {
		for p.Wait(t.Context(), staleTime) == nil {
		}
	}})
	r, err := c.Explore()
	if err != nil {
		t.Fatal(err)
	}
	if r.Cut == 0 || r.Expected() {
		t.Errorf("one that never ends is not cut off: %+v", r)
	}
}

// What is left is seen: a file, a descriptor, a lock in the way of the next one.
func TestStranded(t *testing.T) {
	for name, run := range map[string]func(*Process){
		"a.lock.side stays, of A": func(p *Process) { _ = p.Mkdir("a.lock.side") },
		"A has a.lock open":       func(p *Process) { _, _ = p.OpenExclusive(lockPath) },
		"a.lock stays, of A":      func(p *Process) { h, _ := p.OpenExclusive(lockPath); _ = p.Close(h) },
	} {
		c := files("stranded", Participant{"one that leaves something", run})
		r, err := c.Explore()
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Violations) != 1 || r.Violations[0].Invariant != NothingStranded {
			t.Errorf("%s: %v", name, r.Violations)
			continue
		}
		_, schedule, _ := strings.Cut(r.Violations[0].Seed, ":")
		if text, err := c.Transcript(schedule); err != nil || !strings.Contains(text, "nothing stranded: "+name+"\n") {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
	// A lock of the wrong kind is in the way for ever.
	c := files("in the way", Participant{"one that is killed", func(p *Process) {
		_ = p.Mkdir(lockPath)
		_ = p.Rmdir(lockPath)
	}}).stops(1, 0)
	r, err := c.Explore()
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Violations) != 1 || !strings.HasSuffix(r.Violations[0].Seed, "AA!") {
		t.Errorf("a directory in the way: %v", r.Violations)
	}
}
