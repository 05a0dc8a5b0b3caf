package lockdir_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-c461eb89/nodelock/internal/clock"
	"github.com/seed-c461eb89/nodelock/internal/exithook"
	"github.com/seed-c461eb89/nodelock/internal/host"
	"github.com/seed-c461eb89/nodelock/internal/lockdir"
	"github.com/seed-c461eb89/nodelock/internal/sim"
)

// A context that ends in a pause of one acquisition ends it at once, with its cause.
func TestCancelledInAPause(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a.lockdir")
	if err := errors.Join(os.Mkdir(dir, 0o777), os.WriteFile(filepath.Join(dir, "x"), nil, 0o666)); err != nil {
		t.Fatal(err)
	}
	stubborn := sim.System{Do: sim.Refuse(sim.Real, "EPERM", sim.Unlink)}
	lock, err := lockdir.New(stubborn, clock.System{}, host.System{}, lockdir.System(), exithook.None{}).Directory(dir, "a", lockdir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, after := range []time.Duration{0, 60 * time.Millisecond, 800 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			cause := errors.New("enough")
			ctx, cancel := context.WithCancelCause(context.Background())
			began := time.Now()
			done := make(chan error)
			go func() {
				_, err := lock.Acquire(ctx)
				done <- err
			}()
			time.Sleep(after) // of the bubble's time
			synctest.Wait()
			cancel(cause)
			if err := <-done; err != cause {
				t.Errorf("cancelled after %v: %v", after, err)
			}
			if took := time.Since(began); took != after {
				t.Errorf("cancelled after %v, it took %v", after, took)
			}
		})
	}
	names, err := os.ReadDir(dir)
	if err != nil || len(names) != 1 {
		t.Errorf("left: %v, %v", names, err)
	}
}
