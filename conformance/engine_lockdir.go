package conformance

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-c461eb89/nodelock/internal/lockdir"
)

type lockdirProgram struct {
	world   *World
	engine  *lockdir.Engine
	options []lockdir.Options // of the steps
	leases  map[int]*lockdir.Lease
}

func newLockdir(s *Scenario, w *World) (Program, error) {
	platform := lockdir.POSIX()
	if s.Machine.Platform == "win32" {
		platform = lockdir.Windows()
	}
	p := &lockdirProgram{
		world:  w,
		engine: lockdir.New(w.system, w.system, w.system, platform, w.system),
		leases: map[int]*lockdir.Lease{},
	}
	for _, step := range s.Steps {
		o, err := lockdirOptions(step)
		if err != nil {
			return nil, err
		}
		p.options = append(p.options, o)
	}
	return p, nil
}

func lockdirOptions(step Step) (o lockdir.Options, err error) {
	durations := map[string]*time.Duration{
		"heartbeat": &o.Heartbeat, "stale": &o.Stale, "incoming": &o.Incoming, "backoff": &o.Backoff,
		"backoffLimit": &o.BackoffLimit, "putBack": &o.PutBack, "waitLimit": &o.WaitLimit,
	}
	counts := map[string]*int{"retries": &o.Retries, "removeRetries": &o.RemoveRetries, "rounds": &o.Rounds}
	for name, value := range step.Options {
		if name == "hostname" {
			var ok bool
			if o.Hostname, ok = value.(string); !ok {
				return o, fmt.Errorf("steps[%d]: options: hostname must be a string", step.Index)
			}
			continue
		}
		if count := counts[name]; count != nil {
			*count, err = whole(step, name)
		} else {
			*durations[name], err = milliseconds(step, name)
		}
		if err != nil {
			return o, err
		}
	}
	return o, nil
}

func (p *lockdirProgram) Call(step Step) (outcome Outcome) {
	switch step.Call {
	case "acquire", "acquireWait":
		outcome.Err = p.acquire(step)
	case "verify":
		if p.leases[*step.Of] == nil {
			outcome.Err = ErrNoRelease
			break
		}
		outcome.Err = p.leases[*step.Of].Verify(context.Background())
	case "release":
		outcome.Err = p.leases[*step.Of].Release()
	}
	return outcome
}

func (p *lockdirProgram) acquire(step Step) error {
	var lock *lockdir.Lock
	var err error
	if step.Vault != "" {
		lock, err = p.engine.Vault(step.Vault, step.Path, p.options[step.Index])
	} else {
		lock, err = p.engine.Directory(step.Dir, step.Path, p.options[step.Index])
	}
	if err != nil {
		return err
	}
	acquire := lock.Acquire
	if step.Call == "acquireWait" {
		acquire = lock.AcquireWait
	}
	lease, err := acquire(context.Background())
	if err != nil {
		return err
	}
	lease.Watch(func(err error) { p.world.Compromised(step.Index, err) })
	p.leases[step.Index] = lease
	return nil
}

// Exit does nothing: the protocol leaves the record to those who find that its process
// is gone.
func (p *lockdirProgram) Exit() {}
