package explore

import (
	"math/rand/v2"
	"slices"
	"time"
)

// Explore tries every schedule there is, depth first, and follows each state once; or
// schedules at random, if the configuration says so. For every invariant that is
// violated it then looks for a shortest schedule that does.
func (c *Config) Explore() (*Result, error) {
	began := time.Now()
	w := newWorld(c)
	defer w.close()
	result := &Result{Config: c}
	var err error
	if c.Walks > 0 {
		err = w.walk(result)
	} else {
		err = w.search(result)
	}
	for _, a := range w.automata {
		if a != nil {
			result.Histories += int(a.count)
		}
	}
	result.Duration = time.Since(began)
	return result, err
}

// A frame is a state on the way from the beginning to where the search is.
type frame struct {
	state     state
	key       sum
	moves     []move
	next      int
	schedules float64
}

// search looks at all states, and for the shortest schedules that violate something.
func (w *world) search(result *Result) error {
	tally, err := w.visit(result)
	if err != nil {
		return err
	}
	shortest := w.shortest(tally.victims)
	tally.report(result, func(i Invariant) []move { return shortest[i] })
	return w.err()
}

// visit is a depth-first search through all states. It counts the violations.
func (w *world) visit(result *Result) (*tally, error) {
	var seen table
	var scratch state
	found := new(tally)
	count := found.count
	frames := []*frame{{}}
	top := frames[0]
	top.state.copyFrom(&w.initial)
	top.key = top.state.hash()
	top.moves = w.moves(&top.state, nil)
	depth := 0
	for depth >= 0 {
		f := frames[depth]
		if f.next == len(f.moves) {
			if done, stuck := w.over(&f.state, f.moves); done {
				f.schedules++
				if stuck || w.stranded(&f.state, &scratch) != "" {
					count(strandedViolation)
				}
			}
			seen.insert(f.key, f.schedules)
			if depth--; depth >= 0 {
				frames[depth].schedules += f.schedules
			}
			continue
		}
		m := f.moves[f.next]
		f.next++
		if depth+1 == len(frames) {
			frames = append(frames, &frame{})
		}
		g := frames[depth+1]
		g.state.copyFrom(&f.state)
		count(w.play(&g.state, m, nil))
		result.Steps++
		g.key = g.state.hash()
		if p := seen.find(g.key); p.key == g.key {
			f.schedules += p.value
			continue
		}
		g.next, g.schedules = 0, 0
		if g.state.now > w.horizon {
			result.Cut++
			g.moves = g.moves[:0]
			seen.insert(g.key, 1)
			f.schedules++
			continue
		}
		g.moves = w.moves(&g.state, g.moves[:0])
		depth++
	}
	result.States = seen.count
	result.Schedules = frames[0].schedules
	return found, w.err()
}

// A tally counts violations.
type tally struct {
	steps   [invariants]int
	victims [invariants]uint16
}

func (t *tally) count(found violations) {
	if found == 0 {
		return
	}
	for i := range invariants {
		if found.has(i) {
			t.steps[i]++
			t.victims[i] |= found.victims(i)
		}
	}
}

func (t *tally) report(result *Result, shortest func(Invariant) []move) {
	for i := range invariants {
		if t.steps[i] == 0 {
			continue
		}
		v := Violation{Invariant: i, Steps: t.steps[i], Seed: result.Config.Name + ":" + format(shortest(i))}
		for who := range nextActor {
			if t.victims[i]&(1<<who) != 0 {
				v.Victims = append(v.Victims, who)
			}
		}
		result.Violations = append(result.Violations, v)
	}
}

// over reports whether a schedule may end here: nothing can happen but that a
// participant is stopped. It is stuck if somebody waits all the same.
func (w *world) over(s *state, moves []move) (done, stuck bool) {
	if slices.ContainsFunc(moves, func(m move) bool { return m.kind != moveCrash && m.kind != movePause }) {
		return false, false
	}
	return true, len(moves) > 0
}

// A trail is how a state was reached.
type trail struct {
	before *trail
	move   move
	// switches counts how often another participant than before had its turn.
	switches int
}

func (t *trail) moves() []move {
	var list []move
	for ; t.before != nil; t = t.before {
		list = append(list, t.move)
	}
	slices.Reverse(list)
	return list
}

func (t *trail) after(m move) *trail {
	n := &trail{t, m, t.switches}
	if t.before != nil && m.who != t.move.who {
		n.switches++
	}
	return n
}

// shortest looks for schedules that violate the invariants that have victims, breadth
// first: of the shortest that do those in which participants take turns least.
func (w *world) shortest(wanted [invariants]uint16) [invariants][]move {
	type node struct {
		state state
		trail *trail
	}
	// A state is told apart by who has made the last step too, as it matters to what
	// the next step costs.
	type key struct {
		state sum
		who   uint8
	}
	var found [invariants][]move
	var scratch state
	seen := map[sum]int{}
	level := []*node{{trail: &trail{}}}
	level[0].state.copyFrom(&w.initial)
	var free []*node
	var moves []move
	for depth := 1; wanted != [invariants]uint16{} && len(level) > 0; depth++ {
		next := map[key]*node{}
		var order []*node
		var best [invariants]*trail
		note := func(v violations, t *trail) {
			for i := range invariants {
				if v.has(i) && wanted[i] != 0 && (best[i] == nil || t.switches < best[i].switches) {
					best[i] = t
				}
			}
		}
		for _, n := range level {
			moves = w.moves(&n.state, moves[:0])
			if done, stuck := w.over(&n.state, moves); done && wanted[NothingStranded] != 0 {
				if stuck || w.stranded(&n.state, &scratch) != "" {
					note(strandedViolation, n.trail)
				}
			}
			for _, m := range moves {
				var g *node
				if len(free) > 0 {
					g, free = free[len(free)-1], free[:len(free)-1]
				} else {
					g = &node{}
				}
				g.state.copyFrom(&n.state)
				v := w.play(&g.state, m, nil)
				g.trail = n.trail.after(m)
				note(v, g.trail)
				h := g.state.hash()
				k := key{h, m.who}
				if other := next[k]; other != nil {
					if g.trail.switches < other.trail.switches {
						other.trail = g.trail
					}
				} else if d, ok := seen[h]; (!ok || d == depth) && g.state.now <= w.horizon {
					seen[h] = depth
					next[k] = g
					order = append(order, g)
					continue
				}
				free = append(free, g)
			}
		}
		for i, t := range best {
			if t != nil {
				found[i] = t.moves()
				wanted[i] = 0
			}
		}
		free = append(free, level...)
		level = order
	}
	return found
}

// walk tries schedules at random, the same ones every time.
func (w *world) walk(result *Result) error {
	random := rand.New(rand.NewPCG(1, 2))
	var s, scratch state
	var moves []move
	var tally tally
	var best [invariants][]move
	for range w.config.Walks {
		s.copyFrom(&w.initial)
		var path []move
		note := func(v violations) {
			tally.count(v)
			for i := range invariants {
				if !v.has(i) {
					continue
				}
				if best[i] == nil || len(path) < len(best[i]) {
					best[i] = append([]move(nil), path...)
				}
			}
		}
		for {
			moves = w.moves(&s, moves[:0])
			if done, stuck := w.over(&s, moves); done {
				if stuck || w.stranded(&s, &scratch) != "" {
					note(strandedViolation)
				}
				break
			}
			if s.now > w.horizon {
				result.Cut++
				break
			}
			m := w.choose(random, moves)
			path = append(path, m)
			result.Steps++
			note(w.play(&s, m, nil))
		}
		result.Schedules++
	}
	tally.report(result, func(i Invariant) []move { return w.shrink(best[i], i) })
	return w.err()
}

// choose takes a move at random: one in sixteen stops somebody, if that is possible.
func (w *world) choose(random *rand.Rand, moves []move) move {
	calm := len(moves)
	for calm > 0 && (moves[calm-1].kind == moveCrash || moves[calm-1].kind == movePause) {
		calm--
	}
	if calm < len(moves) && (calm == 0 || random.IntN(16) == 0) {
		return moves[calm+random.IntN(len(moves)-calm)]
	}
	return moves[random.IntN(calm)]
}

// shrink leaves moves out of a schedule as long as it still violates the invariant.
func (w *world) shrink(path []move, i Invariant) []move {
	for size := max(len(path)/2, 1); size > 0; size /= 2 {
		for at := 0; at+size <= len(path); {
			shorn := append(append([]move(nil), path[:at]...), path[at+size:]...)
			if n := w.follow(shorn, i); n >= 0 {
				path = shorn[:n]
			} else {
				at++
			}
		}
	}
	return path
}

// follow plays a schedule until it violates the invariant, and returns after how many
// moves it does; -1 if it does not, or is not possible.
func (w *world) follow(path []move, i Invariant) int {
	var s, scratch state
	s.copyFrom(&w.initial)
	for n, m := range path {
		if !slices.Contains(w.moves(&s, nil), m) {
			return -1
		}
		if w.play(&s, m, nil).has(i) {
			return n + 1
		}
	}
	if done, stuck := w.over(&s, w.moves(&s, nil)); i == NothingStranded && done && (stuck || w.stranded(&s, &scratch) != "") {
		return len(path)
	}
	return -1
}
