//go:build unix

package benchmark

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-c461eb89/nodelock/compat/lockfile"
	"github.com/seed-c461eb89/nodelock/compat/properlockfile"
)

// asParticipant has this program be a participant: its protocol and its lock.
const asParticipant = "NODELOCK_BENCHMARK_PARTICIPANT"

func TestMain(m *testing.M) {
	if protocol, lock, ok := strings.Cut(os.Getenv(asParticipant), " "); ok {
		participate(protocol, lock)
		return
	}
	os.Exit(m.Run())
}

// clock returns the nanoseconds of the clock that all processes of the machine share.
func clock() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic(err)
	}
	return t.Nano()
}

func spin(d time.Duration) {
	for end := clock() + d.Nanoseconds(); clock() < end; {
	}
}

// participate does what it is told, one command a line, until there is no more. Times are
// those of clock:
//
//	lock                answers when it has the lock
//	release             answers when it began to release it
//	contend ROUNDS NS   takes the lock that often and works so long under it; it answers each
//	                    time when it asked and when it got it, and then "end"
//	wait COUNT          lets so many wait for the lock, and answers "waiting"
func participate(protocol, lock string) {
	type lease interface{ Release() error }
	acquire := func() (lease, error) {
		return lockfile.NewMutex(lock, lockfile.MutexOptions{}).Lock(context.Background())
	}
	if protocol != "lockfile" {
		m := properlockfile.NewMutex(lock, properlockfile.MutexOptions{})
		acquire = func() (lease, error) { return m.Lock(context.Background()) }
	}
	check := func(err error) {
		if err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
	}
	var held lease
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		words := strings.Fields(lines.Text())
		number := func(i int) int {
			n, err := strconv.Atoi(words[i])
			check(err)
			return n
		}
		var err error
		switch words[0] {
		case "lock":
			held, err = acquire()
			check(err)
			fmt.Println(clock())
		case "release":
			before := clock()
			check(held.Release())
			fmt.Println(before)
		case "contend":
			for range number(1) {
				asked := clock()
				l, err := acquire()
				got := clock()
				check(err)
				spin(time.Duration(number(2)))
				check(l.Release())
				fmt.Println(asked, got)
			}
			fmt.Println("end")
		case "wait":
			for range number(1) {
				go func() { _, _ = acquire() }()
			}
			fmt.Println("waiting")
		}
	}
}

// A side is one of those that are compared.
type side struct {
	name     string
	protocol string
	command  func(lock string) *exec.Cmd
}

// sides returns Go's and Node's participants of a protocol. Node's is there if its packages
// are installed.
func sides(b *testing.B, protocol string) []side {
	list := []side{{"Go", protocol, func(lock string) *exec.Cmd {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), asParticipant+"="+protocol+" "+lock)
		return c
	}}}
	if _, err := os.Stat("../../conformance/node/node_modules"); err != nil {
		b.Logf("Node is not measured, since its packages are not installed: %v", err)
		return list
	}
	return append(list, side{"Node", protocol, func(lock string) *exec.Cmd {
		return exec.Command("node", "participant.js", protocol, lock)
	}})
}

// A participant is a process that takes part.
type participant struct {
	b       *testing.B
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Scanner
}

func (s side) start(b *testing.B, lock string) *participant {
	p := &participant{b: b, command: s.command(lock)}
	p.command.Stderr = os.Stderr
	var err error
	if p.in, err = p.command.StdinPipe(); err != nil {
		b.Fatal(err)
	}
	out, err := p.command.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	p.out = bufio.NewScanner(out)
	if err := p.command.Start(); err != nil {
		b.Fatal(err)
	}
	return p
}

func (p *participant) tell(words ...any) { fmt.Fprintln(p.in, words...) }

// hear returns the numbers of the next answer, or none if it is a word.
func (p *participant) hear() (numbers []int64) {
	p.b.Helper()
	if !p.out.Scan() {
		p.b.Fatalf("a participant has ended: %v", p.out.Err())
	}
	text := p.out.Text()
	if strings.HasPrefix(text, "error") {
		p.b.Fatal(text)
	}
	for _, word := range strings.Fields(text) {
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return nil
		}
		numbers = append(numbers, n)
	}
	return numbers
}

func (p *participant) end() {
	p.in.Close()
	_ = p.command.Wait()
}

// kill ends a participant that does not end by itself, as it waits for a lock.
func (p *participant) kill() {
	_ = p.command.Process.Kill()
	_ = p.command.Wait()
}
