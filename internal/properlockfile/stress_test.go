package properlockfile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-c461eb89/nodelock/internal/clock"
	"github.com/seed-c461eb89/nodelock/internal/exithook"
	"github.com/seed-c461eb89/nodelock/internal/filesystem"
	"github.com/seed-c461eb89/nodelock/internal/retry"
)

// A quickClock is the system's, whose timers are a thousand times faster.
type quickClock struct{ clock.System }

func (quickClock) Wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d / 1000):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (quickClock) AfterFunc(d time.Duration, f func()) clock.Timer {
	return quickTimer{time.AfterFunc(d/1000, f)}
}

type quickTimer struct{ *time.Timer }

func (t quickTimer) Reset(d time.Duration) { t.Timer.Reset(d / 1000) }

// touch makes a file to be locked.
func touch(t testing.TB, dir, name string) string {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	return file
}

// Heartbeats, releases of both kinds and questions meet on real directories. Nothing is
// left, and nobody hears of a loss.
func TestHeartbeatsMeetReleases(t *testing.T) {
	dir := t.TempDir()
	for _, contract := range []Contract{V4, V1} {
		e := New(filesystem.OS{}, quickClock{}, exithook.None{})
		var wait sync.WaitGroup
		for i := range 20 {
			file := touch(t, dir, fmt.Sprint(i))
			o := &Options{
				Update: time.Second, Contract: contract,
				OnCompromised: func(err error) { t.Errorf("%s: compromised: %v", file, err) },
			}
			wait.Go(func() {
				for round := range 40 {
					l, err := e.Lock(context.Background(), file, o)
					if err != nil {
						t.Error(err)
						return
					}
					done := l.Done()
					time.Sleep(time.Duration(round%7) * 500 * time.Microsecond)
					if err := l.Err(); err != nil {
						t.Errorf("held: %v", err)
					}
					var other sync.WaitGroup
					var released atomic.Int32
					count := func(err error) {
						if err == nil {
							released.Add(1)
						} else if !errors.Is(err, ErrReleased) && !errors.Is(err, ErrNotAcquired) {
							t.Error(err)
						}
					}
					other.Go(func() { count(l.Release()) })
					count(e.Unlock(file, o))
					other.Wait()
					if n := released.Load(); n != 1 {
						t.Errorf("released %d times", n)
					}
					<-done
					if err := l.Err(); !errors.Is(err, ErrReleased) {
						t.Errorf("released: %v", err)
					}
				}
			})
		}
		wait.Wait()
		if locks, _ := filepath.Glob(filepath.Join(dir, "*.lock")); len(locks) > 0 {
			t.Errorf("left: %v", locks)
		}
	}
}

// Participants with a registry each contend for one lock: no two have it at once.
func TestParticipants(t *testing.T) {
	file := touch(t, t.TempDir(), "f")
	var holders, taken atomic.Int32
	var wait sync.WaitGroup
	const participants, rounds = 8, 25
	for i := range participants {
		o := &Options{
			Contract:      Contract(i % 2),
			Retries:       retry.Options{Count: 1, Forever: true, MinTimeout: time.Second, Randomize: true},
			OnCompromised: func(err error) { t.Errorf("compromised: %v", err) },
		}
		e := New(filesystem.OS{}, quickClock{}, exithook.None{})
		wait.Go(func() {
			for range rounds {
				l, err := e.Lock(context.Background(), file, o)
				if err != nil {
					t.Error(err)
					return
				}
				if n := holders.Add(1); n != 1 {
					t.Errorf("%d holders", n)
				}
				time.Sleep(50 * time.Microsecond)
				holders.Add(-1)
				taken.Add(1)
				if err := l.Release(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	if n := taken.Load(); n != participants*rounds {
		t.Errorf("taken %d times, want %d", n, participants*rounds)
	}
}
