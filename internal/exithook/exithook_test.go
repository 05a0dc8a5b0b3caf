package exithook

import (
	"context"
	"testing"
	"time"
)

// nothing is a Cleaner without anything to clean.
type nothing struct{ _ byte }

func (*nothing) Clean(context.Context) {}

func TestNoAllocation(t *testing.T) {
	var h Hook
	c := &nothing{}
	h.Begin(c)
	h.End()
	if n := testing.AllocsPerRun(1000, func() { h.Begin(c); h.End() }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

type hanging struct{ ended chan error }

func (h hanging) Clean(ctx context.Context) {
	<-ctx.Done()
	h.ended <- context.Cause(ctx)
	select {}
}

// A clean-up by the program has the same bound, and its Cleaners are told when it is over.
func TestCleanIsBounded(t *testing.T) {
	h := hanging{make(chan error, 1)}
	began := time.Now()
	Clean(&nothing{}, h)
	if took := time.Since(began); took < patience {
		t.Errorf("it was given up after %v", took)
	}
	if err := <-h.ended; err != context.DeadlineExceeded {
		t.Error(err)
	}
}

func BenchmarkBeginEnd(b *testing.B) {
	var h Hook
	c := &nothing{}
	b.ReportAllocs()
	for b.Loop() {
		h.Begin(c)
		h.End()
	}
}

func BenchmarkBeginEndParallel(b *testing.B) {
	var h Hook
	b.RunParallel(func(p *testing.PB) {
		c := &nothing{}
		for p.Next() {
			h.Begin(c)
			h.End()
		}
	})
}
