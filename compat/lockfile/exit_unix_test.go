//go:build unix

package lockfile_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/seed-c461eb89/nodelock/compat/lockfile"
)

// holderVariable makes the test binary a process that holds the lock of that path.
const holderVariable = "NODELOCK_TEST_HOLDER"

func TestMain(m *testing.M) {
	if path := os.Getenv(holderVariable); path != "" {
		hold(path, os.Args[1])
	}
	os.Exit(m.Run())
}

// hold takes a lock and does what the test is about.
func hold(path, how string) {
	signals := make(chan os.Signal, 1)
	switch how {
	case "listens":
		signal.Notify(signals, syscall.SIGTERM)
	case "cleans up on signals":
		lockfile.CleanupOnSignals()
	}
	if _, err := lockfile.LockSync(path, lockfile.Options{}); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	switch how {
	case "takeover":
		// A lock that was won by takeover is not removed at exit, and path.STALE is not
		// there any more.
		if _, err := lockfile.Lock(context.Background(), path, lockfile.Options{Stale: -1}); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		lockfile.Cleanup()
		os.Exit(0)
	case "cleanup":
		lockfile.Cleanup()
		os.Exit(0)
	case "forgets":
		os.Exit(0)
	}
	fmt.Println("held")
	<-signals
	fmt.Println("signalled")
	os.Exit(0)
}

// TestExit ends a holder in the ways that a process ends in.
func TestExit(t *testing.T) {
	tests := []struct {
		how    string
		signal syscall.Signal // 0: it ends by itself
		dies   bool           // of the signal
		left   bool
	}{
		{"cleanup", 0, false, false},
		{"forgets", 0, false, true},
		{"takeover", 0, false, true},
		{"waits", syscall.SIGTERM, true, true},
		{"cleans up on signals", syscall.SIGTERM, true, false},
		{"cleans up on signals", syscall.SIGHUP, true, false},
		{"cleans up on signals", syscall.SIGKILL, true, true},
		{"listens", syscall.SIGTERM, false, true},
		{"listens", syscall.SIGHUP, true, true},
	}
	for _, test := range tests {
		t.Run(fmt.Sprintf("%s %v", test.how, test.signal), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.lock")
			cmd := exec.Command(os.Args[0], test.how)
			cmd.Env = append(os.Environ(), holderVariable+"="+path)
			stdout, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer cmd.Process.Kill()
			if lines := bufio.NewScanner(stdout); test.signal != 0 {
				if !lines.Scan() || lines.Text() != "held" {
					t.Fatalf("the holder says %q", lines.Text())
				}
				if err := cmd.Process.Signal(test.signal); err != nil {
					t.Fatal(err)
				}
			}
			err = cmd.Wait()
			status := cmd.ProcessState.Sys().(syscall.WaitStatus)
			if test.dies != status.Signaled() || test.dies && status.Signal() != test.signal || !test.dies && err != nil {
				t.Errorf("it ended with %v", cmd.ProcessState)
			}
			_, err = os.Lstat(path)
			if left := !errors.Is(err, fs.ErrNotExist); left != test.left {
				t.Errorf("the lock is left: %v, want %v", left, test.left)
			}
		})
	}
}
