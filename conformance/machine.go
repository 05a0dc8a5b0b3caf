package conformance

import (
	"encoding/binary"
	"maps"
	"math"
	"strconv"

	"github.com/seed-c461eb89/nodelock/internal/sim"
)

// A machine is the state of what [Machine] describes.
type machine struct {
	*Machine
	processes map[string]string
	drawn     uint64 // random numbers
	fractions int
}

func newMachine(m *Machine) machine {
	if m == nil {
		m = &Machine{Random: []float64{defaultFraction}} // nobody should ask for it
	}
	return machine{Machine: m, processes: maps.Clone(m.Processes)}
}

func (m *machine) do(c *sim.Call) (a sim.Answer) {
	switch c.Op {
	case sim.Hostname:
		a.Data = m.Hostname
	case sim.Pid:
		a.N = int64(m.Pid)
	case sim.Random:
		// A number that is one greater each time, from 1.
		m.drawn++
		p := make([]byte, max(int(c.N), 8))
		binary.BigEndian.PutUint64(p[len(p)-8:], m.drawn)
		a.Data = string(p[len(p)-int(c.N):])
	case sim.Fraction:
		a.N = int64(math.Float64bits(m.Machine.Random[min(m.fractions, len(m.Machine.Random)-1)]))
		m.fractions++
	case sim.Kill:
		switch state := m.processes[strconv.FormatInt(c.N, 10)]; {
		case c.N == int64(m.Pid) || state == "running":
		case state == "foreign":
			a.Code = "EPERM"
		default:
			a.Code = "ESRCH"
		}
	}
	return a
}
