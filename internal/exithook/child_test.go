//go:build unix

package exithook

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The tests about signals run this test binary again, as a child that does what it
// reads from its standard input, one command a line. It answers each line with the
// same line, and says when something is cleaned and when it gets a signal that it
// listens to. What it has said is the transcript that a failed test shows.

const childVariable = "NODELOCK_EXITHOOK_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		(&child{}).run()
		return
	}
	os.Exit(m.Run())
}

// limit is how long a test waits for what must happen.
const limit = 30 * time.Second

type child struct {
	cleaners  map[string]*said
	listeners map[string]func()
}

// said is a Cleaner that says its name.
type said struct {
	name string
	more func()
}

func (s *said) Clean() {
	fmt.Println("clean", s.name)
	if s.more != nil {
		s.more()
	}
}

func (c *child) run() {
	// No core is wanted from those that die of SIGQUIT and the like.
	syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{})
	c.cleaners = map[string]*said{}
	c.listeners = map[string]func(){}
	fmt.Println("started")
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		words := strings.Fields(in.Text())
		var signals []os.Signal
		for _, name := range words[1:] {
			if s := unix.SignalNum("SIG" + name); s != 0 {
				signals = append(signals, s)
			}
		}
		c.do(words, signals)
		fmt.Println(in.Text())
	}
}

func (c *child) do(words []string, signals []os.Signal) {
	switch words[0] {
	case "add", "addhanging", "addslow":
		s := &said{name: words[1]}
		switch words[0] {
		case "addhanging":
			s.more = func() { select {} }
		case "addslow":
			s.more = func() {
				// Until a signal has come in the middle of it.
				usr1 := make(chan os.Signal, 1)
				signal.Notify(usr1, unix.SIGUSR1)
				fmt.Println("cleaning")
				<-usr1
				fmt.Println("cleaned")
			}
		}
		c.cleaners[s.name] = s
		Process.Add(s)
	case "readd":
		// Adds another while it is cleaned.
		s, other := &said{name: words[1]}, &said{name: words[2]}
		s.more = func() { Process.Add(other); Process.Remove(s) }
		Process.Add(s)
	case "remove":
		Process.Remove(c.cleaners[words[1]])
	case "listen":
		arrivals := make(chan os.Signal, 10)
		signal.Notify(arrivals, signals...)
		c.listeners["listen"] = func() { signal.Stop(arrivals) }
		go report(arrivals)
	case "context":
		ctx, stop := signal.NotifyContext(context.Background(), signals...)
		c.listeners["context"] = stop
		go func() {
			<-ctx.Done()
			// What most programs do, so that the next signal kills.
			stop()
			fmt.Println("done")
		}()
	case "once":
		arrivals := make(chan os.Signal, 10)
		signal.Notify(arrivals, signals...)
		go func() {
			s := <-arrivals
			signal.Stop(arrivals)
			fmt.Println("got", unix.SignalName(s.(syscall.Signal)))
		}()
	case "stop":
		// Not before the hook has looked who listens to what came before.
		until(func() bool { return atRest.Match(stacks()) })
		c.listeners[words[1]]()
	case "ignore":
		signal.Ignore(signals...)
	case "leave":
		Process.Leave(signals...)
	case "nothing":
	case "linger":
		// The handlers stay until a test is done with them.
		Process.mutex.Lock()
		Process.ticking = true
		Process.mutex.Unlock()
		s := &said{name: "lingering"}
		Process.Add(s)
		Process.Remove(s)
	case "exec":
		err := exec.Command("/bin/sh", "-c", "kill -s "+words[1]+" $$; sleep 60").Run()
		if status := err.(*exec.ExitError).Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != signals[0] {
			panic(err)
		}
	case "gone":
		until(func() bool {
			Process.mutex.Lock()
			defer Process.mutex.Unlock()
			return Process.arrivals == nil && !bytes.Contains(stacks(), []byte("(*Hook)"))
		})
	case "there":
		Process.mutex.Lock()
		defer Process.mutex.Unlock()
		if Process.arrivals == nil {
			panic("no handlers")
		}
	case "churn":
		// Adds and removes, in many goroutines, for ever.
		for i := range 8 {
			go func() {
				s := &said{name: fmt.Sprint("churn", i)}
				for {
					Process.Add(s)
					Process.Remove(s)
				}
			}()
		}
	case "collect":
		// Keeps the runtime busy, and the mask thread's surroundings.
		for range 4 {
			go func() {
				var keep [][]byte
				for {
					keep = append(keep, make([]byte, 1<<16))
					if len(keep) > 100 {
						keep = nil
						runtime.GC()
					}
				}
			}()
		}
	case "abort":
		// As abort does in C.
		runtime.LockOSThread()
		raise(unix.SIGABRT)
	case "raise":
		raise(signals[0].(syscall.Signal))
	case "deadlock":
		var m sync.Mutex
		m.Lock()
		go waitsForTheMutex(&m)
		until(func() bool { return bytes.Contains(stacks(), []byte("waitsForTheMutex")) })
	default:
		panic("what is " + words[0])
	}
}

// atRest matches the stack of a hook that waits for a signal.
var atRest = regexp.MustCompile(`\[chan receive[^]]*\]:\n[^\n]*\(\*Hook\)\.wait\(`)

func stacks() []byte {
	text := make([]byte, 1<<20)
	return text[:runtime.Stack(text, true)]
}

func until(is func() bool) {
	for start := time.Now(); !is(); time.Sleep(time.Millisecond) {
		if time.Since(start) > limit {
			panic("too late")
		}
	}
}

func waitsForTheMutex(m *sync.Mutex) { m.Lock() }

func report(arrivals <-chan os.Signal) {
	for s := range arrivals {
		fmt.Println("got", unix.SignalName(s.(syscall.Signal)))
	}
}

// A parent is the test's side of a child.
type parent struct {
	t       *testing.T
	command *exec.Cmd
	stdin   io.WriteCloser
	stderr  strings.Builder
	ended   chan struct{}

	mutex      sync.Mutex
	transcript []string
	more       *sync.Cond
}

// start starts a child. before can change how.
func start(t *testing.T, before ...func(*exec.Cmd)) *parent {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &parent{t: t, command: exec.Command(executable), ended: make(chan struct{})}
	p.more = sync.NewCond(&p.mutex)
	p.command.Env = append(os.Environ(), childVariable+"=1", "GOTRACEBACK=all")
	p.command.Dir = t.TempDir()
	p.command.Stderr = &p.stderr
	if p.stdin, err = p.command.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, err := p.command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range before {
		f(p.command)
	}
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		for in := bufio.NewScanner(stdout); in.Scan(); {
			p.mutex.Lock()
			p.transcript = append(p.transcript, in.Text())
			p.mutex.Unlock()
			p.more.Broadcast()
		}
		p.command.Wait()
		close(p.ended)
		p.more.Broadcast()
	}()
	t.Cleanup(func() {
		p.stdin.Close()
		p.command.Process.Kill()
		<-p.ended
		if t.Failed() {
			t.Logf("transcript:\n%s\nstandard error:\n%s", strings.Join(p.transcript, "\n"), p.stderr.String())
		}
	})
	p.said("started", 1)
	return p
}

// said waits until the child has said the line n times.
func (p *parent) said(line string, n int) {
	p.t.Helper()
	late := time.AfterFunc(limit, p.more.Broadcast)
	defer late.Stop()
	start := time.Now()
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for p.count(line) < n {
		select {
		case <-p.ended:
			p.t.Fatalf("ended (%v) without saying %q %d times", p.command.ProcessState, line, n)
		default:
		}
		if time.Since(start) >= limit {
			p.t.Fatalf("has not said %q %d times", line, n)
		}
		p.more.Wait()
	}
}

func (p *parent) count(line string) (n int) {
	for _, l := range p.transcript {
		if l == line {
			n++
		}
	}
	return n
}

// do has the child do something, and waits until it is done.
func (p *parent) do(commands ...string) {
	p.t.Helper()
	for _, command := range commands {
		p.mutex.Lock()
		n := p.count(command)
		p.mutex.Unlock()
		fmt.Fprintln(p.stdin, command)
		p.said(command, n+1)
	}
}

func (p *parent) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.command.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// wait waits for the child's end.
func (p *parent) wait() syscall.WaitStatus {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(limit):
		p.t.Fatal("lives")
	}
	return p.command.ProcessState.Sys().(syscall.WaitStatus)
}

// diesOf checks that the child ends by the signal.
func (p *parent) diesOf(s syscall.Signal) {
	p.t.Helper()
	if status := p.wait(); !status.Signaled() || status.Signal() != s {
		p.t.Errorf("ended with %v, want death of %v", p.command.ProcessState, s)
	}
}

// cleaned checks what has been cleaned, in order.
func (p *parent) cleaned(want ...string) {
	p.t.Helper()
	p.mutex.Lock()
	defer p.mutex.Unlock()
	var got []string
	for _, line := range p.transcript {
		if name, ok := strings.CutPrefix(line, "clean "); ok {
			got = append(got, name)
		}
	}
	if !slices.Equal(got, want) {
		p.t.Errorf("cleaned %q, want %q", got, want)
	}
}

// got checks how often the child has got the signal that it listens to.
func (p *parent) got(s syscall.Signal, want int) {
	p.t.Helper()
	p.said("got "+unix.SignalName(s), want)
	p.do("nothing")
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if n := p.count("got " + unix.SignalName(s)); n != want {
		p.t.Errorf("got %v %d times, want %d", s, n, want)
	}
}

func name(s syscall.Signal) string { return strings.TrimPrefix(unix.SignalName(s), "SIG") }
