package mutex

import (
	"context"
	"errors"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-c461eb89/nodelock/compat/nodeerror"
	"github.com/seed-c461eb89/nodelock/internal/callerror"
	"github.com/seed-c461eb89/nodelock/internal/filesystem"
	"github.com/seed-c461eb89/nodelock/internal/sim"
)

// Each part of the promises is left out once, in a situation that needs it.

func TestGuardIsNeeded(t *testing.T) {
	for _, omit := range []bool{false, true} {
		without := func(i *interposer) sim.System {
			if omit {
				return sim.System{Do: sim.WithoutGuard(i.Do)}
			}
			return i.System
		}
		each(t, func(t *testing.T, target Target, path string, makeLock func() error) {
			makeStale(t, path, makeLock)
			winner := participant(without(interpose(nil)))
			var won *Lease
			var lost error
			// When one has judged the lock, another takes it over, and releases it when the
			// first has renamed it.
			steal := once(func() { won, _ = winner.Mutex(target, quick).TryLock(t.Context()) }, 1, sim.RenameNoReplace)
			release := once(func() {
				if won != nil {
					lost = won.Release()
				}
			}, 1, sim.Lstat)
			loser := participant(without(interpose(func(c *sim.Call) error { return errors.Join(steal(c), release(c)) })))
			l, err := loser.Mutex(target, quick).TryLock(t.Context())
			if broken := lost != nil; broken != omit {
				t.Errorf("omitted %t: a live lock is lost: %v", omit, lost)
			}
			if err == nil {
				must(t, l.Release())
			}
			_ = os.Remove(path)
		})
	}
}

func TestIdentityIsNeeded(t *testing.T) {
	for _, omit := range []bool{false, true} {
		each(t, func(t *testing.T, target Target, path string, makeLock func() error) {
			files := sim.System{Do: sim.Real}
			if omit {
				files.Do = sim.WithoutIdentity(sim.Real)
			}
			e := participant(files)
			o := quick
			o.Update = time.Hour
			l, err := e.Mutex(target, o).TryLock(t.Context())
			must(t, err)
			// It is late, and another takes the lock over.
			age(t, path, time.Hour)
			other := participant(nil)
			otherLease, err := other.Mutex(target, quick).TryLock(t.Context())
			must(t, err)
			err = l.Release()
			_, statErr := os.Stat(path)
			if broken := err == nil || statErr != nil; broken != omit {
				t.Errorf("omitted %t: released another's lock: %v, %v", omit, err, statErr)
			}
			if err := otherLease.Release(); (err != nil) != omit {
				t.Errorf("omitted %t: %v", omit, err)
			}
			<-otherLease.Done()
		})
	}
}

func TestClaimIsNeeded(t *testing.T) {
	for _, omit := range []bool{false, true} {
		each(t, func(t *testing.T, target Target, path string, makeLock func() error) {
			makeStale(t, path, makeLock)
			// A Node program, which knows no guard, takes the lock over at the last moment.
			replace := func() { must(t, os.Remove(path)); must(t, makeLock()) }
			files := interpose(once(replace, 1, sim.RenameNoReplace))
			system := files.System
			if omit {
				files.before = once(replace, 1, sim.Unlink, sim.Rmdir)
				system.Do = sim.WithoutClaim(files.Do)
			}
			e := participant(system)
			l, err := e.Mutex(target, quick).TryLock(t.Context())
			if broken := err == nil; broken != omit {
				t.Errorf("omitted %t: two owners: %v", omit, err)
			}
			if err == nil {
				must(t, l.Release())
				return
			}
			only(t, path, "x.lock")
			must(t, os.Remove(path))
		})
	}
}

// A participant ends at any of its calls. The next one gets the lock when it is stale,
// and when he has released it nothing is left.
func TestCrashAtEveryCall(t *testing.T) {
	each(t, func(t *testing.T, target Target, path string, makeLock func() error) {
		for _, situation := range []string{"free", "stale", "left aside"} {
			for n, crashed := int32(1), true; crashed; n++ {
				switch situation {
				case "stale":
					makeStale(t, path, makeLock)
				case "left aside":
					makeStale(t, path, makeLock)
					must(t, os.Rename(path, aside(path)))
					makeStale(t, path, makeLock)
				}
				var calls atomic.Int32
				var dead atomic.Bool
				var at string
				files := interpose(func(c *sim.Call) error {
					if dead.Load() {
						return errors.New("dead")
					}
					if calls.Add(1) == n {
						at = c.Op.Name() + " " + c.Path
						dead.Store(true)
						runtime.Goexit()
					}
					return nil
				})
				e := participant(files)
				o := quick
				o.Update = time.Hour
				o.Settle = time.Millisecond
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					l, err := e.Mutex(target, o).TryLock(t.Context())
					if err != nil {
						t.Error(err)
						return
					}
					if err := l.Release(); err != nil {
						t.Error(err)
					}
				}()
				<-ended
				crashed = dead.Load()
				files.die()
				if _, err := os.Lstat(path); err == nil {
					age(t, path, time.Hour)
				}
				next := participant(nil)
				l, err := next.Mutex(target, quick).TryLock(t.Context())
				if err != nil {
					t.Fatalf("%s, %s: the next one: %v", situation, at, err)
				}
				must(t, l.Release())
				only(t, path)
				if t.Failed() {
					t.Fatalf("%s: crash at call %d: %s", situation, n, at)
				}
			}
		}
	})
}

// Filesystems without a guard, without a rename that does not replace, and without links.
func TestPoorFilesystems(t *testing.T) {
	for _, lacks := range []string{"guard", "rename", "rename link", "guard rename link"} {
		t.Run(lacks, func(t *testing.T) {
			each(t, func(t *testing.T, target Target, path string, makeLock func() error) {
				do := sim.Do(sim.Real)
				for _, lack := range strings.Fields(lacks) {
					switch lack {
					case "guard":
						do = sim.WithoutGuard(do)
					case "rename":
						do = sim.Refuse(do, "EINVAL", sim.RenameNoReplace)
					case "link":
						do = sim.Refuse(do, "EPERM", sim.Link)
					}
				}
				e := participant(sim.System{Do: do})
				m := e.Mutex(target, quick)
				for range 2 {
					makeStale(t, path, makeLock)
					l, err := m.TryLock(t.Context())
					must(t, err)
					if l.Guarded() == strings.Contains(lacks, "guard") || !l.Reclaimed() {
						t.Errorf("guarded %v, reclaimed %v", l.Guarded(), l.Reclaimed())
					}
					time.Sleep(2 * quick.Update)
					must(t, l.Err())
					only(t, path, "x.lock")
					must(t, l.Release())
					only(t, path)
				}
				// What is not ours is spared.
				o := quick
				o.Update = time.Hour
				l, err := e.Mutex(target, o).TryLock(t.Context())
				must(t, err)
				must(t, os.Remove(path))
				must(t, makeLock())
				coded(t, l.Release(), "ECOMPROMISED")
				only(t, path, "x.lock")
			})
		})
	}
}

// Without a guard, what lies aside may be in use by a participant that is alive.
func TestAsideWithoutGuard(t *testing.T) {
	each(t, func(t *testing.T, target Target, path string, makeLock func() error) {
		makeStale(t, path, makeLock)
		must(t, os.Rename(path, aside(path)))
		makeStale(t, path, makeLock)
		e := participant(sim.System{Do: sim.WithoutGuard(sim.Real)})
		if _, err := e.Mutex(target, quick).TryLock(t.Context()); err == nil {
			t.Error("another's claim is ignored")
		}
		time.Sleep(quick.Stale + 100*time.Millisecond)
		l, err := e.Mutex(target, quick).TryLock(t.Context())
		must(t, err)
		must(t, l.Release())
		only(t, path)
	})
}

// A process that stops while it has the guard keeps no lock from being renewed, and is
// not waited for beyond all patience.
func TestGuardBusy(t *testing.T) {
	each(t, func(t *testing.T, target Target, path string, _ func() error) {
		e := participant(nil)
		o := quick
		o.Stale = 300 * time.Millisecond
		l, err := e.Mutex(target, o).Lock(t.Context())
		must(t, err)
		h, err := filesystem.OS{}.TryGuard(strings.TrimSuffix(path, "x.lock"))
		must(t, err)
		time.Sleep(3 * o.Stale)
		must(t, l.Err())
		stat, err := os.Stat(path)
		must(t, err)
		if age := time.Since(stat.ModTime()); age > o.Stale {
			t.Errorf("the lock was renewed %v ago", age)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		other := participant(nil)
		if _, err := other.Mutex(target, o).Lock(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		must(t, filesystem.OS{}.Unguard(h))
		must(t, l.Err())
		must(t, l.Release())
		only(t, path)
	})
}

// A release that cannot be guarded fails, and can be tried again.
func TestReleaseWhileGuardBusy(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	each(t, func(t *testing.T, target Target, path string, _ func() error) {
		e := participant(nil)
		l, err := e.Mutex(target, quick).Lock(t.Context())
		must(t, err)
		h, err := filesystem.OS{}.TryGuard(strings.TrimSuffix(path, "x.lock"))
		must(t, err)
		if err := l.Release(); err != error(ErrGuardBusy) {
			t.Error(err)
		}
		coded(t, context.Cause(l.Context()), "ERELEASED")
		only(t, path, "x.lock")
		must(t, filesystem.OS{}.Unguard(h))
		must(t, l.Release())
		only(t, path)
		empty(t, e)
	})
}

// Errors of the heartbeat are not a loss until the threshold is past.
func TestHeartbeatErrors(t *testing.T) {
	each(t, func(t *testing.T, target Target, path string, _ func() error) {
		var broken atomic.Bool
		e := participant(interpose(func(c *sim.Call) error {
			if c.Op == sim.Futimes && broken.Load() {
				return callerror.FromCode("EIO", "futime", "", "")
			}
			return nil
		}))
		o := quick
		o.Stale = 400 * time.Millisecond
		l, err := e.Mutex(target, o).Lock(t.Context())
		must(t, err)
		broken.Store(true)
		time.Sleep(200 * time.Millisecond)
		must(t, l.Err())
		broken.Store(false)
		time.Sleep(500 * time.Millisecond)
		must(t, l.Err())
		broken.Store(true)
		<-l.Done()
		stat, err := os.Stat(path)
		must(t, err)
		if d := time.Since(stat.ModTime()); d < o.Stale {
			t.Errorf("told %v after the last heartbeat", d)
		}
		if !errors.Is(context.Cause(l.Context()), ErrCompromised) || !strings.Contains(context.Cause(l.Context()).Error(), "EIO") {
			t.Error(context.Cause(l.Context()))
		}
		coded(t, l.Release(), "ECOMPROMISED")
		only(t, path, "x.lock")
	})
}

// A lock that looks stale is watched for a while, and left alone if it is renewed.
func TestDoubt(t *testing.T) {
	each(t, func(t *testing.T, target Target, path string, makeLock func() error) {
		e := participant(nil)
		o := quick
		o.Doubt = 100 * time.Millisecond
		m := e.Mutex(target, o)
		makeStale(t, path, makeLock)
		start := time.Now()
		l, err := m.TryLock(t.Context())
		must(t, err)
		if d := time.Since(start); d < o.Doubt {
			t.Errorf("taken over after %v", d)
		}
		must(t, l.Release())

		makeStale(t, path, makeLock)
		for _, by := range []time.Duration{0, time.Minute} {
			renewed := time.AfterFunc(o.Doubt/2, func() { age(t, path, by) })
			if _, err := m.TryLock(t.Context()); nodeerror.Code(err) != target.held(path).Code {
				t.Error(err)
			}
			renewed.Stop()
			age(t, path, time.Hour)
		}
		ctx, cancel := context.WithTimeout(t.Context(), o.Doubt/4)
		defer cancel()
		if _, err := m.Lock(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		only(t, path, "x.lock")
		must(t, os.Remove(path))
	})
}

func TestWhatIsNoLock(t *testing.T) {
	directory := t.TempDir()
	t.Chdir(directory)
	must(t, os.Mkdir("d", 0o777))
	must(t, os.WriteFile("f", nil, 0o666))
	must(t, os.Symlink("f", "l"))
	must(t, os.Mkdir("full", 0o777))
	must(t, os.WriteFile("full/x", nil, 0o666))
	must(t, os.WriteFile("content", []byte("data"), 0o666))
	for _, p := range []string{"d", "f", "full", "content"} {
		age(t, p, time.Hour)
	}
	e := participant(nil)
	mtime := func() bool { return false }
	for _, row := range []struct {
		target  Target
		code    string
		notLock bool
	}{
		{Lockfile("d", mtime), "EISDIR", true},
		{Lockfile("l", mtime), "ELOOP", true},
		{Lockfile("content", mtime), "EFTYPE", true},
		{Lockfile("no/where", mtime), "ENOENT", false},
		{Lockfile("a\x00b", mtime), "ERR_INVALID_ARG_VALUE", false},
		{ProperLockfile(".", "f", false), "ENOTDIR", true},
		{ProperLockfile(".", "l", false), "ENOTDIR", true},
		{ProperLockfile(".", "full", false), "ENOTEMPTY", false},
		{ProperLockfile("nowhere", "", false), "ENOENT", false},
	} {
		_, err := e.Mutex(row.target, quick).TryLock(t.Context())
		coded(t, err, row.code)
		if is := errors.Is(err, ErrNotLock); is != row.notLock {
			t.Errorf("%v: ErrNotLock: %v", err, is)
		}
	}
	only(t, directory+"/x", "content", "d", "f", "full", "l")
	empty(t, e)
}

// A name so long that nothing can be added to it.
func TestLongName(t *testing.T) {
	path := t.TempDir() + "/" + strings.Repeat("n", 255)
	e := participant(nil)
	l, err := e.Mutex(Lockfile(path, func() bool { return true }), quick).TryLock(t.Context())
	must(t, err)
	must(t, l.Release())
	only(t, path)
}
