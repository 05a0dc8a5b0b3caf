//go:build unix

package properlockfile_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed-c461eb89/nodelock/compat/properlockfile"
)

// holderVariable makes the test binary a process that holds the locks of f and g in that
// directory: f by 4.1.2's contract, g by 1.2.0's.
const holderVariable = "NODELOCK_TEST_HOLDER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(holderVariable); dir != "" {
		if err := hold(dir, os.Args[1]); err != nil {
			fmt.Println(err)
		}
		os.Exit(3)
	}
	os.Exit(m.Run())
}

func hold(dir, how string) error {
	signals := make(chan os.Signal, 1)
	switch how {
	case "listens":
		signal.Notify(signals, syscall.SIGTERM)
	case "cleans up on signals":
		properlockfile.CleanupOnSignals()
	}
	o := properlockfile.Options{NoRealpath: true, Stale: 2 * time.Second}
	if how == "throws" {
		o.OnCompromised = properlockfile.Throw
	}
	f, err := properlockfile.Lock(context.Background(), filepath.Join(dir, "f"), o)
	if err != nil {
		return err
	}
	o.Contract, o.OnCompromised = properlockfile.V1, nil
	g, err := properlockfile.LockSync(filepath.Join(dir, "g"), o)
	if err != nil {
		return err
	}
	switch how {
	case "ends":
		os.Exit(0)
	case "cleans":
		properlockfile.Cleanup()
		for _, lease := range []*properlockfile.Lease{f, g} {
			<-lease.Done()
			if err := lease.Release(); err != properlockfile.ErrReleased {
				return err
			}
		}
		os.Exit(0)
	case "throws", "does not throw":
		if err := os.Remove(f.Path()); err != nil {
			return err
		}
		<-f.Done()
		time.Sleep(100 * time.Millisecond) // for the panic
		os.Exit(0)
	}
	fmt.Println("held")
	<-signals
	os.Exit(0)
	return nil
}

// A process that holds locks ends in several ways.
func TestExit(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		how    string
		signal syscall.Signal // 0: it ends by itself
		ends   string
		left   string
		says   string
	}{
		{"ends", 0, "exit status 0", "f.lock g.lock", ""},
		{"cleans", 0, "exit status 0", "", ""},
		{"waits", syscall.SIGTERM, "signal: terminated", "f.lock g.lock", ""},
		{"cleans up on signals", syscall.SIGTERM, "signal: terminated", "", ""},
		{"cleans up on signals", syscall.SIGINT, "signal: interrupt", "", ""},
		{"cleans up on signals", syscall.SIGKILL, "signal: killed", "f.lock g.lock", ""},
		{"listens", syscall.SIGTERM, "exit status 0", "f.lock g.lock", ""},
		{"throws", 0, "exit status 2", "g.lock", "ENOENT: no such file or directory, stat '"},
		{"does not throw", 0, "exit status 0", "g.lock", ""},
	} {
		t.Run(fmt.Sprintf("%s %v", test.how, test.signal), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			var stderr strings.Builder
			cmd := exec.Command(os.Args[0], test.how)
			cmd.Env = append(os.Environ(), holderVariable+"="+dir)
			cmd.Stderr = &stderr
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
			_ = cmd.Wait()
			if ends := cmd.ProcessState.String(); ends != test.ends {
				t.Errorf("it ended with %s, want %s\n%s", ends, test.ends, stderr.String())
			}
			entries, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			var left []string
			for _, e := range entries {
				left = append(left, e.Name())
			}
			if left := strings.Join(left, " "); left != test.left {
				t.Errorf("left %q, want %q", left, test.left)
			}
			if !strings.Contains(stderr.String(), test.says) || test.says == "" && stderr.Len() > 0 {
				t.Errorf("it said %q", stderr.String())
			}
		})
	}
}
