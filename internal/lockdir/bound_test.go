package lockdir

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-c461eb89/nodelock/compat/nodeerror"
	"github.com/seed-c461eb89/nodelock/internal/filesystem"
	"github.com/seed-c461eb89/nodelock/internal/sim"
)

// The proof that Acquire ends.
//
// An oracle stands for the system. Whatever is asked of it, it may give any answer, be
// it one that no system would give. What a round does depends on its answers and on what
// the attempt knows from earlier rounds: three fields, which TestAttemptState pins. So
// one round is tried from each of the 24 states with every sequence of answers, which
// gives all that a round can cost and all the states that it can lead to. From these the
// costliest way through 20 rounds follows, for each kind of cost. The promise is that it
// is no more than compat/lockdir says, and then that way is gone with a real Acquire, to
// show that the sum is right.

// A cost is what is counted.
type cost struct {
	rounds   int
	parks    int
	parked   time.Duration
	rmdirs   int // of the lock directory
	removals int // unlink and rmdir of anything
	renames  int
	calls    int
}

var costs = []struct {
	name string
	of   func(c cost) int64
}{
	{"rounds", func(c cost) int64 { return int64(c.rounds) }},
	{"parks", func(c cost) int64 { return int64(c.parks) }},
	{"parked ms", func(c cost) int64 { return c.parked.Milliseconds() }},
	{"rmdirs of the directory", func(c cost) int64 { return int64(c.rmdirs) }},
	{"removals", func(c cost) int64 { return int64(c.removals) }},
	{"renames", func(c cost) int64 { return int64(c.renames) }},
	{"calls", func(c cost) int64 { return int64(c.calls) }},
}

func (c cost) plus(d cost) cost {
	return cost{c.rounds + d.rounds, c.parks + d.parks, c.parked + d.parked, c.rmdirs + d.rmdirs,
		c.removals + d.removals, c.renames + d.renames, c.calls + d.calls}
}

// An oracle gives the answers that script says, and the first that there is to those
// that come after. It notes how many there were.
type oracle struct {
	sim.System
	script  []int
	answers []int // how many there were to choose from, by question
	listing [][]string
	listed  []string // the last one that was chosen
	dir     string
	cost    cost
}

func (o *oracle) choose(n int) int {
	i := len(o.answers)
	o.answers = append(o.answers, n)
	if i < len(o.script) {
		return o.script[i]
	}
	return 0
}

// next turns to the next script, and reports whether there is one.
func (o *oracle) next() bool {
	for i := len(o.answers) - 1; i >= 0; i-- {
		chosen := 0
		if i < len(o.script) {
			chosen = o.script[i]
		}
		if chosen+1 < o.answers[i] {
			script := make([]int, i+1)
			copy(script, o.script)
			script[i] = chosen + 1
			o.script = script
			o.answers = o.answers[:0]
			return true
		}
	}
	return false
}

// taken returns the answers that were given.
func (o *oracle) taken() []int {
	taken := make([]int, len(o.answers))
	copy(taken, o.script)
	return taken
}

// failures are what each call may fail with: every code that the engine tells apart, and
// one that stands for the rest. The engine compares codes for equality, and TestEveryCode of
// conformance has them all.
var failures = map[sim.Op][]string{
	sim.OpenTruncate: {"ENOENT", "EIO"}, sim.OpenNoFollow: {"ENOENT", "EIO"},
	sim.Read: {"EIO"}, sim.Write: {"ENOENT", "EIO"}, sim.Close: {"EIO"},
	sim.Fstat: {"EIO"}, sim.Lstat: {"ENOENT", "EIO"}, sim.Kill: {"ESRCH", "EPERM"},
	sim.Unlink: {"ENOENT", "EIO"}, sim.Link: {"EEXIST", "ENOENT", "EIO"}, sim.Rename: {"ENOENT", "EIO"},
	sim.RenameNoReplace: {"EEXIST", "ENOTEMPTY", "ENOENT", "EINVAL"},
	sim.Mkdir:           {"EEXIST", "ENOENT", "EIO"}, sim.Readdir: {"ENOENT", "EIO"},
	sim.Rmdir: {"ENOENT", "ENOTEMPTY", "EEXIST", "EPERM", "EBUSY", "EIO"},
}

const old, fresh = int64(1e6), int64(1 << 40 * 1e6)

// successes are the answers of calls that tell something, if they do not fail.
var successes = map[sim.Op][]sim.Answer{
	sim.Fstat: {{Type: filesystem.File, Mtime: old}, {Type: filesystem.File, Mtime: fresh}, {Type: filesystem.Directory}, {Type: filesystem.Other}},
	sim.Lstat: {
		{Type: filesystem.Directory, Mtime: old}, {Type: filesystem.Directory, Mtime: fresh},
		{Type: filesystem.File, Mtime: old}, {Type: filesystem.File, Mtime: fresh}, {Type: filesystem.Symlink, Mtime: old},
	},
	sim.Read: {{Data: `{"pid":7,"hostname":"here"}`}, {Data: `no JSON`}},
}

func newOracle() *oracle {
	o := &oracle{}
	o.Do = o.do
	return o
}

func (o *oracle) do(c sim.Call) (a sim.Answer) {
	switch c.Op {
	case sim.Now:
		a.N = fresh
	case sim.Wait:
		o.cost.parks++
		o.cost.parked += time.Duration(c.N)
		// A context that ends makes a way shorter. It is tried too.
		if o.choose(2) == 1 {
			a.Err = context.Canceled
		}
	case sim.Hostname:
		a.Data = "here"
	case sim.Pid:
		a.N = 1
	case sim.Random:
		a.Data = strings.Repeat("\x00", int(c.N))
	case sim.Fraction:
		// It makes every pause as long as it can be.
		a.N = int64(math.Float64bits(1 - 1e-9))
	case sim.Realpath, sim.Resolve:
		a.Data = c.Path
	case sim.SetTimer, sim.StopTimer, sim.Begin, sim.TryBegin, sim.End, sim.Utimes:
	default:
		return o.call(&c)
	}
	return a
}

func (o *oracle) call(c *sim.Call) sim.Answer {
	o.cost.calls++
	codes := failures[c.Op]
	switch c.Op {
	case sim.Close:
		if len(o.listing[1]) > 1 {
			// With two names there are ways enough; with one it was tried.
			return sim.Answer{}
		}
	case sim.Rename, sim.RenameNoReplace:
		o.cost.renames++
	case sim.Unlink, sim.Rmdir:
		o.cost.removals++
		if c.Path == o.dir {
			o.cost.rmdirs++
		} else if c.Op == sim.Rmdir {
			codes = []string{"EIO"}
		}
	}
	if i := o.choose(1 + len(codes)); i > 0 {
		return sim.Fails(&nodeerror.Error{Code: codes[i-1]})
	}
	if c.Op == sim.Readdir {
		o.listed = o.listing[o.choose(len(o.listing))]
		return sim.Answer{Data: strings.Join(o.listed, "/")}
	}
	if answers := successes[c.Op]; answers != nil {
		return answers[o.choose(len(answers))]
	}
	return sim.Answer{Handle: 1}
}

const ownRecord = "L-20041103T195348-00000000.json" // at the oracle's time, with its chance

// listings are the directories that there can be: with one name of each sort, and with
// two where it makes a difference to the bounds that there are two.
var (
	listingsOfOne = [][]string{{}, {"a.json"}, {"residue"}, {"a.json.quarantine"}, {ownRecord}}
	listingsOfTwo = [][]string{{}, {"a.json", "b.json"}, {"residue", "a.json"}, {"a.json.quarantine", "residue"}, {ownRecord, "a.json"}}
)

func (o *oracle) lock(t *testing.T, platform Platform) *Lock {
	t.Helper()
	lock, err := New(o, o, o, platform, o).Directory("/d.lockdir", "target", Options{})
	if err != nil {
		t.Fatal(err)
	}
	o.dir = lock.dir
	// What making it has asked is not part of the search.
	o.answers, o.cost = o.answers[:0], cost{}
	return lock
}

func (o *oracle) attempt(l *Lock) *attempt {
	id := strings.TrimSuffix(ownRecord, recordSuffix)
	return &attempt{Lock: l, ctx: context.Background(), id: id, record: ownRecord, body: []byte("{}")}
}

// A state is what an attempt knows between rounds.
type state struct {
	retries      int
	plain, doubt bool
}

// TestAttemptState fails if an attempt knows more than a state says.
func TestAttemptState(t *testing.T) {
	constant := []string{"Lock", "ctx", "id", "record", "body"}
	known := []string{"retries", "plain", "doubt"}
	// What the caller is told, which makes no difference to what an attempt does.
	told := []string{"lease", "holder", "reclaimed"}
	typ := reflect.TypeFor[attempt]()
	for i := range typ.NumField() {
		if name := typ.Field(i).Name; !slices.Contains(slices.Concat(constant, known, told), name) {
			t.Errorf("attempt has a field %s that the search does not know of", name)
		}
	}
	if n := reflect.TypeFor[Lock]().NumField(); n != 4 {
		t.Errorf("Lock has %d fields; if the new one changes, the search must know of it", n)
	}
}

// A node is a place in a call: a state, the part of a round that comes next, and what
// the part before it has found.
type node struct {
	state
	part  part
	found string
}

type part int

const (
	end part = iota
	find
	look
	sweep
	remove
	withdraw // at the end of a call that fails
)

// A step is one part of a round: what it cost, which answers it took, and where it led.
type step struct {
	cost   cost
	script []int
	to     node
}

// search tries one part of a round from a node with every sequence of answers. Of the
// steps that lead to one node only those are kept that cost more of something than the
// others.
func (g *graph) search(t *testing.T, from node) {
	o := newOracle()
	o.listing = g.listing
	lock := o.lock(t, g.platform)
	var steps []step
	for more := true; more; more = o.next() {
		o.cost, o.listed = cost{}, nil
		a := o.attempt(lock)
		a.retries, a.plain, a.doubt = from.retries, from.plain, from.doubt
		entries := g.entries[from.found]
		outcome := occupied
		var err error
		switch from.part {
		case find:
			o.cost.rounds = 1
			outcome, err = a.find()
		case look:
			entries, outcome, err = a.look()
		case sweep:
			err = a.sweep(entries)
		case remove:
			outcome, err = again, a.remove(entries)
		case withdraw:
			a.withdraw()
			outcome = held // there is nothing more to do
		}
		checkOutcome(t, o, from, a, outcome, err)
		s := step{to: node{state: state{a.retries, a.plain, a.doubt}, part: from.part + 1}}
		switch {
		case err != nil || outcome == held:
			s.to = node{}
			if err != nil && a.doubt {
				s.to.part = withdraw // as Acquire does
			}
		case outcome == again:
			s.to.part = find
		case s.to.part > look:
			s.to.found = g.remember(entries)
		}
		s.cost = o.cost
		steps = keep(steps, s, o.taken)
		g.ways++
	}
	g.steps[from] = steps
	for _, s := range steps {
		if _, ok := g.steps[s.to]; !ok && s.to.part != end {
			g.steps[s.to] = nil
			g.open = append(g.open, s.to)
		}
	}
}

// A graph is all that a call can do.
type graph struct {
	platform Platform
	listing  [][]string
	steps    map[node][]step
	entries  map[string][]entry // by how a node names them
	open     []node
	ways     int
}

// remember gives entries a name. Their times are left out: nothing after look asks for
// them, because a record is judged by its time after it was moved.
func (g *graph) remember(entries []entry) string {
	var key []byte
	for _, e := range entries {
		key = append(key, e.name...)
		key = append(key, byte('0'+e.kind), byte('0'+e.pid), ' ')
		key = append(key, e.host...)
	}
	name := string(key)
	if _, ok := g.entries[name]; !ok {
		found := slices.Clone(entries)
		for i := range found {
			found[i].mtime, found[i].vanished = 0, false
		}
		g.entries[name] = found
	}
	return name
}

// checkOutcome holds every single way to what must be true of each.
func checkOutcome(t *testing.T, o *oracle, from node, a *attempt, got outcome, err error) {
	t.Helper()
	if got == held && err != nil {
		t.Errorf("held, and %v", err)
	}
	if spent := a.retries - from.retries; spent < 0 || spent > 1 {
		t.Errorf("the budget went from %d to %d in a round", from.retries, a.retries)
	}
	if from.part != remove && o.cost.parks > 0 {
		t.Errorf("%d parks before anything was removed", o.cost.parks)
	}
	if from.part == look && o.cost.removals+o.cost.renames > 0 && !slices.Contains(o.listed, ownRecord) {
		t.Errorf("something was changed while it was looked at")
	}
	if err != nil && nodeerror.Code(err) == "" && !errors.Is(err, context.Canceled) {
		t.Errorf("an error without a code: %v", err)
	}
}

func keep(steps []step, s step, script func() []int) []step {
	for _, other := range steps {
		if other.to == s.to && dominates(other.cost, s.cost) {
			return steps
		}
	}
	steps = slices.DeleteFunc(steps, func(other step) bool {
		return other.to == s.to && dominates(s.cost, other.cost)
	})
	s.script = script()
	return append(steps, s)
}

func dominates(a, b cost) bool {
	for _, c := range costs {
		if c.of(a) < c.of(b) {
			return false
		}
	}
	return true
}

// A way is what is left of a call from a node on.
type way struct {
	cost   cost
	script []int
}

// costliest returns the way that costs most from a node on, with so many rounds left.
func costliest(steps map[node][]step, rounds int, from node, of func(cost) int64, known map[string]way) way {
	if from.part == find {
		if rounds == 0 {
			// The cap is reached.
			if !from.doubt {
				return way{}
			}
			from = node{part: withdraw}
		} else {
			rounds--
		}
	}
	key := fmt.Sprint(rounds, from)
	if w, ok := known[key]; ok {
		return w
	}
	var worst way
	for _, s := range steps[from] {
		w := way{s.cost, s.script}
		if s.to.part != end {
			rest := costliest(steps, rounds, s.to, of, known)
			w = way{s.cost.plus(rest.cost), slices.Concat(s.script, rest.script)}
		}
		if worst.script == nil || of(w.cost) > of(worst.cost) {
			worst = w
		}
	}
	known[key] = worst
	return worst
}

// The bounds that compat/lockdir promises, for a directory that never has more than
// n names in it.
func promised(platform Platform, n int) map[string]int64 {
	const (
		rounds  = 20
		retries = 5
		// The longest pauses, in the whole milliseconds that they are cut to: chance is
		// less than 1, so none has 25 % more.
		onePark = 62 + 124 + 249 + 300 + 300
	)
	rmdirs, parks, parked := int64(rounds), int64(retries), int64(onePark)
	if platform.RetryRemoval {
		rmdirs += rounds * 5
		parks += rounds * 5
		parked += rounds * onePark
	}
	return map[string]int64{
		"rounds":                  rounds,
		"parks":                   parks,
		"parked ms":               parked,
		"rmdirs of the directory": rmdirs + 1,
		// An unlink for each name, and the rmdirs; a staging directory that is not
		// needed, with the record in it; and the record withdrawn, by either name.
		"removals": rounds*int64(n) + rmdirs + 2*rounds + 3,
		// A record moved aside and put back, in two ways; the staging directory.
		"renames": rounds * (3*int64(n) + 1),
	}
}

func TestAcquireIsBounded(t *testing.T) {
	for _, test := range []struct {
		name     string
		platform Platform
		listing  [][]string
		n        int
	}{
		{"one name", POSIX(), listingsOfOne, 1},
		{"one name, Windows", Windows(), listingsOfOne, 1},
		{"two names", POSIX(), listingsOfTwo, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			if raceEnabled && test.n > 1 {
				t.Skip("takes long under the race detector, which has nothing to find in one goroutine")
			}
			start := node{part: find}
			g := &graph{
				platform: test.platform, listing: test.listing, entries: map[string][]entry{},
				steps: map[node][]step{start: nil}, open: []node{start},
			}
			for len(g.open) > 0 {
				from := g.open[0]
				g.open = g.open[1:]
				g.search(t, from)
			}
			t.Logf("%d ways through a part of a round, from %d nodes", g.ways, len(g.steps))
			limit := promised(test.platform, test.n)
			for _, c := range costs {
				worst := costliest(g.steps, 20, start, c.of, map[string]way{})
				got := c.of(worst.cost)
				if bound, ok := limit[c.name]; ok && got != bound {
					t.Errorf("%s: %d, and %d was promised", c.name, got, bound)
				}
				t.Logf("%s: at most %d", c.name, got)

				o := newOracle()
				o.listing = test.listing
				lock := o.lock(t, test.platform)
				o.script = worst.script
				o.cost.rounds = worst.cost.rounds // which it cannot see
				_, err := lock.Acquire(context.Background())
				if c.of(o.cost) != got {
					t.Errorf("%s: the search says %d, and Acquire with the same answers makes it %d (%v)", c.name, got, c.of(o.cost), err)
				}
			}
		})
	}
}
