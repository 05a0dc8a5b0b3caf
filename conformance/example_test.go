package conformance_test

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/seed-c461eb89/nodelock/conformance"
	"github.com/seed-c461eb89/nodelock/testdata"
)

// mine is an implementation of the lockfile protocol that does not know of waiting. Its
// files are those of the virtual world.
type mine struct{ world *conformance.World }

func (m mine) open(path, mode string) error {
	a, err := m.world.Do(conformance.Call{Sys: "open", Path: path, Mode: mode})
	if err == nil {
		_, err = m.world.Do(conformance.Call{Sys: "close", FD: a.FD})
	}
	return err
}

// Call makes a step's call.
func (m mine) Call(step conformance.Step) (outcome conformance.Outcome) {
	switch step.Call {
	case "lock":
		outcome.Err = m.open(step.Path, "wx")
	case "check":
		locked := m.open(step.Path, "r") == nil
		outcome.Locked = &locked
	case "unlock":
		_, err := m.world.Do(conformance.Call{Sys: "unlink", Path: step.Path})
		if !errors.Is(err, fs.ErrNotExist) {
			outcome.Err = err
		}
	}
	outcome.OptionsAfter = step.Options
	return outcome
}

// Exit runs the exit hook: there is none.
func (mine) Exit() {}

// An implementation is held to what Node did, call by call.
func Example() {
	data, err := testdata.Recordings.ReadFile("lockfile/basics.json")
	if err != nil {
		panic(err)
	}
	entries, err := conformance.ReadEntries(data)
	if err != nil {
		panic(err)
	}
	for _, i := range []int{0, 2} {
		entry := entries[i]
		got, err := conformance.Run(entry.Scenario, func(w *conformance.World) (conformance.Program, error) {
			return mine{w}, nil
		})
		if err != nil {
			panic(err)
		}
		fmt.Printf("%s: ", entry.Scenario.Name)
		if d := conformance.Compare(entry.Recording, got); d != nil {
			fmt.Print(d)
		} else {
			fmt.Println("as Node")
		}
	}
	// Output:
	// lock, check, contend, unlock, unlock again: as Node
	// wait 80 with poll 50 gives up at 100: first difference at trace[2]
	//         {"t":0,"step":0,"call":"lock"}
	//         {"t":0,"sys":"open","args":["a.lock","wx"],"ret":"EEXIST"}
	//   Node: {"t":0,"sys":"timer","args":[50]}
	//   Go:   (nothing)
}
