package conformance

import (
	"context"
	"fmt"
	"math"

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
	for name, value := range step.Options {
		if name == "hostname" {
			var ok bool
			if o.Hostname, ok = value.(string); !ok {
				return o, fmt.Errorf("steps[%d]: options: hostname must be a string", step.Index)
			}
			continue
		}
		n, err := number(step, name)
		if err != nil {
			return o, err
		}
		switch name {
		case "retries", "removeRetries", "rounds":
			if n != math.Trunc(n) || math.Abs(n) > math.MaxInt32 {
				return o, fmt.Errorf("steps[%d]: options: %s must be a whole number of moderate size", step.Index, name)
			}
		}
		switch name {
		case "heartbeat":
			o.Heartbeat = duration(n)
		case "stale":
			o.Stale = duration(n)
		case "incoming":
			o.Incoming = duration(n)
		case "retries":
			o.Retries = int(n)
		case "removeRetries":
			o.RemoveRetries = int(n)
		case "rounds":
			o.Rounds = int(n)
		case "backoff":
			o.Backoff = duration(n)
		case "backoffLimit":
			o.BackoffLimit = duration(n)
		case "putBack":
			o.PutBack = duration(n)
		case "waitLimit":
			o.WaitLimit = duration(n)
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
