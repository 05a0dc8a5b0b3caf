//go:build unix

package mutex

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-c461eb89/nodelock/internal/clock"
	"github.com/seed-c461eb89/nodelock/internal/exithook"
	"github.com/seed-c461eb89/nodelock/internal/filesystem"
	"github.com/seed-c461eb89/nodelock/internal/sim"
	"github.com/seed-c461eb89/nodelock/internal/watch"
)

const (
	childEnvironment = "NODELOCK_MUTEX_CHILD"
	staleEnvironment = "NODELOCK_MUTEX_STALE"
)

// inChild are the options of the children, and of who contends with them.
var inChild = Options{Stale: 600 * time.Millisecond, Update: 100 * time.Millisecond, Poll: 5 * time.Millisecond, Doubt: 10 * time.Millisecond, Settle: time.Millisecond}

func TestMain(m *testing.M) {
	if name := os.Getenv(childEnvironment); name != "" {
		child(name, os.Args[1])
		return
	}
	// The runtime's own descriptors are made when it first needs them.
	if r, w, err := os.Pipe(); err == nil {
		_, _ = r.Close(), w.Close()
	}
	os.Exit(m.Run())
}

// child does as the lines of its standard input say and tells what comes of it.
func child(protocol, path string) {
	var target Target
	for _, p := range protocols {
		if p.name == protocol {
			target = p.target(path)
		}
	}
	files := interpose(nil)
	e := New(files, clock.System{}, &exithook.Process, &watch.Process)
	o := inChild
	if stale, err := time.ParseDuration(os.Getenv(staleEnvironment)); err == nil {
		o.Stale = stale
	}
	m := e.Mutex(target, o)
	var output sync.Mutex
	say := func(format string, args ...any) {
		output.Lock()
		defer output.Unlock()
		fmt.Printf(format+"\n", args...)
	}
	var l *Lease
	lock := func() bool {
		taken, err := m.Lock(context.Background())
		if err != nil {
			say("error %v", err)
			return false
		}
		l = taken
		go func() {
			<-taken.Done()
			if err := taken.Err(); err != error(ErrReleased) {
				say("told %v", err)
			}
		}()
		return true
	}
	input := bufio.NewScanner(os.Stdin)
	for input.Scan() {
		switch command, argument, _ := strings.Cut(input.Text(), " "); command {
		case "lock":
			if lock() {
				say("locked %v", l.Reclaimed())
			}
		case "catch":
			exithook.Process.CleanupOnSignals()
			say("ok")
		case "unlock":
			say("unlocked %v", l.Release())
		case "stop-at":
			// Stops at the next call of that number.
			op, _ := strconv.Atoi(argument)
			files.before = once(func() { _ = unix.Kill(os.Getpid(), unix.SIGSTOP) }, 1, sim.Op(op))
			say("ok")
		case "arbitrate":
			// One round of the storm: argument is a file that only one may have locked.
			if !lock() {
				continue
			}
			alone := "alone"
			arbiter, err := os.OpenFile(argument, os.O_RDWR, 0)
			if err != nil {
				say("error %v", err)
				continue
			}
			if err := unix.Flock(int(arbiter.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
				alone = "together"
			}
			time.Sleep(500 * time.Microsecond)
			_ = arbiter.Close()
			say("was %s %v %v", alone, l.Reclaimed(), l.Release())
		case "churn":
			for {
				if lock() {
					_ = l.Release()
				}
			}
		}
	}
}

// A process is a child.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	input  io.WriteCloser
	output *bufio.Scanner
}

func spawn(t *testing.T, protocol, path string) *process {
	t.Helper()
	cmd := exec.Command(os.Args[0], path)
	cmd.Env = append(os.Environ(), childEnvironment+"="+protocol)
	cmd.Stderr = os.Stderr
	input, err := cmd.StdinPipe()
	must(t, err)
	output, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	p := &process{t, cmd, input, bufio.NewScanner(output)}
	t.Cleanup(p.kill)
	return p
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
	_ = p.input.Close()
}

func (p *process) do(command string) {
	p.t.Helper()
	_, err := fmt.Fprintln(p.input, command)
	must(p.t, err)
}

// says waits for a line and returns it.
func (p *process) says() string {
	p.t.Helper()
	if !p.output.Scan() {
		p.t.Fatalf("the child has ended: %v", p.output.Err())
	}
	return p.output.Text()
}

func (p *process) expect(prefix string) {
	p.t.Helper()
	if line := p.says(); !strings.HasPrefix(line, prefix) {
		p.t.Fatalf("the child says %q; want %q", line, prefix)
	}
}

// signal sends a signal, and waits until the process has stopped if that is what it does.
func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	must(p.t, p.cmd.Process.Signal(s))
	if s == unix.SIGSTOP {
		p.stopped()
	}
}

func (p *process) stopped() {
	p.t.Helper()
	var status unix.WaitStatus
	for {
		_, err := unix.Wait4(p.cmd.Process.Pid, &status, unix.WUNTRACED, nil)
		if err != unix.EINTR {
			must(p.t, err)
			break
		}
	}
	if !status.Stopped() {
		p.t.Fatalf("the child has not stopped: %v", status)
	}
}

func eachInProcesses(t *testing.T, f func(t *testing.T, protocol, path string, makeLock func() error)) {
	for _, p := range protocols {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			path := t.TempDir() + "/x.lock"
			f(t, p.name, path, func() error { return p.make(path) })
		})
	}
}

// A holder that is stopped beyond the threshold loses its lock, is told when it goes on,
// and leaves the lock of the one who took it over alone.
func TestStoppedBeyondTheThreshold(t *testing.T) {
	eachInProcesses(t, func(t *testing.T, protocol, path string, _ func() error) {
		first, second := spawn(t, protocol, path), spawn(t, protocol, path)
		first.do("lock")
		first.expect("locked false")
		first.signal(unix.SIGSTOP)
		second.do("lock")
		second.expect("locked true")
		stat, err := os.Stat(path)
		must(t, err)
		first.signal(unix.SIGCONT)
		first.expect("told The lock is lost")
		first.do("unlock")
		first.expect("unlocked The lock is lost")
		time.Sleep(3 * inChild.Update)
		after, err := os.Stat(path)
		must(t, err)
		if !os.SameFile(stat, after) {
			t.Error("the second's lock is another now")
		}
		second.do("unlock")
		second.expect("unlocked <nil>")
		only(t, path)
	})
}

// One that is stopped for less keeps it.
func TestStoppedBelowTheThreshold(t *testing.T) {
	eachInProcesses(t, func(t *testing.T, protocol, path string, _ func() error) {
		first, second := spawn(t, protocol, path), spawn(t, protocol, path)
		first.do("lock")
		first.expect("locked false")
		second.do("lock")
		for range 3 {
			first.signal(unix.SIGSTOP)
			time.Sleep(inChild.Stale / 3)
			first.signal(unix.SIGCONT)
			time.Sleep(2 * inChild.Update)
		}
		first.do("unlock")
		first.expect("unlocked <nil>")
		second.expect("locked false")
		second.do("unlock")
		second.expect("unlocked <nil>")
		only(t, path)
	})
}

func TestKilled(t *testing.T) {
	eachInProcesses(t, func(t *testing.T, protocol, path string, _ func() error) {
		first, second := spawn(t, protocol, path), spawn(t, protocol, path)
		first.do("lock")
		first.expect("locked false")
		first.kill()
		start := time.Now()
		second.do("lock")
		second.expect("locked true")
		if d := time.Since(start); d >= inChild.Stale/2 {
			t.Errorf("taken over after %v, as if it were not known that the holder is dead", d)
		}
		second.do("unlock")
		second.expect("unlocked <nil>")
		only(t, path)
	})
}

// If the process asks for it, the lock goes on a fatal signal, if it still is the holder's.
func TestSignalled(t *testing.T) {
	eachInProcesses(t, func(t *testing.T, protocol, path string, makeLock func() error) {
		first := spawn(t, protocol, path)
		first.do("catch")
		first.expect("ok")
		first.do("lock")
		first.expect("locked false")
		must(t, first.cmd.Process.Signal(unix.SIGTERM))
		_ = first.cmd.Wait()
		only(t, path)

		second := spawn(t, protocol, path)
		second.do("catch")
		second.expect("ok")
		second.do("lock")
		second.expect("locked false")
		second.signal(unix.SIGSTOP)
		must(t, os.Remove(path))
		must(t, makeLock())
		must(t, second.cmd.Process.Signal(unix.SIGTERM))
		second.signal(unix.SIGCONT)
		_ = second.cmd.Wait()
		only(t, path, "x.lock")
	})
}

// A contender that stops while it guards the directory stops the others, but not the
// holder's heartbeat; and takes nothing when it goes on.
func TestStoppedInTheGuard(t *testing.T) {
	calls := []sim.Op{sim.Pin, sim.Fstat, sim.Close, sim.Unguard}
	if testing.Short() {
		calls = calls[:1]
	}
	for _, call := range calls {
		t.Run(call.Name(), func(t *testing.T) {
			t.Parallel()
			eachInProcesses(t, func(t *testing.T, protocol, path string, _ func() error) {
				holder, contender, other := spawn(t, protocol, path), spawn(t, protocol, path), spawn(t, protocol, path)
				holder.do("lock")
				holder.expect("locked false")
				contender.do(fmt.Sprint("stop-at ", int(call)))
				contender.expect("ok")
				contender.do("lock")
				contender.stopped()
				other.do("lock")
				time.Sleep(2 * inChild.Stale)
				contender.signal(unix.SIGCONT)
				time.Sleep(inChild.Stale)
				holder.do("unlock")
				holder.expect("unlocked <nil>")
				first, second := contender, other
				lines := make(chan *process, 2)
				for _, p := range []*process{contender, other} {
					go func() {
						if p.output.Scan() && p.output.Text() == "locked false" {
							lines <- p
						} else {
							lines <- nil
						}
					}()
				}
				if first = <-lines; first == other {
					second = contender
				}
				if first == nil {
					t.Fatal("nobody has it")
				}
				first.do("unlock")
				first.expect("unlocked <nil>")
				if p := <-lines; p != second {
					t.Fatal("the other has it not")
				}
				second.do("unlock")
				second.expect("unlocked <nil>")
				only(t, path)
			})
		})
	}
}

// Eight processes and one stale lock after the other. An independent lock of the
// kernel's counts who believes to hold it. The threshold is so high that a machine that
// is busy otherwise keeps nobody from his heartbeat for so long.
func TestStorm(t *testing.T) {
	t.Setenv(staleEnvironment, "30s")
	rounds := 300
	if testing.Short() {
		rounds = 30
	}
	for _, p := range protocols {
		path := t.TempDir() + "/x.lock"
		makeLock := func() error { return p.make(path) }
		arbiter := t.TempDir() + "/arbiter"
		must(t, os.WriteFile(arbiter, nil, 0o666))
		var children []*process
		for range 8 {
			children = append(children, spawn(t, p.name, path))
		}
		start := time.Now()
		for range rounds {
			makeStale(t, path, makeLock)
			for _, c := range children {
				c.do("arbitrate " + arbiter)
			}
			reclaimed := 0
			for _, c := range children {
				switch line := c.says(); line {
				case "was alone true <nil>":
					reclaimed++
				case "was alone false <nil>":
				default:
					t.Error(line)
				}
			}
			if reclaimed != 1 {
				t.Errorf("%d have reclaimed one lock", reclaimed)
			}
			only(t, path)
		}
		t.Logf("%s: %d rounds in %v", p.name, rounds, time.Since(start))
	}
}

// Processes are killed at any moment while they do nothing but lock and unlock. The next
// one gets the lock, and nothing is left when he has released it.
func TestKilledAnywhere(t *testing.T) {
	rounds := 100
	if testing.Short() {
		rounds = 10
	}
	for _, p := range protocols {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			path := t.TempDir() + "/x.lock"
			left := 0
			for range rounds {
				churning := spawn(t, p.name, path)
				churning.do("churn")
				time.Sleep(10*time.Millisecond + rand.N(5*time.Millisecond))
				churning.kill()
				if _, err := os.Lstat(aside(path)); err == nil {
					left++
				}
				if _, err := os.Lstat(path); err == nil {
					age(t, path, time.Hour)
				}
				e := New(filesystem.OS{}, clock.System{}, exithook.None{}, &watch.Process)
				// By mtime in both, since a file's ctime cannot be set back.
				l, err := e.Mutex(p.target(path), quick).TryLock(t.Context())
				must(t, err)
				must(t, l.Release())
				only(t, path)
			}
			t.Logf("%d times something was left aside", left)
		})
	}
}
