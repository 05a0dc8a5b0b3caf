package explore

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-c461eb89/nodelock/internal/filesystem"
	"github.com/seed-c461eb89/nodelock/internal/nodetime"
	"github.com/seed-c461eb89/nodelock/internal/sim"
)

// Transcript plays a schedule and writes down what happens, one line for each step: when,
// in milliseconds from the beginning, who, and what. The participants' lines are
// indented, each by another width.
func (c *Config) Transcript(schedule string) (string, error) {
	moves, err := parseMoves(schedule)
	if err != nil {
		return "", err
	}
	w := newWorld(c)
	defer w.close()
	var b strings.Builder
	for i, p := range c.Participants {
		fmt.Fprintf(&b, "%s is %s\n", name(i), p.Kind)
	}
	for _, l := range c.Left {
		fmt.Fprintf(&b, "%s was left %d ms ago; the threshold is %d ms\n", l.Path, l.Age.Milliseconds(), c.Stale.Milliseconds())
	}
	b.WriteByte('\n')
	var s, scratch state
	s.copyFrom(&w.initial)
	line := func(who int, text string) {
		at := fmt.Sprintf("%6d ms", s.now-epoch)
		if who < 0 {
			fmt.Fprintf(&b, "%s  %s\n", at, text)
			return
		}
		fmt.Fprintf(&b, "%s  %*s%s  %s\n", at, 4*who, "", name(who), text)
	}
	var told [invariants]bool
	tell := func(found violations, text string) {
		for i := range invariants {
			if found.has(i) && !told[i] {
				line(-1, "violated: "+i.String()+text)
				told[i] = true
			}
		}
	}
	for n, m := range moves {
		if !slices.Contains(w.moves(&s, nil), m) {
			return b.String(), fmt.Errorf("explore: step %d of the schedule, %q, is not possible", n+1, m.String())
		}
		var what action
		found := w.play(&s, m, &what)
		switch who := int(m.who); m.kind {
		case moveTask:
			line(who, describe(&what.call, &what.answer, s.now))
		case moveTimer:
			line(who, "timer")
		case moveCrash:
			line(who, "is killed")
		case movePause:
			line(who, "is stopped")
		case moveResume:
			line(who, "goes on")
		case moveTime:
			line(-1, "time passes")
		}
		for _, note := range what.notes {
			line(int(m.who), "   "+note)
		}
		tell(found, "")
	}
	if done, _ := w.over(&s, w.moves(&s, nil)); done {
		if left := w.stranded(&s, &scratch); left != "" {
			tell(strandedViolation, ": "+left)
		}
	}
	return b.String(), w.err()
}

// describe writes down a call and what came of it.
func describe(c *sim.Call, a *sim.Answer, now int64) string {
	var b strings.Builder
	b.WriteString(c.Op.Name())
	switch c.Op.Paths() {
	case 2:
		b.WriteString(" " + shown(c.Path) + " -> " + shown(c.Dest))
	case 1:
		if c.Path != "" {
			b.WriteString(" " + shown(c.Path))
		}
	}
	if c.Op.OnHandle() || c.Op == sim.Watch && c.Path == "" {
		fmt.Fprintf(&b, " #%d", c.Handle)
	}
	switch c.Op {
	case sim.Wait:
		fmt.Fprintf(&b, " %d ms: over", c.N/1e6)
		return b.String()
	case sim.Await:
		what := "over"
		if a.N != 0 {
			what = "woken"
		}
		fmt.Fprintf(&b, " %d ms: %s", c.N/1e6, what)
		return b.String()
	case sim.Utimes:
		b.WriteString(" to " + ago(c.N, now))
	case sim.Futimes:
		b.WriteString(" to " + ago(milliseconds(c.N), now))
		if c.Atime != c.N {
			b.WriteString(", with a note")
		}
	}
	switch {
	case a.Code != "":
		b.WriteString(": " + a.Code)
	case a.Handle != 0:
		fmt.Fprintf(&b, ": #%d", a.Handle)
	case a.Type != filesystem.Other:
		fmt.Fprintf(&b, ": modified %s, changed %s",
			ago(milliseconds(a.Mtime), now), ago(milliseconds(a.Ctime), now))
	default:
		b.WriteString(": ok")
	}
	return b.String()
}

func milliseconds(ns int64) int64 { return nodetime.Milliseconds(time.Unix(0, ns)) }

func ago(ms, now int64) string {
	switch {
	case ms == now:
		return "now"
	case ms < now:
		return fmt.Sprintf("%d ms ago", now-ms)
	}
	return fmt.Sprintf("%d ms ahead", ms-now)
}

func shown(path string) string {
	if path == "/" {
		return path
	}
	return strings.TrimPrefix(path, "/")
}
