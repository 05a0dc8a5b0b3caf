//go:build unix

package lease_test

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed-c461eb89/nodelock/compat/lockfile"
)

// The tests about signals run this test binary again, as a child that takes locks in the
// directory that the variable names. Its first argument says what it does.
const childVariable = "NODELOCK_LEASE_CHILD"

// signalled is how many processes each of the loops is tried with. The full number is
//
//	go test ./internal/lease -run Loop -signals 1000 -timeout 1h
var signalled = flag.Int("signals", 15, "how many processes are signalled in each loop of TestSignalInALoop")

func TestMain(m *testing.M) {
	if dir := os.Getenv(childVariable); dir != "" {
		child(dir, os.Args[1], os.Args[2])
		return
	}
	flag.Parse()
	os.Exit(m.Run())
}

func child(dir, what, name string) {
	ctx := context.Background()
	switch what {
	case "flush":
		// As the example of signal.NotifyContext does, with a lock of each kind held.
		ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM)
		for i, w := range ways {
			if _, err := w.take(ctx, dir, fmt.Sprint(i)); err != nil {
				panic(err)
			}
		}
		fmt.Println("ready")
		<-ctx.Done()
		stop()
		time.Sleep(time.Millisecond)
		fmt.Println("flushed")
	case "pauses", "no pauses":
		lockfile.CleanupOnSignals()
		fmt.Println("ready")
		for {
			for _, w := range ways {
				if w.name != name {
					continue
				}
				l, err := w.take(ctx, dir, "a")
				if err != nil {
					panic(err)
				}
				if what == "pauses" {
					time.Sleep(time.Millisecond)
				}
				// The clean-up may have released it by now.
				if err := l.Release(); err != nil && !errors.Is(err, w.released) {
					panic(err)
				}
				if what == "pauses" {
					time.Sleep(4 * time.Millisecond)
				}
			}
		}
	}
}

// signalChild runs a child and sends it a signal some time after it is ready. It returns
// what the child said afterwards.
func signalChild(t *testing.T, dir, what, name string, after time.Duration) (said []string, end *os.ProcessState) {
	t.Helper()
	cmd := exec.Command(os.Args[0], what, name)
	// The race detector would have the child wait for a second before it ends.
	cmd.Env = append(os.Environ(), childVariable+"="+dir, "GORACE=atexit_sleep_ms=0")
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	defer cmd.Process.Kill()
	lines := bufio.NewScanner(stdout)
	if !lines.Scan() || lines.Text() != "ready" {
		t.Fatalf("the child says %q", lines.Text())
	}
	time.Sleep(after)
	must(t, cmd.Process.Signal(syscall.SIGTERM))
	for lines.Scan() {
		said = append(said, lines.Text())
	}
	_ = cmd.Wait()
	return said, cmd.ProcessState
}

// A process that takes and releases a lock again and again leaves none behind, at whatever
// moment the signal arrives.
func TestSignalInALoop(t *testing.T) {
	processes := *signalled
	if testing.Short() {
		processes = min(processes, 3)
	}
	for _, w := range ways {
		for _, what := range []string{"pauses", "no pauses"} {
			t.Run(w.name+", "+what, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				left := 0
				for range processes {
					_, end := signalChild(t, dir, what, w.name, rand.N(10*time.Millisecond))
					if status := end.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != syscall.SIGTERM {
						t.Errorf("the child ended with %v", end)
					}
					entries, err := os.ReadDir(dir)
					must(t, err)
					for _, e := range entries {
						left++
						must(t, removeAll(dir+"/"+e.Name()))
					}
				}
				if left > 0 {
					t.Errorf("%d of %d processes left a lock", left, processes)
				}
				t.Logf("%d processes", processes)
			})
		}
	}
}

// A program that stops listening to a signal as soon as that has arrived, and then has
// something to do, lives to do it: holding a lock makes no difference.
func TestFlushAfterASignal(t *testing.T) {
	times := 100
	if testing.Short() {
		times = 10
	}
	for range times {
		dir := t.TempDir()
		said, end := signalChild(t, dir, "flush", "", 0)
		if strings.Join(said, " ") != "flushed" || !end.Success() {
			t.Fatalf("the child said %q and ended with %v", said, end)
		}
	}
}
