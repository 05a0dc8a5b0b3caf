package conformance

import (
	"fmt"
	"math"
	"time"
)

// Observe runs a scenario with this module's own engine for its API.
func Observe(s *Scenario) (*Recording, error) {
	start, ok := programs[s.API]
	if !ok {
		return nil, fmt.Errorf("no engine for %s", s.API)
	}
	recording, err := Run(s, func(w *World) (Program, error) {
		return start(s, w)
	})
	if err != nil {
		return nil, err
	}
	recording.RecordedWith = map[string]string{"package": "github.com/seed-c461eb89/nodelock"}
	return recording, nil
}

var programs = map[string]func(*Scenario, *World) (Program, error){
	"lockfile":        newLockfile,
	"proper-lockfile": newProperLockfile,
	"lockdir":         newLockdir,
}

// number returns an option that is to be a number; absent, null and false are 0, as
// they are to the packages.
func number(step Step, name string) (float64, error) {
	switch v := step.Options[name].(type) {
	case nil:
		return 0, nil
	case float64:
		return v, nil
	case bool:
		if !v {
			return 0, nil
		}
	}
	return 0, fmt.Errorf("steps[%d]: options: %s must be a number", step.Index, name)
}

// milliseconds returns an option that is a number of them, as far as a Duration goes.
func milliseconds(step Step, name string) (time.Duration, error) {
	ms, err := number(step, name)
	return duration(ms), err
}

// whole returns an option that is to be a whole number.
func whole(step Step, name string) (int, error) {
	n, err := number(step, name)
	if err == nil && (n != math.Trunc(n) || math.Abs(n) > math.MaxInt32) {
		err = fmt.Errorf("steps[%d]: options: %s must be a whole number of moderate size", step.Index, name)
	}
	return int(n), err
}

// duration converts milliseconds, as far as a Duration goes.
func duration(ms float64) time.Duration {
	switch ns := ms * 1e6; {
	case ns >= math.MaxInt64:
		return math.MaxInt64
	case ns <= math.MinInt64:
		return math.MinInt64
	default:
		return time.Duration(math.Round(ns))
	}
}
