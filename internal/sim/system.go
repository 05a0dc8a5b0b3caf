package sim

import (
	"context"
	"math"
	"time"

	"github.com/seed-c461eb89/nodelock/internal/clock"
	"github.com/seed-c461eb89/nodelock/internal/exithook"
	"github.com/seed-c461eb89/nodelock/internal/filesystem"
	"github.com/seed-c461eb89/nodelock/internal/nodetime"
	"github.com/seed-c461eb89/nodelock/internal/watch"
)

// A System is all that an engine sees of its system: a filesystem, a clock, a machine and
// an exit hook. Do answers its calls.
type System struct{ Do Do }

// Now, Wait and AfterFunc are those of [clock.Clock].
func (s System) Now() time.Time { return time.Unix(0, s.Do(Call{Op: Now}).N) }

func (s System) Wait(ctx context.Context, d time.Duration) error {
	_, err := s.wait(ctx, Call{Op: Wait}, d)
	return err
}

func (s System) wait(ctx context.Context, c Call, d time.Duration) (Answer, error) {
	if ctx.Err() != nil {
		return Answer{}, context.Cause(ctx)
	}
	c.N, c.With = int64(nodetime.Delay(d)), ctx
	a, err := s.do(c)
	if ctx.Err() != nil {
		return Answer{}, context.Cause(ctx)
	}
	return a, err
}

func (s System) AfterFunc(d time.Duration, f func()) clock.Timer {
	t := &Timer{system: s, f: f}
	t.Reset(d)
	return t
}

// A Timer is what AfterFunc returns.
type Timer struct {
	system System
	f      func()
	armed  bool
}

// Stop implements [clock.Timer].
func (t *Timer) Stop() bool {
	armed := t.armed
	if t.armed = false; armed {
		t.system.Do(Call{Op: StopTimer, With: t})
	}
	return armed
}

// Reset implements [clock.Timer].
func (t *Timer) Reset(d time.Duration) {
	t.armed = true
	t.system.Do(Call{Op: SetTimer, N: int64(nodetime.Delay(d)), With: t})
}

// Armed reports whether the timer is to run out.
func (t *Timer) Armed() bool { return t.armed }

// RunOut returns what is to be called now that the timer has run out.
func (t *Timer) RunOut() func() {
	t.armed = false
	return t.f
}

// Watch is that of [watch.Watcher].
func (s System) Watch(path string) (watch.Watch, error) {
	h, err := s.open(Watch, path)
	if err != nil {
		return nil, err
	}
	return watched{s, h}, nil
}

type watched struct {
	system System
	handle filesystem.Handle
}

func (w watched) Await(ctx context.Context, d time.Duration) (bool, error) {
	a, err := w.system.wait(ctx, Call{Op: Await, Handle: w.handle}, d)
	return a.N != 0, err
}

func (w watched) Close() { _ = w.system.try(Call{Op: Unwatch, Handle: w.handle}) }

// What follows is a machine to lockdir.

func (s System) Hostname() (string, error) { return s.Do(Call{Op: Hostname}).Data, nil }
func (s System) Pid() int                  { return int(s.Do(Call{Op: Pid}).N) }
func (s System) Kill(pid int) error        { return s.try(Call{Op: Kill, N: int64(pid)}) }
func (s System) Random(p []byte)           { copy(p, s.Do(Call{Op: Random, N: int64(len(p))}).Data) }
func (s System) Fraction() float64         { return math.Float64frombits(uint64(s.Do(Call{Op: Fraction}).N)) }

// Begin, TryBegin and End are those of [exithook.Registry].
func (s System) Begin(c exithook.Cleaner) { s.Do(Call{Op: Begin, With: c}) }
func (s System) TryBegin(c exithook.Cleaner) bool {
	return s.Do(Call{Op: TryBegin, With: c}).Code == ""
}
func (s System) End() { s.Do(Call{Op: End}) }
