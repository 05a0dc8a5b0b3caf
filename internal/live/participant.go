package live

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/seed-c461eb89/nodelock/compat/lockfile"
	"github.com/seed-c461eb89/nodelock/compat/properlockfile"
)

// A command tells a participant what to do, as a line of JSON. participant.js takes
// the same commands.
type command struct {
	Do      string  `json:"do"`
	System  string  `json:"system,omitempty"`
	ID      string  `json:"id,omitempty"` // what the lock is called in later commands
	Path    string  `json:"path,omitempty"`
	Options options `json:"options,omitzero"`
	Rounds  int     `json:"rounds,omitempty"`
	// Paths are what a storm is about.
	Paths   []string `json:"paths,omitempty"`
	Guard   string   `json:"guard,omitempty"`
	Counter string   `json:"counter,omitempty"`
}

// options are the packages' options, with durations in milliseconds.
type options struct {
	Wait       int64 `json:"wait,omitempty"`
	PollPeriod int64 `json:"pollPeriod,omitempty"`
	Stale      int64 `json:"stale,omitempty"`
	Update     int64 `json:"update,omitempty"`
	RetryWait  int64 `json:"retryWait,omitempty"`
	Retries    int   `json:"retries,omitempty"`
	// Schedule is the retries of proper-lockfile as an object.
	Schedule schedule `json:"schedule,omitzero"`
}

type schedule struct {
	Retries    int     `json:"retries"`
	Factor     float64 `json:"factor"`
	MinTimeout int64   `json:"minTimeout"`
}

func milliseconds(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }

// An answer is what came of a command.
type answer struct {
	Error    *failure `json:"error,omitempty"`
	Locked   bool     `json:"locked,omitempty"`
	Lost     *failure `json:"lost,omitempty"`
	Overlaps int      `json:"overlaps,omitempty"`
	// Won says which of the paths of a storm were locked.
	Won []bool `json:"won,omitempty"`
	// From and To are when a lock was held, in ns of a clock that all processes share.
	From    int64  `json:"from,omitempty"`
	To      int64  `json:"to,omitempty"`
	Version string `json:"version,omitempty"`
}

type failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func (f *failure) Error() string { return f.Message }

// callLimit is far more than any command takes.
const callLimit = 5 * time.Minute

// A participant is a process that takes locks as it is told.
type participant struct {
	side    string // "Go" or "Node"
	cmd     *exec.Cmd
	stdin   io.WriteCloser
	answers chan answer
	stderr  strings.Builder
	ended   chan struct{}
}

// start runs a participant.
func start(side string, cmd *exec.Cmd) *participant {
	p := &participant{side: side, cmd: cmd, answers: make(chan answer), ended: make(chan struct{})}
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
				a.Error = &failure{"EPROTOCOL", err.Error()}
			}
			p.answers <- a
		}
		_ = cmd.Wait() // how it ended is in cmd.ProcessState
	}()
	return p
}

// send gives a command without waiting for the answer.
func (p *participant) send(c command) {
	line, err := json.Marshal(c)
	must(err)
	if _, err := p.stdin.Write(append(line, '\n')); err != nil {
		failf("%s: %s: %w", p.side, c.Do, err)
	}
}

// answer waits for the next answer, which may be that the command has failed.
func (p *participant) answer() (a answer) {
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
func (p *participant) call(c command) answer {
	p.send(c)
	return p.answer()
}

// do is call for a command that has to succeed.
func (p *participant) do(c command) answer {
	a := p.call(c)
	if a.Error != nil {
		failf("%s: %s %s: %w", p.side, c.Do, c.Path, a.Error)
	}
	return a
}

// wait waits for the process to end after it has been told or made to.
func (p *participant) wait() {
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
func (p *participant) stop() {
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
	lines := bufio.NewScanner(stdin)
	held := map[string]lock{}
	for lines.Scan() {
		var c command
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			return err
		}
		a, err := obey(c, held)
		if err != nil {
			a.Error = &failure{"", err.Error()}
			var e *lockfile.Error
			if errors.As(err, &e) {
				a.Error.Code = e.Code
			}
		}
		line, err := json.Marshal(a)
		if err != nil {
			return err
		}
		if _, err := stdout.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	cleanup()
	return lines.Err()
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
	s := systems[c.System]
	switch c.Do {
	case "hello":
		a.Version = "Go"
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
			a.Lost = &failure{Message: lost.Error()}
			var e *lockfile.Error
			if errors.As(lost, &e) {
				a.Lost.Code = e.Code
			}
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
