package conformance

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"math"
	"path"
	"time"

	"github.com/seed-c461eb89/nodelock/internal/filesystem"
	"github.com/seed-c461eb89/nodelock/internal/nodetime"
	"github.com/seed-c461eb89/nodelock/internal/properlockfile"
	"github.com/seed-c461eb89/nodelock/internal/retry"
	"github.com/seed-c461eb89/nodelock/internal/sim"
)

type properLockfileProgram struct {
	engine  *properlockfile.Engine
	options []properlockfile.Options // of the steps
	leases  map[int]*properlockfile.Lease
}

func newProperLockfile(s *Scenario, w *World) (Program, error) {
	p := &properLockfileProgram{
		engine: properlockfile.New(w.system, w.system, w.system),
		leases: map[int]*properlockfile.Lease{},
	}
	shared := map[string]*ownFS{}
	for _, step := range s.Steps {
		o, err := properLockfileOptions(step)
		if err != nil {
			return nil, err
		}
		if step.Options["fs"] != nil {
			own := shared[step.OptionsID]
			if own == nil {
				own = &ownFS{w.system}
			}
			if step.OptionsID != "" {
				shared[step.OptionsID] = own
			}
			o.FS = own
		}
		if s.Version == "1.2.0" {
			o.Contract = properlockfile.V1
		}
		o.OnCompromised = func(err error) { w.Compromised(step.Index, err) }
		p.options = append(p.options, o)
	}
	return p, nil
}

// properLockfileOptions reads an options object. Node tells 0 from an option that is not
// given; where 0 means the latter here, the least number stands for it, which has the
// same effect.
func properLockfileOptions(step Step) (o properlockfile.Options, err error) {
	for name, value := range step.Options {
		switch name {
		case "stale":
			o.Stale, err = given(step, name)
		case "update":
			if value != nil {
				o.Update, err = given(step, name)
			}
		case "realpath":
			o.NoRealpath = value == false || value == nil || value == 0.0
		case "lockfilePath":
			path, ok := value.(string)
			if !ok && value != nil {
				err = fmt.Errorf("steps[%d]: options: lockfilePath must be a string", step.Index)
			}
			o.LockfilePath = path
		case "fs":
			if value != "own" {
				err = fmt.Errorf("steps[%d]: options: fs can only be \"own\"", step.Index)
			}
		case "retries":
			if schedule, ok := value.(map[string]any); ok {
				o.Retries, err = properLockfileRetries(step, schedule)
			} else {
				o.Retries.Count, err = whole(step, name)
			}
		}
		if err != nil {
			return o, err
		}
	}
	return o, nil
}

// given returns a duration that is not 0.
func given(step Step, name string) (time.Duration, error) {
	d, err := milliseconds(step, name)
	return cmp.Or(d, -1), err
}

func properLockfileRetries(step Step, schedule map[string]any) (o retry.Options, err error) {
	o.Count = 10
	step.Options = schedule
	for name, value := range schedule {
		switch name {
		case "randomize", "forever":
			set, ok := value.(bool)
			if !ok {
				err = fmt.Errorf("steps[%d]: options: retries: %s must be true or false", step.Index, name)
			} else if name == "randomize" {
				o.Randomize = set
			} else {
				o.Forever = set
			}
		case "retries":
			o.Count, err = whole(step, name)
			o.Count = cmp.Or(o.Count, -1)
		case "factor":
			o.Factor, err = number(step, name)
			o.Factor = cmp.Or(o.Factor, math.SmallestNonzeroFloat64)
		case "minTimeout":
			o.MinTimeout, err = given(step, name)
		case "maxTimeout":
			o.MaxTimeout, err = given(step, name)
		case "maxRetryTime":
			o.MaxRetryTime, err = milliseconds(step, name)
		default:
			err = fmt.Errorf("steps[%d]: options: retries: there is no %q", step.Index, name)
		}
		if err != nil {
			return o, err
		}
	}
	return o, nil
}

func (p *properLockfileProgram) Call(step Step) (outcome Outcome) {
	o := &p.options[step.Index]
	locked := func(held bool, err error) {
		if outcome.Err = err; err == nil {
			outcome.Locked = &held
		}
	}
	switch step.Call {
	case "lock":
		p.leases[step.Index], outcome.Err = p.engine.Lock(context.Background(), step.Path, o)
	case "lockSync":
		p.leases[step.Index], outcome.Err = p.engine.LockSync(step.Path, o)
	case "unlock":
		outcome.Err = p.engine.NodeUnlock(step.Path, o)
	case "unlockSync":
		outcome.Err = p.engine.NodeUnlockSync(step.Path, o)
	case "check":
		locked(p.engine.Check(step.Path, o))
	case "checkSync":
		locked(p.engine.CheckSync(step.Path, o))
	case "release":
		outcome.Err = p.leases[*step.Of].NodeRelease()
	}
	return outcome
}

func (p *properLockfileProgram) Exit() { p.engine.Clean(context.Background()) }

// An ownFS is an fs object of the caller's: the world, in the shape that Go callers give
// to a filesystem.
type ownFS struct{ system sim.System }

func (f *ownFS) Mkdir(name string, _ fs.FileMode) error { return f.system.Mkdir(name) }
func (f *ownFS) Rmdir(name string) error                { return f.system.Rmdir(name) }
func (f *ownFS) Realpath(name string) (string, error)   { return f.system.Realpath(name) }
func (f *ownFS) Utimes(name string, _, mtime time.Time) error {
	return f.system.Utimes(name, nodetime.Milliseconds(mtime))
}

func (f *ownFS) Stat(name string) (fs.FileInfo, error) {
	stat, err := f.system.Stat(name)
	if err != nil {
		return nil, err
	}
	return fileInfo{name, stat}, nil
}

type fileInfo struct {
	name string
	stat filesystem.Stat
}

func (i fileInfo) Name() string       { return path.Base(i.name) }
func (i fileInfo) Size() int64        { return 0 }
func (i fileInfo) Mode() fs.FileMode  { return fs.ModeDir }
func (i fileInfo) ModTime() time.Time { return i.stat.ModTime }
func (i fileInfo) IsDir() bool        { return true }
func (i fileInfo) Sys() any           { return nil }
