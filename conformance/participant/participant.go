// Package participant has the participant protocol: how conform tells a program, in any
// language, which locks to take and release. conformance/FORMAT.md describes it.
//
// The protocol is for tests. A command names any path, and the program does there what
// it is told: give it commands from a harness that you trust only.
package participant

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Version is the version of the protocol that this package speaks. A participant gives
// it in its answer to hello.
const Version = 1

// LineLimit is how long a line may be, in bytes, without its end.
const LineLimit = 1 << 20

// EPROTOCOL is the code of the answer to a line that is not a command.
const EPROTOCOL = "EPROTOCOL"

// A Command tells a participant what to do. It is one line of JSON.
type Command struct {
	// Do is hello, lock, lockSync, release, check, checkSync, lost, contend, storm, calm,
	// chaos or exit.
	Do     string `json:"do"`
	System string `json:"system,omitempty"`
	// ID is what the lock is called in later commands.
	ID      string  `json:"id,omitempty"`
	Path    string  `json:"path,omitempty"`
	Options Options `json:"options,omitzero"`
	// Rounds is how often contend takes the lock.
	Rounds int `json:"rounds,omitempty"`
	// Paths are what a storm is about.
	Paths []string `json:"paths,omitempty"`
	// Guard and Counter are the files of contend.
	Guard   string `json:"guard,omitempty"`
	Counter string `json:"counter,omitempty"`
}

// Options are the options of a system. Durations are in milliseconds.
type Options struct {
	Wait       int64 `json:"wait,omitempty"`
	PollPeriod int64 `json:"pollPeriod,omitempty"`
	Stale      int64 `json:"stale,omitempty"`
	Update     int64 `json:"update,omitempty"`
	RetryWait  int64 `json:"retryWait,omitempty"`
	Retries    int   `json:"retries,omitempty"`
	// Schedule is the retries of proper-lockfile as an object.
	Schedule Schedule `json:"schedule,omitzero"`
}

// A Schedule is how often, and after which times, proper-lockfile tries again.
type Schedule struct {
	Retries    int     `json:"retries"`
	Factor     float64 `json:"factor"`
	MinTimeout int64   `json:"minTimeout"` // milliseconds
}

// An Answer is what came of a command. It is one line of JSON.
type Answer struct {
	Error  *Failure `json:"error,omitempty"`
	Locked bool     `json:"locked,omitempty"`
	// Lost is how the lock was lost. It is nil if it was not.
	Lost *Failure `json:"lost,omitempty"`
	// Overlaps is how often contend found another process inside.
	Overlaps int `json:"overlaps,omitempty"`
	// Won says which of the paths of a storm were locked.
	Won []bool `json:"won,omitempty"`
	// From and To are when a lock was held, in ns of a clock that all processes share.
	From int64 `json:"from,omitempty"`
	To   int64 `json:"to,omitempty"`
	// Version is the program's own, Protocol the protocol's, and Systems are what the
	// program can lock with. They answer hello.
	Version  string   `json:"version,omitempty"`
	Protocol int      `json:"protocol,omitempty"`
	Systems  []string `json:"systems,omitempty"`
}

// A Failure is an error in an answer.
type Failure struct {
	// Code is Node's, such as ELOCKED, or "" for an error that has none.
	Code    string `json:"code"`
	Message string `json:"message"`
}

func (f *Failure) Error() string { return f.Message }

// ParseCommand reads a command from a line. A field that is not one of a Command's is an
// error, and so is anything after the command. The fields' values are not looked at, but
// for Do, which must not be empty.
func ParseCommand(line []byte) (Command, error) {
	var c Command
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&c); err != nil {
		return Command{}, fmt.Errorf("not a command: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return Command{}, errors.New("not a command: there is more after it")
	}
	if c.Do == "" {
		return Command{}, errors.New(`not a command: it has no "do"`)
	}
	return c, nil
}

// Serve reads commands, has obey do each, and writes the answers, in order and one at a
// time, until the input ends; then it returns nil. An error of obey is written as the
// answer's: if it is a [*Failure], or wraps one, then with its code. A line that is not a
// command is answered with [EPROTOCOL], and Serve goes on. Serve returns an error if it
// cannot read or write, and if a line is longer than [LineLimit]. The caller has to give
// back what is still held then.
func Serve(in io.Reader, out io.Writer, obey func(Command) (Answer, error)) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, LineLimit+1)
	for lines.Scan() {
		var a Answer
		c, err := ParseCommand(lines.Bytes())
		if err != nil {
			err = &Failure{EPROTOCOL, err.Error()}
		} else {
			a, err = obey(c)
		}
		if err != nil {
			a.Error = &Failure{Message: err.Error()}
			var f *Failure
			if errors.As(err, &f) {
				a.Error.Code = f.Code
			}
		}
		line, err := json.Marshal(a)
		if err != nil {
			return err
		}
		if _, err := out.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return lines.Err()
}
