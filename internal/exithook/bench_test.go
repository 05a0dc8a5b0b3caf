package exithook

import "testing"

type nothing struct{ _ byte }

func (*nothing) Clean() {}

func TestNoAllocation(t *testing.T) {
	engine, other := &nothing{}, &nothing{}
	Process.Add(other)
	Process.Remove(other)
	if n := testing.AllocsPerRun(1000, func() { Process.Add(engine); Process.Remove(engine) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// A lock and unlock in a loop.
func BenchmarkAddRemove(b *testing.B) {
	engine := &nothing{}
	b.ReportAllocs()
	for b.Loop() {
		Process.Add(engine)
		Process.Remove(engine)
	}
}

// While another engine has a lock.
func BenchmarkAddRemoveAmongOthers(b *testing.B) {
	engine, other := &nothing{}, &nothing{}
	Process.Add(other)
	defer Process.Remove(other)
	b.ReportAllocs()
	for b.Loop() {
		Process.Add(engine)
		Process.Remove(engine)
	}
}

func BenchmarkAddRemoveParallel(b *testing.B) {
	b.RunParallel(func(p *testing.PB) {
		engine := &nothing{}
		for p.Next() {
			Process.Add(engine)
			Process.Remove(engine)
		}
	})
}

// What the first lock after a while pays, and the timer after the last.
func BenchmarkInstallUninstall(b *testing.B) {
	var h Hook
	for b.Loop() {
		h.install()
		h.uninstall()
	}
}
