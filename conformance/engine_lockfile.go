package conformance

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/seed-c461eb89/nodelock/internal/lockfile"
)

type lockfileProgram struct {
	engine *lockfile.Engine
	// options are the options objects of the steps, made before anything runs so that
	// a scenario that cannot be run says so at once.
	options []*lockfileOptions
}

// lockfileOptions is an options object: as the scenario has it, and as the engine
// does.
type lockfileOptions struct {
	object map[string]any
	engine lockfile.Options
}

func newLockfile(s *Scenario, w *World) (Program, error) {
	filetime := lockfile.Ctime
	if s.Filetime == "mtime" {
		filetime = lockfile.Mtime
	}
	p := &lockfileProgram{engine: lockfile.New(w.system, w.system, w.system, filetime)}
	shared := map[string]*lockfileOptions{}
	for _, step := range s.Steps {
		o := shared[step.OptionsID]
		if o == nil {
			var err error
			if o, err = newLockfileOptions(step); err != nil {
				return nil, err
			}
			if step.OptionsID != "" {
				shared[step.OptionsID] = o
			}
		}
		p.options = append(p.options, o)
	}
	return p, nil
}

func newLockfileOptions(step Step) (*lockfileOptions, error) {
	o := &lockfileOptions{object: maps.Clone(step.Options)}
	var err error
	for name, field := range map[string]*time.Duration{
		"wait": &o.engine.Wait, "pollPeriod": &o.engine.PollPeriod,
		"stale": &o.engine.Stale, "retryWait": &o.engine.RetryWait,
	} {
		if *field, err = milliseconds(step, name); err != nil {
			return nil, err
		}
	}
	if o.engine.Retries, err = whole(step, "retries"); err != nil {
		return nil, err
	}
	return o, nil
}

// after returns the object as a call has left it.
func (o *lockfileOptions) after(async bool) map[string]any {
	if o.object == nil {
		return nil
	}
	if before, ok := o.object["retries"].(float64); ok && before != float64(o.engine.Retries) {
		o.object["retries"] = float64(o.engine.Retries)
	}
	if before, ok := o.object["stale"].(float64); ok && duration(before) != o.engine.Stale {
		if async {
			o.object["stale"] = false // L9
		} else {
			o.object["stale"] = float64(o.engine.Stale.Milliseconds()) // L20
		}
	}
	return maps.Clone(o.object)
}

func (p *lockfileProgram) Call(step Step) Outcome {
	options := p.options[step.Index]
	o := &options.engine
	var outcome Outcome
	switch step.Call {
	case "lock":
		_, outcome.Err = p.engine.Lock(context.Background(), step.Path, o)
	case "lockSync":
		_, outcome.Err = p.engine.LockSync(step.Path, o)
	case "unlock":
		outcome.Err = p.engine.Unlock(step.Path)
	case "unlockSync":
		p.engine.UnlockSync(step.Path)
	case "check":
		locked, err := p.engine.Check(step.Path, o)
		// A callback gets the answer and the error of close together.
		if outcome.Err = err; err == nil || closeFailed(err) {
			outcome.Locked = &locked
		}
	case "checkSync":
		locked, err := p.engine.CheckSync(step.Path, o)
		if outcome.Err = err; err == nil {
			outcome.Locked = &locked
		}
	}
	outcome.OptionsAfter = options.after(step.Call == "lock")
	return outcome
}

func closeFailed(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Syscall == "close"
}

func (p *lockfileProgram) Exit() { p.engine.Clean(context.Background()) }
