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
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// The tests about signals run this test binary again, as a child that does what it reads
// from its standard input, one command a line. It answers each line with the same line,
// and says when something is cleaned and when it gets a signal that it listens to. What it
// has said is the transcript that a failed test shows.

const childVariable = "NODELOCK_EXITHOOK_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		(&child{cleaners: map[string]*said{}}).run()
		return
	}
	os.Exit(m.Run())
}

// limit is how long a test waits for what must happen.
const limit = 30 * time.Second

type child struct {
	cleaners map[string]*said
	stop     func()
}

// said is a Cleaner that says its name.
type said struct {
	name string
	more func()
}

func (s *said) Clean(context.Context) {
	fmt.Println("clean", s.name)
	if s.more != nil {
		s.more()
	}
}

func (c *child) run() {
	// No core is wanted from those that die of SIGQUIT and the like.
	_ = syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{})
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
	case "add", "addhanging":
		s := &said{name: words[1]}
		if words[0] == "addhanging" {
			s.more = func() { select {} }
		}
		Process.Begin(s)
		Process.End()
	case "begin":
		Process.Begin(&said{name: words[1]})
	case "end":
		Process.End()
	case "catch":
		c.stop = Process.CleanupOnSignals(signals...)
	case "stop":
		c.stop()
	case "listen":
		arrivals := make(chan os.Signal, 10)
		signal.Notify(arrivals, signals...)
		go func() {
			for s := range arrivals {
				fmt.Println("got", unix.SignalName(s.(syscall.Signal)))
			}
		}()
	case "ignore":
		signal.Ignore(signals...)
	case "nothing":
	case "closed":
		// Until the clean-up has begun.
		for begun := false; !begun; time.Sleep(time.Millisecond) {
			Process.mutex.Lock()
			begun = Process.closed
			Process.mutex.Unlock()
		}
	case "exec":
		err := exec.Command("/bin/sh", "-c", "kill -s "+words[1]+" $$; sleep 60").Run()
		if status := err.(*exec.ExitError).Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != signals[0] {
			panic(err)
		}
	case "deadlock":
		var m sync.Mutex
		m.Lock()
		go waitsForTheMutex(&m)
		// A goroutine that runs has no stack in the dump.
		for text := make([]byte, 1<<20); !bytes.Contains(text[:runtime.Stack(text, true)], []byte("[sync.Mutex.Lock")); {
			time.Sleep(time.Millisecond)
		}
	default:
		panic("what is " + words[0])
	}
}

func waitsForTheMutex(m *sync.Mutex) { m.Lock() }

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
	if diff := cmp.Diff(want, got); diff != "" {
		p.t.Errorf("cleaned (-want +got):\n%s", diff)
	}
}

func name(s syscall.Signal) string { return strings.TrimPrefix(unix.SignalName(s), "SIG") }
