package explore

import (
	"math/bits"

	"github.com/seed-c461eb89/nodelock/internal/sim"
)

// maxParticipants includes the one who comes when all is over.
const maxParticipants = 10

// A state is all that matters to the future.
type state struct {
	files sim.Tree
	// now is in milliseconds since 1970.
	now int64
	// The first count of the parts are there.
	parts   [maxParticipants]part
	count   int
	crashes int8 // that can still happen
	pauses  int8
}

// A part is the state of a participant.
type part struct {
	history *history
	// waits and timers are when the waits of tasks and the timers are over, and 0 for
	// those that are not set.
	waits  [maxTasks]int64
	timers [maxTimers]int64
	// pausedAt is when the pause began that it is in, or 0.
	pausedAt int64
	crashed  bool
	// late says that its lock has become older than the threshold.
	late bool
	// present says that it takes part.
	present bool
}

func (s *state) copyFrom(o *state) {
	s.files.CopyFrom(&o.files)
	s.now, s.count, s.crashes, s.pauses = o.now, o.count, o.crashes, o.pauses
	copy(s.parts[:o.count], o.parts[:o.count])
}

// active reports whether the participant may do something, now or later.
func (p *part) active() bool { return p.present && !p.crashed && !p.history.ended }

// A sum is a hash of 128 bits.
type sum struct{ a, b uint64 }

// add adds an element to the hash of a set. The order of elements does not matter.
func (s *sum) add(x, y, z, w uint64) {
	a := mix(x^0x9e3779b97f4a7c15, y^0xbf58476d1ce4e5b9)
	a = mix(a^z, 0x94d049bb133111eb^w)
	b := mix(x^0xd6e8feb86659fd93, y^0xa0761d6478bd642f)
	b = mix(b^w, 0xe7037ed1a0b428db^z)
	s.a += mix(a^0x8ebc6af09c88c6e3, b)
	s.b += mix(b^0x589965cc75374cc3, a)
}

func mix(x, y uint64) uint64 {
	hi, lo := bits.Mul64(x, y)
	return hi ^ lo ^ x<<32 ^ y>>7
}

func hashString(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := 0; i < len(s); i++ {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

// What the elements of a state's hash are, so that no two kinds are taken for each other.
const (
	tagClock = (iota + 1) << 56
	tagPart
	tagWait
	tagTimer
	tagNode
	tagNodeAtime
	tagNodeData
	tagEntry
	tagHandle
)

// hash returns the hash of all there is in the state. Files are told apart by who made
// them, and as the how manieth of his: that does not depend on what the others did
// meanwhile, and is the same in all schedules that lead to the same state.
func (s *state) hash() sum {
	var h sum
	h.add(tagClock, uint64(s.now), uint64(s.crashes), uint64(s.pauses))
	for i := range s.parts[:s.count] {
		p := &s.parts[i]
		if !p.present {
			continue
		}
		flags := uint64(0)
		switch {
		case p.crashed:
			// What has happened to it does not matter any more.
			h.add(tagPart|uint64(i), 1, 0, 0)
			continue
		case p.history.ended:
			h.add(tagPart|uint64(i), 2, 0, 0)
			continue
		}
		if p.late {
			flags |= 2
		}
		h.add(tagPart|uint64(i), uint64(p.history.id)<<8|flags, uint64(p.pausedAt), 0)
		for j, due := range p.waits {
			if due != 0 {
				h.add(tagWait|uint64(i), uint64(j), uint64(due), 0)
			}
		}
		for j, due := range p.timers {
			if due != 0 {
				h.add(tagTimer|uint64(i), uint64(j), uint64(due), 0)
			}
		}
	}
	f := &s.files
	for i := range f.Nodes {
		n := &f.Nodes[i]
		if n.Used {
			h.add(tagNode|uint64(n.ID)<<16|uint64(i)<<8|uint64(n.Kind), uint64(n.Nlink)<<32|uint64(n.Locked), uint64(n.Mtime), uint64(n.Ctime))
			h.add(tagNodeAtime|uint64(i), uint64(n.Atime), 0, 0)
			if n.Data != "" {
				h.add(tagNodeData|uint64(i), hashString(n.Data), 0, 0)
			}
		}
	}
	for i := range f.Entries {
		e := &f.Entries[i]
		h.add(tagEntry|uint64(e.By), uint64(e.Dir)<<32|uint64(e.Node), hashString(e.Name), 0)
	}
	for i := range f.Handles {
		o := &f.Handles[i]
		fired := uint64(0)
		if o.Fired {
			fired = 1 << 32
		}
		h.add(tagHandle, uint64(o.Number), uint64(o.Node), uint64(o.At)|fired)
	}
	return h
}

// A table maps the hashes of states to a number each.
type table struct {
	places []place
	count  int
}

type place struct {
	key   sum
	value float64
}

// find returns the place of a key, which has another key if it is not there.
func (t *table) find(key sum) *place {
	if t.count*4 >= len(t.places)*3 {
		t.grow()
	}
	mask := len(t.places) - 1
	for i := int(key.a) & mask; ; i = (i + 1) & mask {
		if p := &t.places[i]; p.key == key || p.key == (sum{}) {
			return p
		}
	}
}

// insert enters a key that is not there.
func (t *table) insert(key sum, value float64) {
	*t.find(key) = place{key, value}
	t.count++
}

func (t *table) grow() {
	old := t.places
	t.places, t.count = make([]place, max(1<<12, 4*len(old))), 0
	for _, p := range old {
		if p.key != (sum{}) {
			t.insert(p.key, p.value)
		}
	}
}
