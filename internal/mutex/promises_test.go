package mutex

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-c461eb89/nodelock/internal/filesystem"
	"github.com/seed-c461eb89/nodelock/internal/sim"
)

// What a Mutex promises where clocks differ, times are coarse, calls hang and holders die.
// What it promises where calls fail is in faults_test.go.

// attempts has new participants try to take the lock for so long, none of which is to get it.
func (w *world) attempts(target Target, o Options, for_, pause time.Duration) {
	w.t.Helper()
	for began := time.Now(); time.Since(began) < for_; time.Sleep(pause) {
		if l, err := w.engine(rival).Mutex(target, o).TryLock(context.Background()); err == nil {
			w.t.Errorf("a live lock is taken after %v", time.Since(began))
			_ = l.Release()
			return
		}
	}
}

// A lock that was just taken, and one that is renewed in time, are not taken over where the
// filesystem's clock differs from this machine's: with the note, and without. The ctime is
// the filesystem's, whatever a holder does.
func TestClocksThatDiffer(t *testing.T) {
	for _, reach := range []filesystem.Reach{filesystem.ReachKernel, filesystem.ReachUnknown} {
		for _, ahead := range []time.Duration{30 * time.Second, -30 * time.Second} {
			for _, byCtime := range []bool{true, false} {
				inWorld(t, func(w *world) {
					w.tree.Reach, w.ahead = reach, ahead
					target := w.target
					if !w.proper {
						target = Lockfile("/x.lock", func() bool { return byCtime })
					}
					o := Options{Stale: 10 * time.Second, Update: 3 * time.Second, Poll: time.Second, Doubt: 50 * time.Millisecond}
					l, err := w.engine(subject).Mutex(target, o).Lock(context.Background())
					must(t, err)
					w.attempts(target, o, time.Minute, 57*time.Millisecond)
					must(t, l.Err())
					must(t, l.Release())
					w.clean()
				})
			}
		}
	}
}

// A lock whose time lies ahead is held until the clock catches up. One that is ahead by more
// than the threshold is taken over, unless it is renewed while a contender watches it for so
// long.
func TestTimeInTheFuture(t *testing.T) {
	o := Options{Stale: 10 * time.Second, Update: time.Second, Poll: 100 * time.Millisecond}
	for ahead, least := range map[time.Duration]time.Duration{time.Hour: o.Stale, o.Stale / 2: 3 * o.Stale / 2} {
		inWorld(t, func(w *world) {
			w.make("/x.lock", -ahead)
			began := time.Now()
			l := w.lock(subject, o)
			if waited := time.Since(began); !l.Reclaimed() || waited < least || waited > least+time.Second {
				t.Errorf("%v ahead: taken over after %v", ahead, waited)
			}
			must(t, l.Release())
			w.clean()
		})
	}
	inWorld(t, func(w *world) {
		w.make("/x.lock", -time.Hour)
		go func() {
			for i := range 8 {
				w.touch("/x.lock", -time.Hour-time.Duration(i)*time.Second)
				time.Sleep(o.Stale / 2)
			}
		}()
		ctx, cancel := context.WithTimeout(context.Background(), 4*o.Stale)
		defer cancel()
		if _, err := w.engine(subject).Mutex(w.target, o).Lock(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a lock that is renewed is taken: %v", err)
		}
		synctest.Wait()
	})
}

// A lock that is renewed within the threshold is not taken where file times show only every
// second, or every other one, and a dead one is in the end.
func TestCoarseTimes(t *testing.T) {
	for _, seconds := range []int64{1, 2} {
		for _, byCtime := range []bool{true, false} {
			inWorld(t, func(w *world) {
				w.tree.Grain, w.tree.Reach = seconds*1e9, filesystem.ReachUnknown
				target := w.target
				if !w.proper {
					target = Lockfile("/x.lock", func() bool { return byCtime })
				}
				o := Options{Stale: 300 * time.Millisecond, Update: 50 * time.Millisecond, Poll: 10 * time.Millisecond}
				l, err := w.engine(subject).Mutex(target, o).Lock(context.Background())
				must(t, err)
				w.attempts(target, o, 10*time.Second, 7*time.Millisecond)
				must(t, l.Err())
				must(t, l.Release())
				w.make("/x.lock", 0)
				began := time.Now()
				l, err = w.engine(nextOne).Mutex(target, o).Lock(context.Background())
				must(t, err)
				if waited := time.Since(began); waited > 5*time.Second {
					t.Errorf("a dead lock is taken over after %v", waited)
				}
				must(t, l.Release())
				w.clean()
			})
		}
	}
}

// The end of the context right after a takeover does not make it forgotten: Lock returns
// the lock, and says that it was taken over. It does not wait for a busy guard either.
func TestContextEndsWhileATakeoverSettles(t *testing.T) {
	for _, busy := range []bool{false, true} {
		inWorld(t, func(w *world) {
			w.make("/x.lock", time.Hour)
			ctx, cancel := context.WithCancel(context.Background())
			w.interpose(func(c *sim.Call) *sim.Answer {
				if c.Op == sim.Unguard {
					cancel()
				}
				if c.Op == sim.TryGuard && ctx.Err() != nil && busy {
					return &sim.Answer{Code: "EAGAIN"}
				}
				return nil
			})
			o := faultOptions
			o.Doubt = 0
			began := time.Now()
			l, err := w.engine(subject).Mutex(w.target, o).Lock(ctx)
			must(t, err)
			if !l.Reclaimed() || l.Context().Err() == nil || time.Since(began) > time.Second {
				t.Errorf("reclaimed: %v, the context: %v, after %v", l.Reclaimed(), l.Context().Err(), time.Since(began))
			}
			w.withdraw()
			must(t, l.Release())
			w.clean()
		})
	}
}

// A takeover whose lock only a later attempt can make is one all the same.
func TestTakeoverInTwoAttempts(t *testing.T) {
	inWorld(t, func(w *world) {
		w.make("/x.lock", time.Hour)
		failing := 2
		w.interpose(func(c *sim.Call) *sim.Answer {
			if (c.Op == sim.PinNew || c.Op == sim.Mkdir) && failing > 0 {
				failing--
				return &sim.Answer{Code: "ENOSPC"}
			}
			return nil
		})
		l := w.lock(subject, faultOptions)
		if !l.Reclaimed() {
			t.Error("not reclaimed")
		}
		must(t, l.Release())
		w.clean()
	})
}

// A holder is told that its lock is lost once the threshold has passed, also if its
// heartbeat hangs in a system call. What it has renewed when it goes on is removed.
func TestHeartbeatHangs(t *testing.T) {
	for _, op := range []sim.Op{sim.TryGuard, sim.Lstat, sim.Futimes, sim.Unguard} {
		inWorld(t, func(w *world) {
			l := w.lock(subject, faultOptions)
			proceed := make(chan struct{})
			w.interpose(func(c *sim.Call) *sim.Answer {
				if c.Op == op {
					<-proceed
				}
				return nil
			})
			<-l.Done()
			at, _ := w.renewed()
			if age := time.Since(at); age < faultOptions.Stale-faultOptions.Update || age > faultOptions.Stale+time.Second {
				t.Errorf("told %v after the last heartbeat", age)
			}
			if err := l.Err(); !errors.Is(err, ErrCompromised) || !errors.Is(err, ErrHeartbeatHangs) {
				t.Errorf("lost by %v", err)
			}
			if err := l.Release(); err != l.Err() {
				t.Errorf("Release: %v", err)
			}
			close(proceed)
			synctest.Wait()
			w.clean()
			empty(t, l.engine)
		})
	}
}

// A release that waits for a heartbeat that hangs says so, and can be made again.
func TestReleaseDuringAHeartbeatThatHangs(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.lock(subject, faultOptions)
		proceed := make(chan struct{})
		w.interpose(func(c *sim.Call) *sim.Answer {
			if c.Op == sim.Futimes {
				<-proceed
			}
			return nil
		})
		time.Sleep(faultOptions.Update + time.Millisecond)
		if err := l.Release(); err != error(ErrHeartbeatHangs) {
			t.Errorf("Release: %v", err)
		}
		close(proceed)
		must(t, l.Release())
		w.clean()
	})
}

// A sandbox may admit the lock and no name beside it, and in a directory that is shared a
// stranger's file can have that name. The lock is removed in its place then.
func TestNoSecondName(t *testing.T) {
	deny := func(what func(c *sim.Call) bool) func(w *world) {
		return func(w *world) {
			w.interpose(func(c *sim.Call) *sim.Answer {
				if what(c) {
					return &sim.Answer{Code: "EACCES"}
				}
				return nil
			})
		}
	}
	second := func(path string) bool { return strings.HasPrefix(path, "/x.lock.") }
	place := func(kind filesystem.Type) func(w *world) {
		return func(w *world) {
			for _, suffix := range []string{asideSuffix, newSuffix} {
				path := "/x.lock" + suffix
				if kind == filesystem.Directory {
					path += "/y" // in a directory that is not empty
				}
				w.tree.Actor = node
				if _, code := w.tree.Place(path, filesystem.File, "data"); code != "" {
					t.Fatal(code)
				}
			}
		}
	}
	for name, prepare := range map[string]func(w *world){
		"sandbox": deny(func(c *sim.Call) bool { return second(c.Path) || second(c.Dest) }),
		"sticky directory": func(w *world) {
			place(filesystem.File)(w)
			deny(func(c *sim.Call) bool {
				return second(c.Path) && (c.Op == sim.Unlink || c.Op == sim.Rmdir || c.Op == sim.RenameNoReplace)
			})(w)
		},
		"file":      place(filesystem.File),
		"directory": place(filesystem.Directory),
	} {
		for _, o := range []Options{faultOptions, forever()} {
			inWorld(t, func(w *world) {
				prepare(w)
				for _, found := range []string{"free", "stale", "dead"} {
					switch found {
					case "stale":
						if o.Stale == 0 {
							continue
						}
						w.make("/x.lock", time.Hour)
					case "dead":
						w.lock(late, o).timer.Stop()
						w.end(late)
					}
					l := w.lock(subject, o)
					if l.Reclaimed() != (found != "free") {
						t.Errorf("%s, %s: reclaimed %v", name, found, l.Reclaimed())
					}
					time.Sleep(5 * time.Second)
					must(t, l.Err())
					must(t, l.Release())
					for _, n := range w.names() {
						if !second("/" + n) {
							t.Errorf("%s, %s: there is %s", name, found, n)
						}
					}
				}
			})
		}
	}
}

func forever() Options {
	o := faultOptions
	o.Stale = 0
	return o
}

// A lock that is held opens nothing for its heartbeats and its release: neither needs a
// descriptor, of which there may be none.
func TestHoldingOpensNothing(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.lock(subject, faultOptions)
		w.interpose(func(c *sim.Call) *sim.Answer {
			if c.Op.Opens() {
				return &sim.Answer{Code: "EMFILE"}
			}
			return nil
		})
		time.Sleep(5 * faultOptions.Stale)
		must(t, l.Err())
		must(t, l.Release())
		w.clean()
	})
}

// The lock of a holder that has died is free at once, whatever its age, and that of one
// that is alive is not, whatever its age.
func TestNote(t *testing.T) {
	for _, o := range []Options{faultOptions, forever()} {
		inWorld(t, func(w *world) {
			o.Update = 1000 * time.Hour
			dead := w.lock(late, o)
			_, err := w.engine(subject).Mutex(w.target, o).TryLock(context.Background())
			if err == nil || !strings.Contains(err.Error(), "by process 3") {
				t.Errorf("the holder is not named: %v", err)
			}
			w.end(late)
			began := time.Now()
			l := w.lock(subject, o)
			if waited := time.Since(began); !l.Reclaimed() || waited > o.Settle {
				t.Errorf("reclaimed %v, after %v", l.Reclaimed(), waited)
			}
			must(t, l.Release())
			coded(t, dead.Release(), "ECOMPROMISED")
			w.clean()
		})
	}
}

// Without the note, or with one that cannot be trusted, only the age tells.
func TestNoteIsNotBelieved(t *testing.T) {
	for name, spoil := range map[string]func(w *world){
		"another filesystem": func(w *world) { w.tree.Reach = filesystem.ReachMount },
		"unknown filesystem": func(w *world) { w.tree.Reach = filesystem.ReachUnknown },
		"touched":            func(w *world) { w.touch("/x.lock", 0) },
	} {
		inWorld(t, func(w *world) {
			o := faultOptions
			o.Update = 1000 * time.Hour
			w.lock(late, o)
			spoil(w)
			w.end(late)
			began := time.Now()
			l := w.lock(subject, o)
			if waited := time.Since(began); waited < o.Stale {
				t.Errorf("%s: taken over after %v", name, waited)
			}
			must(t, l.Release())
			w.clean()
		})
	}
}

// A release that fails gives the kernel's lock back, so that the next contender takes over
// what it could not remove.
func TestFailedReleaseIsNoLiveHolder(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.lock(subject, forever())
		w.interpose(func(c *sim.Call) *sim.Answer {
			switch c.Op {
			case sim.Unlink, sim.Rmdir, sim.RenameNoReplace:
				return &sim.Answer{Code: "EPERM"}
			}
			return nil
		})
		coded(t, l.Release(), "EPERM")
		next := w.lock(nextOne, forever())
		if !next.Reclaimed() {
			t.Error("not reclaimed")
		}
		must(t, l.Release())
		must(t, next.Err())
		must(t, next.Release())
		w.clean()
	})
}

// guard has another participant guard the directory, until free is called.
func (w *world) guard() (free func()) {
	w.t.Helper()
	h := w.do(rival, sim.Call{Op: sim.OpenDirectory, Path: "/"}).Handle
	w.must(rival, sim.Call{Op: sim.TryGuard, Handle: h})
	return func() { w.must(rival, sim.Call{Op: sim.Close, Handle: h}) }
}

// A process that stops while it has the guard keeps no lock from being renewed, and is not
// waited for beyond all patience.
func TestGuardBusy(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.lock(subject, faultOptions)
		free := w.guard()
		time.Sleep(5 * faultOptions.Stale)
		must(t, l.Err())
		if at, _ := w.renewed(); time.Since(at) > faultOptions.Stale {
			t.Errorf("the lock was renewed %v ago", time.Since(at))
		}
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		defer cancel()
		m := w.engine(nextOne).Mutex(w.target, faultOptions)
		if _, err := m.Lock(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		began := time.Now()
		if _, err := m.TryLock(context.Background()); err == nil || time.Since(began) > 2*tryPatience {
			t.Errorf("%v, after %v", err, time.Since(began))
		}
		// A release that cannot be guarded fails, and can be made again.
		if err := l.Release(); err != error(ErrGuardBusy) {
			t.Error(err)
		}
		if err := context.Cause(l.Context()); err != error(ErrReleased) {
			t.Error(err)
		}
		if at, ok := w.renewed(); !ok || time.Since(at) > faultOptions.Stale {
			t.Errorf("while the release waited the lock was renewed %v ago", time.Since(at))
		}
		free()
		must(t, l.Release())
		w.clean()
		empty(t, l.engine)
	})
}

// Errors of the heartbeat are not a loss until the threshold is past.
func TestHeartbeatErrors(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.lock(subject, faultOptions)
		var broken atomic.Bool
		broken.Store(true)
		w.interpose(func(c *sim.Call) *sim.Answer {
			if c.Op == sim.Futimes && broken.Load() {
				return &sim.Answer{Code: "EIO"}
			}
			return nil
		})
		time.Sleep(faultOptions.Stale * 3 / 4)
		must(t, l.Err())
		broken.Store(false)
		time.Sleep(faultOptions.Stale)
		must(t, l.Err())
		broken.Store(true)
		<-l.Done()
		if at, _ := w.renewed(); time.Since(at) < faultOptions.Stale || time.Since(at) > faultOptions.Stale+10*time.Millisecond {
			t.Errorf("told %v after the last heartbeat", time.Since(at))
		}
		if err := l.Err(); !errors.Is(err, ErrCompromised) || !strings.Contains(err.Error(), "EIO") {
			t.Error(err)
		}
		coded(t, l.Release(), "ECOMPROMISED")
	})
}

// A release that fails can be tried again, and a clean-up tries it too. Meanwhile the
// holder is told that it is over, and other callers of this process have their turn.
func TestReleaseFails(t *testing.T) {
	inWorld(t, func(w *world) {
		broken := false
		w.interpose(func(c *sim.Call) *sim.Answer {
			switch c.Op {
			case sim.RenameNoReplace, sim.Unlink, sim.Rmdir:
				if broken {
					return &sim.Answer{Code: "EPERM"}
				}
			}
			return nil
		})
		for _, mend := range []func(*Lease){
			func(l *Lease) { must(t, l.Release()) },
			func(l *Lease) { l.engine.Clean(context.Background()) },
		} {
			l := w.lock(subject, faultOptions)
			broken = true
			for range 2 {
				if err := l.Release(); !errors.Is(err, fs.ErrPermission) {
					t.Error(err)
				}
				if l.Err() != error(ErrReleased) {
					t.Errorf("Err is %v", l.Err())
				}
				if names := w.names(); len(names) != 1 {
					t.Errorf("there is %q", names)
				}
			}
			for _, d := range l.engine.directories {
				if len(d.turns) != 0 {
					t.Error("the turn is not given away")
				}
			}
			broken = false
			mend(l)
			if err := l.Release(); err != error(ErrReleased) {
				t.Error(err)
			}
			w.clean()
			empty(t, l.engine)
		}
	})
}

// A lock that looks stale is watched for a while, and left alone if it is renewed.
func TestDoubt(t *testing.T) {
	inWorld(t, func(w *world) {
		o := faultOptions
		w.make("/x.lock", time.Hour)
		began := time.Now()
		l := w.lock(subject, o)
		if waited := time.Since(began); waited < o.Doubt || waited > 2*o.Doubt {
			t.Errorf("taken over after %v", waited)
		}
		must(t, l.Release())
		w.make("/x.lock", time.Hour)
		m := w.engine(subject).Mutex(w.target, o)
		for _, age := range []time.Duration{0, time.Minute} {
			go func() {
				time.Sleep(o.Doubt / 2)
				w.touch("/x.lock", age)
			}()
			_, err := m.TryLock(context.Background())
			coded(t, err, w.target.held("").Code)
			w.touch("/x.lock", time.Hour)
		}
		ctx, cancel := context.WithTimeout(context.Background(), o.Doubt/4)
		defer cancel()
		if _, err := m.Lock(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		w.remove("/x.lock")
		w.clean()
	})
}
