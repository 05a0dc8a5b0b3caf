package mutex

import (
	"errors"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

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

// Filesystems without a guard, and without a rename that does not replace, whatever they
// say to that.
func TestPoorFilesystems(t *testing.T) {
	for _, lacks := range []string{"guard", "rename", "guard rename"} {
		t.Run(lacks, func(t *testing.T) {
			each(t, func(t *testing.T, target Target, path string, makeLock func() error) {
				do := sim.Do(sim.Real)
				for _, lack := range strings.Fields(lacks) {
					switch lack {
					case "guard":
						do = sim.WithoutGuard(do)
					case "rename":
						do = sim.Refuse(do, "ERANGE", sim.RenameNoReplace)
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

// Without a guard, what lies aside may be in use by a participant that is alive: it is left
// alone, and the lock is removed in its place. So is what is no lock, with a guard too.
func TestAsideIsLeftAlone(t *testing.T) {
	each(t, func(t *testing.T, target Target, path string, makeLock func() error) {
		for _, guarded := range []bool{false, true} {
			do := sim.Do(sim.Real)
			if guarded {
				must(t, os.Mkdir(aside(path), 0o777))
				must(t, os.WriteFile(aside(path)+"/entry", nil, 0o666))
			} else {
				do = sim.WithoutGuard(do)
				makeStale(t, path, makeLock)
				must(t, os.Rename(path, aside(path)))
			}
			makeStale(t, path, makeLock)
			l, err := participant(sim.System{Do: do}).Mutex(target, quick).TryLock(t.Context())
			must(t, err)
			must(t, l.Release())
			only(t, path, "x.lock"+asideSuffix)
			must(t, os.RemoveAll(aside(path)))
		}
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
