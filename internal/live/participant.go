package live

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-c461eb89/nodelock/compat/lockfile"
	"github.com/seed-c461eb89/nodelock/compat/properlockfile"
	"github.com/seed-c461eb89/nodelock/conformance/participant"
)

type (
	command  = participant.Command
	options  = participant.Options
	schedule = participant.Schedule
	answer   = participant.Answer
	failure  = participant.Failure
)

func milliseconds(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }

// callLimit is far more than any command takes.
const callLimit = 5 * time.Minute

// A process is a participant: it takes locks as it is told.
type process struct {
	side    string // "Go", "Node" or Candidate
	cmd     *exec.Cmd
	stdin   io.WriteCloser
	answers chan answer
	stderr  strings.Builder
	ended   chan struct{}
}

// start runs a participant.
func start(side string, cmd *exec.Cmd) *process {
	p := &process{side: side, cmd: cmd, answers: make(chan answer), ended: make(chan struct{})}
	var err error
	p.stdin, err = cmd.StdinPipe()
	must(err)
	stdout, err := cmd.StdoutPipe()
	must(err)
	cmd.Stderr = &p.stderr
	if err := cmd.Start(); err != nil {
		failf("starting a %s participant: %w", side, err)
	}
	go func() {
		defer close(p.ended)
		defer close(p.answers)
		lines := bufio.NewScanner(stdout)
		for lines.Scan() {
			var a answer
			if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
				a.Error = &failure{Code: participant.EPROTOCOL, Message: err.Error()}
			}
			p.answers <- a
		}
		_ = cmd.Wait() // how it ended is in cmd.ProcessState
	}()
	return p
}

// send gives a command without waiting for the answer.
func (p *process) send(c command) {
	line, err := json.Marshal(c)
	must(err)
	if _, err := p.stdin.Write(append(line, '\n')); err != nil {
		failf("%s: %s: %w", p.side, c.Do, err)
	}
}

// answer waits for the next answer, which may be that the command has failed.
func (p *process) answer() (a answer) {
	select {
	case answered, ok := <-p.answers:
		if !ok {
			failf("the %s participant ended: %s", p.side, strings.TrimSpace(p.stderr.String()))
		}
		a = answered
	case <-time.After(callLimit):
		failf("the %s participant does not answer", p.side)
	}
	return a
}

// call gives a command and waits for the answer.
func (p *process) call(c command) answer {
	p.send(c)
	return p.answer()
}

// do is call for a command that has to succeed.
func (p *process) do(c command) answer {
	a := p.call(c)
	if a.Error != nil {
		failf("%s: %s %s: %w", p.side, c.Do, c.Path, a.Error)
	}
	return a
}

// wait waits for the process to end after it has been told or made to.
func (p *process) wait() {
	for {
		select {
		case _, ok := <-p.answers:
			if !ok {
				<-p.ended
				return
			}
		case <-time.After(callLimit):
			failf("the %s participant does not end", p.side)
		}
	}
}

// stop ends the process, however it is.
func (p *process) stop() {
	_ = p.stdin.Close()
	select {
	case <-p.ended:
		return
	case <-p.answers:
	case <-time.After(time.Second):
	}
	_ = p.cmd.Process.Kill()
	_ = catch(p.wait)
}

// Serve obeys the commands of a harness until there are no more.
func Serve(stdin io.Reader, stdout io.Writer) error {
	defer cleanupOnSignals()()
	defer cleanup()
	held := map[string]lock{}
	return participant.Serve(stdin, stdout, func(c command) (answer, error) {
		a, err := obey(c, held)
		if err != nil {
			err = failureOf(err)
		}
		return a, err
	})
}

// failureOf returns an error as an answer has it.
func failureOf(err error) *failure {
	f := &failure{Message: err.Error()}
	var e *lockfile.Error
	if errors.As(err, &e) {
		f.Code = e.Code
	}
	return f
}

// A lock is one that this process holds: a lease.
type lock interface {
	Context() context.Context
	Err() error
	Release() error
	Reclaimed() bool
}

// A system takes the locks of one package.
type system interface {
	lock(c command, sync bool) (lock, error)
	check(c command, sync bool) (bool, error)
	cleanup()
}

var systems = map[string]system{
	"lockfile":               lockfileSystem{},
	properLockfile4:          properLockfileSystem{properlockfile.V4},
	properLockfile1:          properLockfileSystem{properlockfile.V1},
	mutexOf("lockfile"):      lockfileMutexSystem{},
	mutexOf(properLockfile4): properMutexSystem{},
	"lockdir":                lockdirSystem{},
}

func cleanup() {
	for _, s := range systems {
		s.cleanup()
	}
}

func obey(c command, held map[string]lock) (a answer, err error) {
	s, known := systems[c.System]
	switch c.Do {
	case "lock", "lockSync", "check", "checkSync", "contend", "storm", "chaos":
		if !known {
			return a, fmt.Errorf("there is no system %q", c.System)
		}
	case "release", "lost":
		if held[c.ID] == nil {
			return a, fmt.Errorf("there is no lock %q", c.ID)
		}
	}
	switch c.Do {
	case "hello":
		a.Version, a.Protocol = "Go", participant.Version
		a.Systems = slices.Sorted(maps.Keys(systems))
	case "lock", "lockSync":
		var l lock
		if l, err = s.lock(c, c.Do == "lockSync"); err == nil {
			held[c.ID] = l
		}
	case "release":
		err = held[c.ID].Release()
	case "check", "checkSync":
		a.Locked, err = s.check(c, c.Do == "checkSync")
	case "lost":
		if lost := held[c.ID].Err(); lost != nil {
			a.Lost = failureOf(lost)
		}
	case "contend":
		a.Overlaps, err = contend(s, c)
	case "storm":
		a.Won = storm(s, c, held)
	case "calm":
		for id, l := range held {
			err = errors.Join(err, l.Release())
			delete(held, id)
		}
	case "chaos":
		err = chaos(s, c)
	case "exit":
		cleanup()
		os.Exit(0)
	default:
		err = fmt.Errorf("there is no command %q", c.Do)
	}
	return a, err
}

// contend takes the lock again and again. See participant.js, which does the same.
func contend(s system, c command) (overlaps int, err error) {
	for range c.Rounds {
		l, err := s.lock(c, false)
		if err != nil {
			return overlaps, err
		}
		guard, err := os.OpenFile(c.Guard, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
		switch {
		case err == nil:
			guard.Close()
		case errors.Is(err, fs.ErrExist):
			overlaps++
		default:
			return overlaps, err
		}
		if err := increment(c.Counter); err != nil {
			return overlaps, err
		}
		if err := os.Remove(c.Guard); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return overlaps, err
		}
		if err := l.Release(); err != nil {
			return overlaps, err
		}
	}
	return overlaps, nil
}

func increment(counter string) error {
	text, err := os.ReadFile(counter)
	if err != nil {
		return err
	}
	count, err := strconv.Atoi(string(text))
	if err != nil {
		return err
	}
	return os.WriteFile(counter, strconv.AppendInt(nil, int64(count+1), 10), 0o666)
}
