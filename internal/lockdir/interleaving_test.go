package lockdir

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-c461eb89/nodelock/compat/nodeerror"
	"github.com/seed-c461eb89/nodelock/internal/filesystem"
	"github.com/seed-c461eb89/nodelock/internal/sim"
)

// Two participants, one acquisition each, on one filesystem in memory, at every call of
// which the other may go on instead: all the schedules that leave a participant against
// its will no more than a few times. When it is left, 6 s may pass, which is what W1
// needs, and is far less than makes a record stale.

// A table is where the two meet.
type table struct {
	files   *sim.Tree
	now     int64 // ms since 1970
	script  []int // what to do at each call
	open    []int // how many ways there were to go on, at each call
	left    int   // how often a participant may still be left
	players []*player
	history []string
	drawn   uint64
}

// A player is a participant: its seams, and the goroutine that it runs in.
type player struct {
	sim.System
	*table
	name  string
	plain bool
	turn  chan struct{} // it may go on
	yield chan struct{} // it has stopped, or ended
	due   int64         // it waits until then
	ended bool
	held  bool
	err   error
}

// choose returns what to do where there are n ways.
func (t *table) choose(n int) int {
	i := len(t.open)
	t.open = append(t.open, n)
	if i < len(t.script) {
		return t.script[i]
	}
	return 0
}

// next turns to the next schedule.
func (t *table) next() (script []int, more bool) {
	for i := len(t.open) - 1; i >= 0; i-- {
		chosen := 0
		if i < len(t.script) {
			chosen = t.script[i]
		}
		if chosen+1 < t.open[i] {
			script = make([]int, i+1)
			copy(script, t.script)
			script[i] = chosen + 1
			return script, true
		}
	}
	return nil, false
}

// run has the players go on, one at a time, until all have ended.
func (t *table) run() {
	current := t.players[0]
	if t.choose(2) == 1 {
		current = t.players[1]
	}
	for {
		current.turn <- struct{}{}
		<-current.yield
		other := t.players[0]
		if current == other {
			other = t.players[1]
		}
		waits := func(p *player) bool { return p.due > t.now }
		switch {
		case current.ended && other.ended:
			return
		case current.ended:
			current = other
			t.now = max(t.now, current.due)
		case waits(current) && other.ended, waits(current) && waits(other) && current.due <= other.due:
			t.now = current.due
		case waits(current):
			current = other
			t.now = max(t.now, current.due)
		case other.ended || waits(other) || t.left == 0:
		default:
			switch t.choose(3) {
			case 1:
				t.left--
				current = other
			case 2:
				t.left--
				t.now += 6000
				current = other
			}
		}
		t.files.Now = t.now * 1e6
	}
}

// stop is before every call: the other may go on instead.
func (p *player) stop() {
	p.yield <- struct{}{}
	<-p.turn
}

// do answers a call. What does not concern the other is no place to stop.
func (p *player) do(c sim.Call) (a sim.Answer) {
	switch c.Op {
	case sim.Now:
		a.N = p.now * 1e6
	case sim.Wait:
		p.due = p.now + c.N/1e6
		p.stop()
	case sim.Hostname:
		a.Data = "here"
	case sim.Pid:
		a.N = 1
	case sim.Random:
		p.drawn++
		a.Data = string(binary.BigEndian.AppendUint32(nil, uint32(p.drawn)))
	case sim.Fraction:
		a.N = int64(math.Float64bits(0.5))
	case sim.SetTimer, sim.StopTimer, sim.Begin, sim.TryBegin, sim.End, sim.Kill: // both live
	case sim.Realpath, sim.Resolve:
		a.Data = c.Path
	case sim.RenameNoReplace:
		if p.plain {
			return sim.Answer{Code: "EINVAL"}
		}
		fallthrough
	default:
		if c.Op != sim.Close && c.Op != sim.Fstat {
			p.stop()
		}
		a = p.files.Perform(&c)
		p.history = append(p.history, fmt.Sprintf("%s: %s(%s) %s", p.name, c.Op.Name(), strings.TrimPrefix(c.Path, "/w/"), a.Code))
	}
	return a
}

// palee is an acquisition as PALEE makes it: it never looks whether it is alone.
func (a *attempt) palee() (outcome, error) {
	for range a.options.Rounds {
		err := a.filesystem.Mkdir(a.dir)
		switch nodeerror.Code(err) {
		case "":
			if err := a.write(a.dir); err == nil || !missing(err) {
				return held, err
			}
			continue
		case "EEXIST":
		default:
			return again, err
		}
		entries, o, err := a.look()
		if err != nil {
			return o, err
		}
		if o == again {
			continue
		}
		if err := a.sweep(entries); err != nil {
			return again, err
		}
		if err := a.remove(entries); err != nil {
			return again, err
		}
	}
	return again, a.conflict(ErrChurn)
}

// kinds of participants.
const (
	publishes = "publishes"
	plain     = "plain"
	palee     = "PALEE"
)

// play plays one schedule. With verify, those who can see a second time whether they
// are alone do that, a second later.
func play(t *testing.T, kinds [2]string, start string, script []int, left int, verify bool) *table {
	t.Helper()
	tab := &table{
		files: sim.New("/w", 1, 0), now: 1700000000000,
		script: script, left: left,
	}
	const dir = "/w/a.lockdir"
	place := func(path string, kind filesystem.Type, age time.Duration) {
		node, code := tab.files.Place(strings.TrimPrefix(path, "/w"), kind, "")
		if code != "" {
			t.Fatal(code)
		}
		at := (tab.now - age.Milliseconds()) * 1e6
		tab.files.SetTimes(node, at, at)
	}
	tab.files.Now = tab.now * 1e6
	switch start {
	case "nothing":
	case "an old empty directory":
		place(dir, filesystem.Directory, time.Minute)
	case "a stale record":
		place(dir, filesystem.Directory, time.Minute)
		place(dir+"/old.json", filesystem.File, time.Hour)
	case "an old quarantine and residue":
		place(dir, filesystem.Directory, time.Minute)
		place(dir+"/old.json.quarantine", filesystem.File, time.Hour)
		place(dir+"/x", filesystem.File, time.Hour)
	}
	for i, kind := range kinds {
		p := &player{table: tab, name: string(rune('A' + i)), plain: kind != publishes, turn: make(chan struct{}), yield: make(chan struct{})}
		p.Do = p.do
		options, err := Options{}.withDefaults(POSIX())
		if err != nil {
			t.Fatal(err)
		}
		options.Hostname = "here"
		lock := &Lock{Engine: New(p, p, p, POSIX(), p), options: options, target: "a", dir: dir}
		tab.players = append(tab.players, p)
		go func() {
			<-p.turn
			if kind == palee {
				id := lock.mint(p.Now())
				a := &attempt{Lock: lock, ctx: context.Background(), id: id, record: id + recordSuffix, body: lock.body(id, p.Now())}
				var o outcome
				o, p.err = a.palee()
				p.held = o == held && p.err == nil
			} else {
				var lease *Lease
				lease, p.err = lock.Acquire(context.Background())
				p.held = p.err == nil
				if p.held && verify {
					p.due = p.now + 1000
					p.stop()
					p.held = lease.Verify(context.Background()) == nil
				}
			}
			p.ended = true
			p.yield <- struct{}{}
		}()
	}
	tab.run()
	return tab
}

// TestNoTwoHolders plays every schedule, and finds never two who hold the lock, nor
// anything left by somebody who does not. With PALEE it takes a Verify to be sure. If the
// engine did not look for another record after it has made the directory, the eight
// searches without PALEE in which somebody cannot rename without replacing would fail.
func TestNoTwoHolders(t *testing.T) {
	left := 3
	if testing.Short() || raceEnabled {
		left = 1
	}
	for _, kinds := range [][2]string{{publishes, publishes}, {plain, plain}, {publishes, plain}, {publishes, palee}, {plain, palee}} {
		for _, start := range []string{"nothing", "an old empty directory", "a stale record", "an old quarantine and residue"} {
			t.Run(fmt.Sprintf("%s and %s, %s", kinds[0], kinds[1], start), func(t *testing.T) {
				t.Parallel()
				schedules, won := 0, 0
				for script, more := []int(nil), true; more; schedules++ {
					tab := play(t, kinds, start, script, left, kinds[1] == palee)
					if problem := tab.problem(kinds); problem != "" {
						t.Fatalf("schedule %v: %s\n\t%s", script, problem, strings.Join(tab.history, "\n\t"))
					}
					for _, p := range tab.players {
						if p.held {
							won++
						}
					}
					script, more = tab.next()
				}
				t.Logf("%d schedules; in %d of them somebody has the lock", schedules, won)
				if won == 0 {
					t.Error("nobody ever has the lock")
				}
			})
		}
	}
}

// TestTwoHoldersWithPALEE finds what is left of W1, which the documentation has under
// limits: PALEE writes its record when we have looked. It also shows that these searches
// can see two holders.
func TestTwoHoldersWithPALEE(t *testing.T) {
	for _, kind := range []string{publishes, plain, palee} {
		kinds := [2]string{kind, palee}
		found := ""
		for script, more := []int(nil), true; more && found == ""; {
			tab := play(t, kinds, "nothing", script, 2, false)
			if tab.problem(kinds) == "two hold the lock" {
				found = strings.Join(tab.history, "\n\t")
			}
			script, more = tab.next()
		}
		if found == "" {
			t.Errorf("%s and PALEE: never two holders", kind)
		}
		t.Logf("%s and PALEE:\n\t%s", kind, found)
	}
}

func (t *table) names(path string) []string {
	a := t.files.Perform(&sim.Call{Op: sim.Readdir, Path: path})
	return a.Names()
}

// problem says what is wrong at the end of a schedule.
func (t *table) problem(kinds [2]string) string {
	names := t.names("/w/a.lockdir")
	records := slices.DeleteFunc(names, func(name string) bool { return !isRecordName(name) })
	holders := 0
	for _, p := range t.players {
		if p.held {
			holders++
		}
	}
	switch {
	case holders > 1:
		return "two hold the lock"
	case holders == 1 && len(records) != 1:
		return fmt.Sprintf("one holds the lock, and the records are %v", records)
	case holders == 0 && len(records) > 0 && !slices.Contains(kinds[:], palee):
		return fmt.Sprintf("nobody holds the lock, and there is %v", records)
	}
	for _, name := range t.names("/w") {
		if name != "a.lockdir" {
			return name + " was left"
		}
	}
	return ""
}
