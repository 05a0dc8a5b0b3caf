package explore

import "strings"

// limits says how far the table has been looked into.
const limits = `
Every order of the calls and timers of two participants was tried. In the first two
situations one of them may be killed, at any point. In the third one is stopped instead,
until any moment at which something else is due, but for no longer than 1.5 s beyond the
threshold. Waits take 200 ms or more, all see one clock, which is not set, and no call fails
without a reason. The Mutexes take a stale lock over at once: that they first watch it
(Doubt) was tried among themselves alone.
`

// Protection returns a table in Markdown that says whose lock is safe from whom: for each
// pair of participants in each protocol what the other does to a lock in some schedule.
// README.md has it.
func Protection() (string, error) {
	var b strings.Builder
	b.WriteString("| the lock of | beside | the path is free | both find a stale lock | one is stopped once, at any point | left on disk |\n")
	b.WriteString("|---|---|---|---|---|---|\n")
	for i := range protocols {
		p := &protocols[i]
		members := append([]member{{p.lock(nil), p.try(nil)}}, nodeMembers(p)...)
		for _, one := range members {
			for _, other := range members {
				row, err := p.row(one, other)
				if err != nil {
					return "", err
				}
				b.WriteString(row)
			}
		}
	}
	b.WriteString(limits)
	return b.String(), nil
}

// A member is a participant that waits for the lock if it can, and one that does not.
type member struct{ lock, try Participant }

func nodeMembers(p *protocol) []member {
	var list []member
	for _, node := range p.node {
		list = append(list, member{node.Participant, node.Participant})
	}
	return list
}

// row says what becomes of the lock of one.
func (p *protocol) row(one, other member) (string, error) {
	cells := []string{p.label(one.lock.Kind), p.label(other.lock.Kind)}
	var left bool
	for _, situations := range [][]Config{
		{p.configuration("free", one.lock, other.lock).stops(1, 0)},
		{p.configuration("stale", one.try, other.try).stale().stops(1, 0)},
		{
			p.configuration("slept", one.lock, other.lock.later()).stops(0, 1),
			// The victim comes second.
			p.configuration("sleeper", other.lock, one.lock.later()).stops(0, 1),
			p.configuration("slept-stale", one.try, other.try).stale().stops(0, 1),
		},
	} {
		var harm [invariants]bool
		for _, c := range situations {
			c.Next = p.lock(nil)
			victim := 0
			if c.Name == "sleeper" {
				victim = 1
			}
			tally, err := c.tally()
			if err != nil {
				return "", err
			}
			for i := range invariants {
				harm[i] = harm[i] || tally.victims[i]&(1<<victim) != 0
			}
			left = left || tally.steps[NothingStranded] > 0
		}
		cells = append(cells, harmed(harm))
	}
	if left {
		cells = append(cells, "a lock or a side file")
	} else {
		cells = append(cells, "nothing")
	}
	return "| " + strings.Join(cells, " | ") + " |\n", nil
}

func harmed(harm [invariants]bool) string {
	var list []string
	if harm[SingleWinner] {
		list = append(list, "two owners")
	}
	if harm[LiveLocksAreSafe] || harm[ReleaseSparesOthers] {
		list = append(list, "removed or touched")
	}
	if harm[NoFalseOwner] {
		list = append(list, "lost unnoticed")
	}
	if list == nil {
		return "**safe**"
	}
	return strings.Join(list, ", ")
}

// label names a participant.
func (p *protocol) label(kind string) string {
	if kind != "Mutex" {
		return kind
	}
	if p.name == "lockfile" {
		return "`lockfile.Mutex`"
	}
	return "`properlockfile.Mutex`"
}

// tally explores a configuration for what is violated, and not how.
func (c *Config) tally() (*tally, error) {
	w := newWorld(c)
	defer w.close()
	return w.visit(&Result{Config: c})
}
