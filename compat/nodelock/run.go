package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"github.com/seed-c461eb89/nodelock/compat/lockdir"
	"github.com/seed-c461eb89/nodelock/compat/lockfile"
	"github.com/seed-c461eb89/nodelock/compat/properlockfile"
)

const runHelp = `usage: nodelock run -protocol P [flags] PATH -- COMMAND [ARGUMENT...]

Run waits for the lock, holds it with heartbeats while the command runs, and releases it when
the command has ended, whatever ended it. The command has the path of the lock in its
environment as NODELOCK_PATH.

Limits: if run itself is killed by a signal that cannot be caught, the command goes on
without the lock. Signals are passed on to the command; at a terminal, which sends an
interrupt to both, the command gets it twice.

	-protocol P          lockfile, proper or lockdir; see 'nodelock help protocols'
	-wait D              how long to wait for the lock, such as 30s; 0: try once
	                     (default: as long as it takes)
	-stale D             the age beyond which another's lock is taken over; 0: the
	                     protocol's, see 'nodelock help status'
	-conflict-status N   the exit status if the lock was not had, 0 to 255 (default 75)
	-on-lost A           what to do with the command if the lock is lost: term, kill, or
	                     warn, which lets it go on (default term)

If waiting takes longer than a second, a line on standard error says who holds the lock.

The exit status is the command's, and 128 and the number of the signal if one killed it, or
ended the waiting. Besides:

	64   the arguments are wrong
	73   the lock cannot be made; standard error says why
	75   the lock was not had, see -conflict-status
	126  the command cannot be run
	127  there is no such command
`

const (
	exitCannotCreate = 73 // EX_CANTCREAT of sysexits.h
	exitConflict     = 75 // EX_TEMPFAIL
	exitCannotRun    = 126
	exitNoCommand    = 127
)

// A lease is what the commands need of the leases of all packages.
type lease interface {
	Done() <-chan struct{}
	Err() error
	Path() string
	Reclaimed() bool
	Release() error
}

func run(args []string) int {
	flags := flag.NewFlagSet("run", flag.ContinueOnError)
	protocol := flags.String("protocol", "", "")
	wait := flags.Duration("wait", -1, "")
	stale := flags.Duration("stale", 0, "")
	conflict := flags.Int("conflict-status", exitConflict, "")
	onLost := flags.String("on-lost", "term", "")
	if status, done := parse(flags, runHelp, args); done {
		return status
	}
	given := false
	flags.Visit(func(f *flag.Flag) { given = given || f.Name == "wait" })
	switch {
	case !isProtocol(*protocol):
		return misused("run", "-protocol must be lockfile, proper or lockdir")
	case given && *wait < 0 || *stale < 0:
		return misused("run", "-wait and -stale must not be negative")
	case *conflict < 0 || *conflict > 255:
		return misused("run", "-conflict-status must be from 0 to 255")
	case *onLost != "term" && *onLost != "kill" && *onLost != "warn":
		return misused("run", "-on-lost must be term, kill or warn")
	case flags.NArg() < 3 || flags.Arg(1) != "--":
		return misused("run", "PATH -- COMMAND is missing")
	}
	path, words := flags.Arg(0), flags.Args()[2:]
	// Before the lock is asked for: who cannot run anything makes nobody wait.
	if _, err := exec.LookPath(words[0]); err != nil {
		return cannotRun(err)
	}

	signals := make(chan os.Signal, 16)
	for _, s := range passedOn {
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
	l, status := acquire(signals, path, *protocol, *wait, *stale, *conflict)
	if l == nil {
		return status
	}
	status = hold(signals, l, *onLost, words)
	if err := l.Release(); err != nil {
		complain(err)
	}
	return status
}

func complain(err error) { fmt.Fprintf(os.Stderr, "nodelock run: %s\n", escape(err.Error())) }

func cannotRun(err error) int {
	complain(err)
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
		return exitNoCommand
	}
	return exitCannotRun
}

// acquire takes the lock. Without a lease the process exits with status.
func acquire(signals <-chan os.Signal, path, protocol string, wait, stale time.Duration, conflict int) (lease, int) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	type result struct {
		lease lease
		err   error
	}
	done := make(chan result, 1)
	go func() {
		l, err := take(ctx, path, protocol, wait, stale)
		done <- result{l, err}
	}()
	tell := time.NewTimer(time.Second)
	defer tell.Stop()
	var ended os.Signal
	for {
		select {
		case r := <-done:
			switch {
			case ended != nil:
				if r.err == nil {
					if err := r.lease.Release(); err != nil {
						complain(err)
					}
				}
				return nil, signalStatus(ended)
			case r.err == nil:
				return r.lease, 0
			}
			complain(r.err)
			if isLocked(r.err) {
				return nil, conflict
			}
			return nil, exitCannotCreate
		case ended = <-signals:
			cancel()
		case <-tell.C:
			go func() { // what hangs must not keep signals from being heard
				if f := inspect(path, protocol, stale); f.Error == "" {
					fmt.Fprintf(os.Stderr, "nodelock run: waiting for %v\n", f)
				}
			}()
		}
	}
}

// take takes the lock. The end of ctx ends the waiting, and not the lease.
func take(ctx context.Context, path, protocol string, wait, stale time.Duration) (lease, error) {
	switch protocol {
	case "lockfile":
		m := lockfile.NewMutex(path, lockfile.MutexOptions{Stale: stale, Wait: max(wait, 0)})
		if wait == 0 {
			return leaseOf(m.TryLock(ctx))
		}
		return leaseOf(m.Lock(ctx))
	case "proper":
		m := properlockfile.NewMutex(path, properlockfile.MutexOptions{Stale: stale, Wait: max(wait, 0)})
		if wait == 0 {
			return leaseOf(m.TryLock(ctx))
		}
		return leaseOf(m.Lock(ctx))
	}
	o := lockdir.Options{Stale: stale}
	if stale > 0 {
		o.Heartbeat = min(15*time.Second, max(stale/4, time.Millisecond))
	}
	d, err := lockdir.NewDirectory(path, path, o)
	switch {
	case err != nil:
		return nil, err
	case wait == 0:
		return leaseOf(d.Acquire(ctx))
	case wait > 0:
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, wait)
		defer cancel()
	}
	return leaseOf(d.AcquireWait(ctx))
}

// isLocked reports whether take has failed because the lock is held.
func isLocked(err error) bool {
	return errors.Is(err, lockfile.ErrLocked) || errors.Is(err, properlockfile.ErrLocked) || errors.Is(err, lockdir.ErrLocked)
}

// leaseOf keeps a nil lease of any type from looking like one.
func leaseOf[L lease](l L, err error) (lease, error) {
	if err != nil {
		return nil, err
	}
	return l, nil
}

// hold runs the command under the lock, and returns what the process exits with.
func hold(signals <-chan os.Signal, l lease, onLost string, words []string) int {
	c := exec.Command(words[0], words[1:]...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	c.Env = append(os.Environ(), "NODELOCK_PATH="+l.Path())
	if err := c.Start(); err != nil {
		return cannotRun(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	lost := l.Done()
	for {
		select {
		case err := <-ended:
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) {
				complain(err)
			}
			return exitStatus(c.ProcessState)
		case s := <-signals:
			_ = c.Process.Signal(s) // it fails if the command has just ended
		case <-lost:
			lost = nil
			complain(l.Err())
			switch onLost {
			case "term":
				if c.Process.Signal(syscall.SIGTERM) != nil {
					_ = c.Process.Kill() // Windows knows no other signal
				}
			case "kill":
				_ = c.Process.Kill()
			}
		}
	}
}
