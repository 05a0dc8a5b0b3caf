package lease_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-c461eb89/nodelock/compat/lockdir"
	"github.com/seed-c461eb89/nodelock/compat/lockfile"
	"github.com/seed-c461eb89/nodelock/compat/nodeerror"
	"github.com/seed-c461eb89/nodelock/compat/properlockfile"
	"github.com/seed-c461eb89/nodelock/internal/lease"
)

// A Lease is what the leases of all public packages have in common.
type Lease interface {
	lease.Lease
	fmt.Stringer
}

// A way is one of the ways to hold a lock.
type way struct {
	name string
	// take takes the lock that is called name in a directory, at once or not at all, and
	// wait waits for it.
	take, wait func(ctx context.Context, dir, name string) (Lease, error)
	// do is nil if there is no Do.
	do func(ctx context.Context, dir, name string, f func(context.Context) error) error
	// path returns where the lock is.
	path func(dir, name string) string

	locked, compromised, released error
	// code is that of a lock that is held.
	code string
}

func suffixed(suffix string) func(dir, name string) string {
	return func(dir, name string) string { return filepath.Join(dir, name+suffix) }
}

// leaseOf keeps a nil lease from becoming a Lease that is not nil.
func leaseOf[L Lease](l L, err error) (Lease, error) {
	if err != nil {
		return nil, err
	}
	return l, nil
}

func fileMutex(dir, name string) *lockfile.Mutex {
	return lockfile.NewMutex(filepath.Join(dir, name+".lock"), lockfile.MutexOptions{})
}

func properMutex(dir, name string) *properlockfile.Mutex {
	return properlockfile.NewMutex(filepath.Join(dir, name), properlockfile.MutexOptions{NoRealpath: true})
}

func directoryLock(dir, name string) *lockdir.Lock {
	l, err := lockdir.NewDirectory(filepath.Join(dir, name+".lockdir"), name, lockdir.Options{})
	if err != nil {
		panic(err)
	}
	return l
}

func proper(contract properlockfile.Contract) way {
	options := func(retries int) properlockfile.Options {
		return properlockfile.Options{
			NoRealpath: true, Contract: contract,
			Retries: properlockfile.Retries{Count: retries, Factor: 1, MinTimeout: 10 * time.Millisecond},
		}
	}
	return way{
		name: fmt.Sprintf("properlockfile.Lock, contract %d", contract),
		take: func(ctx context.Context, dir, name string) (Lease, error) {
			return leaseOf(properlockfile.Lock(ctx, filepath.Join(dir, name), options(-1)))
		},
		wait: func(ctx context.Context, dir, name string) (Lease, error) {
			return leaseOf(properlockfile.Lock(ctx, filepath.Join(dir, name), options(1e6)))
		},
		path:   suffixed(".lock"),
		locked: properlockfile.ErrLocked, compromised: properlockfile.ErrCompromised, released: properlockfile.ErrReleased,
		code: "ELOCKED",
	}
}

var ways = []way{
	{
		name: "lockfile.Lock",
		take: func(ctx context.Context, dir, name string) (Lease, error) {
			return leaseOf(lockfile.Lock(ctx, filepath.Join(dir, name+".lock"), lockfile.Options{}))
		},
		wait: func(ctx context.Context, dir, name string) (Lease, error) {
			return leaseOf(lockfile.Lock(ctx, filepath.Join(dir, name+".lock"), lockfile.Options{Wait: time.Hour, PollPeriod: 10 * time.Millisecond}))
		},
		path:   suffixed(".lock"),
		locked: lockfile.ErrLocked, compromised: lockfile.ErrCompromised, released: lockfile.ErrReleased,
		code: "EEXIST",
	},
	{
		name: "lockfile.Mutex",
		take: func(ctx context.Context, dir, name string) (Lease, error) {
			return leaseOf(fileMutex(dir, name).TryLock(ctx))
		},
		wait: func(ctx context.Context, dir, name string) (Lease, error) {
			return leaseOf(fileMutex(dir, name).Lock(ctx))
		},
		do: func(ctx context.Context, dir, name string, f func(context.Context) error) error {
			return fileMutex(dir, name).Do(ctx, f)
		},
		path:   suffixed(".lock"),
		locked: lockfile.ErrLocked, compromised: lockfile.ErrCompromised, released: lockfile.ErrReleased,
		code: "EEXIST",
	},
	proper(properlockfile.V4),
	proper(properlockfile.V1),
	{
		name: "properlockfile.Mutex",
		take: func(ctx context.Context, dir, name string) (Lease, error) {
			return leaseOf(properMutex(dir, name).TryLock(ctx))
		},
		wait: func(ctx context.Context, dir, name string) (Lease, error) {
			return leaseOf(properMutex(dir, name).Lock(ctx))
		},
		do: func(ctx context.Context, dir, name string, f func(context.Context) error) error {
			return properMutex(dir, name).Do(ctx, f)
		},
		path:   suffixed(".lock"),
		locked: properlockfile.ErrLocked, compromised: properlockfile.ErrCompromised, released: properlockfile.ErrReleased,
		code: "ELOCKED",
	},
	{
		name: "lockdir",
		take: func(ctx context.Context, dir, name string) (Lease, error) {
			return leaseOf(directoryLock(dir, name).Acquire(ctx))
		},
		wait: func(ctx context.Context, dir, name string) (Lease, error) {
			return leaseOf(directoryLock(dir, name).AcquireWait(ctx))
		},
		do: func(ctx context.Context, dir, name string, f func(context.Context) error) error {
			return directoryLock(dir, name).Do(ctx, f)
		},
		path:   suffixed(".lockdir"),
		locked: lockdir.ErrLocked, compromised: lockdir.ErrCompromised, released: lockdir.ErrReleased,
		code: "ECONFLICT",
	},
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func nothingLeft(t testing.TB, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range entries {
		t.Errorf("%s is left", e.Name())
	}
}

// ended reports whether Done and Context of a lease say that it has ended.
func ended(t *testing.T, l Lease) bool {
	t.Helper()
	var done bool
	select {
	case <-l.Done():
		done = true
	default:
	}
	if over := l.Context().Err() != nil; over != done || (l.Err() != nil) != done {
		t.Errorf("Done is closed: %v, Context has ended: %v, Err: %v", done, over, l.Err())
	}
	if done && context.Cause(l.Context()) != l.Err() {
		t.Errorf("the cause is %v, Err is %v", context.Cause(l.Context()), l.Err())
	}
	return done
}

// Every lock that is held is a lease, whose methods mean the same.
func TestLeases(t *testing.T) {
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			dir := t.TempDir()
			type key struct{}
			ctx := context.WithValue(t.Context(), key{}, "value")
			l, err := w.take(ctx, dir, "a")
			must(t, err)
			if ended(t, l) {
				t.Error("the lease has ended")
			}
			if l.Reclaimed() {
				t.Error("a free lock is reclaimed")
			}
			if want := w.path(dir, "a"); l.Path() != want {
				t.Errorf("the path is %s, want %s", l.Path(), want)
			}
			if _, err := os.Lstat(l.Path()); err != nil {
				t.Error(err)
			}
			if want := "lock '" + l.Path() + "': held"; l.String() != want {
				t.Errorf("%s, want %s", l, want)
			}
			if l.Context().Value(key{}) != "value" {
				t.Error("the context does not come from the caller's")
			}

			_, err = w.take(t.Context(), dir, "a")
			var e *nodeerror.Error
			if !errors.Is(err, w.locked) || !errors.As(err, &e) || e.Code != w.code {
				t.Errorf("a lock that is held: %v", err)
			}

			must(t, l.Release())
			nothingLeft(t, dir)
			if !ended(t, l) || !errors.Is(l.Err(), w.released) {
				t.Errorf("Err is %v", l.Err())
			}
			if want := "lock '" + l.Path() + "': " + l.Err().Error(); l.String() != want {
				t.Errorf("%s, want %s", l, want)
			}
			// A second release does nothing, also to a later lock.
			later, err := w.take(t.Context(), dir, "a")
			must(t, err)
			if err := l.Release(); !errors.Is(err, w.released) {
				t.Errorf("released again: %v", err)
			}
			if _, err := os.Lstat(later.Path()); err != nil || ended(t, later) {
				t.Errorf("the later lock is harmed: %v", err)
			}
			must(t, later.Release())
			nothingLeft(t, dir)
		})
	}
}

// The context that a lock was taken with ends the context of the lease, and not the lease.
func TestContextOfALease(t *testing.T) {
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			why := errors.New("why")
			dir := t.TempDir()
			ctx, cancel := context.WithCancelCause(t.Context())
			l, err := w.take(ctx, dir, "a")
			must(t, err)
			cancel(why)
			if context.Cause(l.Context()) != why {
				t.Errorf("the cause is %v", context.Cause(l.Context()))
			}
			if l.Err() != nil {
				t.Errorf("the lease has ended: %v", l.Err())
			}
			must(t, l.Release())
			nothingLeft(t, dir)
			if _, err := w.take(ctx, dir, "a"); err != why {
				t.Errorf("taken with a context that has ended: %v", err)
			}
			nothingLeft(t, dir)
		})
	}
}

func TestNilContext(t *testing.T) {
	for _, w := range ways {
		for _, take := range []func(context.Context, string, string) (Lease, error){w.take, w.wait} {
			func() {
				defer func() {
					if text, ok := recover().(string); !ok || !strings.Contains(text, "the context is nil") {
						t.Errorf("%s: panics with %q", w.name, text)
					}
				}()
				_, _ = take(nil, t.TempDir(), "a")
				t.Errorf("%s: does not panic", w.name)
			}()
		}
	}
}

// Do releases the lock when its function returns and when it panics, and reports what
// became of the lock.
func TestDo(t *testing.T) {
	why := errors.New("why")
	for _, w := range ways {
		if w.do == nil {
			continue
		}
		t.Run(w.name, func(t *testing.T) {
			dir := t.TempDir()
			for _, want := range []error{nil, why} {
				err := w.do(t.Context(), dir, "a", func(ctx context.Context) error {
					if _, err := os.Lstat(w.path(dir, "a")); err != nil || ctx.Err() != nil {
						t.Errorf("in the function: %v, %v", err, ctx.Err())
					}
					return want
				})
				if err != want {
					t.Errorf("%v, want %v", err, want)
				}
				nothingLeft(t, dir)
			}
			func() {
				defer func() {
					if p := recover(); p != why {
						t.Errorf("panics with %v", p)
					}
				}()
				_ = w.do(t.Context(), dir, "a", func(context.Context) error { panic(why) })
			}()
			nothingLeft(t, dir)

			// A loss is reported although the function did not notice.
			for _, want := range []error{nil, why} {
				err := w.do(t.Context(), dir, "a", func(context.Context) error {
					must(t, removeAll(w.path(dir, "a")))
					return want
				})
				if !errors.Is(err, w.compromised) || want != nil && !errors.Is(err, want) {
					t.Errorf("lost, and the function returned %v: %v", want, err)
				}
				nothingLeft(t, dir)
			}

			held, err := w.take(t.Context(), dir, "a")
			must(t, err)
			ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Millisecond, why)
			defer cancel()
			err = w.do(ctx, dir, "a", func(context.Context) error { panic("the lock is held") })
			if !errors.Is(err, why) || !errors.Is(err, w.locked) {
				t.Errorf("the context ends while it waits: %v", err)
			}
			must(t, held.Release())
		})
	}
}

// removeAll removes a lock, and the record in it if there is one.
func removeAll(path string) error {
	entries, _ := os.ReadDir(path)
	for _, e := range entries {
		if err := os.Remove(filepath.Join(path, e.Name())); err != nil {
			return err
		}
	}
	return os.Remove(path)
}

// A bubble of testing/synctest can hold a lock of each kind. The heartbeats come in its
// virtual time, and nothing of them is left when the lock is released: otherwise the bubble
// would not end.
func TestBubble(t *testing.T) {
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			// More than one bubble, and one after the other, because what the first has
			// left for later must not be the second's.
			for range 2 {
				dir := t.TempDir()
				synctest.Test(t, func(t *testing.T) {
					l, err := w.take(t.Context(), dir, "a")
					must(t, err)
					stat, err := os.Lstat(heartOf(t, l))
					must(t, err)
					time.Sleep(time.Minute)
					later, err := os.Lstat(heartOf(t, l))
					must(t, err)
					if beats := later.ModTime().After(stat.ModTime()) || later.ModTime().Before(time.Now().Add(time.Second)); beats != (w.name != "lockfile.Lock") {
						t.Errorf("it has a heartbeat: %v", beats)
					}
					if ended(t, l) {
						t.Errorf("lost: %v", l.Err())
					}
					// And a call that waits for it is woken in virtual time.
					waited := make(chan error)
					go func() {
						next, err := w.wait(t.Context(), dir, "a")
						if err == nil {
							err = next.Release()
						}
						waited <- err
					}()
					time.Sleep(time.Second)
					must(t, l.Release())
					must(t, <-waited)
				})
				nothingLeft(t, dir)
			}
		})
	}
}

// heartOf returns the file whose time the heartbeat of a lock sets.
func heartOf(t *testing.T, l Lease) string {
	t.Helper()
	entries, _ := os.ReadDir(l.Path())
	for _, e := range entries {
		return filepath.Join(l.Path(), e.Name())
	}
	return l.Path()
}
