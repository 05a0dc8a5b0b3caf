package mutex

import (
	"cmp"
	"strings"
	"time"

	"github.com/seed-c461eb89/nodelock/compat/nodeerror"
	"github.com/seed-c461eb89/nodelock/internal/nodetime"
	"github.com/seed-c461eb89/nodelock/internal/properlock"
)

// Options say how a mutex goes about it.
type Options struct {
	// Stale is the age beyond which another's lock may be taken over; 0: none is.
	Stale time.Duration
	// Update is the time between two heartbeats.
	Update time.Duration
	// Poll is the time between two looks at a lock that is not watched, and SlowPoll between
	// two at one that is. Both vary by a quarter.
	Poll, SlowPoll time.Duration
	// NoWatch says that no lock is to be watched.
	NoWatch bool
	// Wait bounds how long Lock waits; 0: only the context does.
	Wait time.Duration
	// Doubt is how long a lock that looks stale is watched before it is taken over; 0: not at
	// all. If the whole machine was asleep, or too busy, a holder that is alive has that
	// time to renew it.
	Doubt time.Duration
	// Settle is how long after a takeover the lock is looked at again before it counts as
	// held: 0: it is not. It is for participants that know no guard.
	Settle time.Duration
}

// What the public types have.
const (
	defaultUpdate = 5 * time.Second
	defaultPoll   = 100 * time.Millisecond
	slowPoll      = time.Second
	doubt         = 50 * time.Millisecond
	// settle is enough for a Node program that judged the same stale lock to have acted.
	settle = 5 * time.Millisecond
	// maxOption is what a longer option stands for, so that no sum of two overflows.
	maxOption = time.Duration(1 << 60)
)

// LockfileOptions are those of a mutex that locks with the file of lockfile. An option that
// is 0 is not given.
type LockfileOptions struct {
	Stale, Update, Poll, Wait time.Duration
	// Filetime is the file time that the age of a lock is counted from: 1 is the ctime and 2
	// the mtime. 0 is the one that ByCtime tells, which is asked each time.
	Filetime uint8
	ByCtime  func() bool
	NoWatch  bool
}

// LockfileMutex returns a mutex that locks with the file path.
func (e *Engine) LockfileMutex(path string, o LockfileOptions) *Mutex {
	update := cmp.Or(o.Update, defaultUpdate)
	if o.Stale > 0 {
		update = min(update, o.Stale/2)
	}
	byCtime := o.ByCtime
	if o.Filetime != 0 {
		byCtime = func() bool { return o.Filetime == 1 }
	}
	m := e.Mutex(Lockfile(path, byCtime), Options{
		Stale: o.Stale, Update: update, Poll: o.Poll, Wait: o.Wait, NoWatch: o.NoWatch,
	})
	if o.Filetime > 2 {
		m.err = nodetime.OutOfRange("Filetime", "Ctime or Mtime", o.Filetime)
	}
	return m.complete(o.Stale, o.Update, [2]string{"path", path})
}

// ProperLockfileOptions are those of a mutex that locks with the directory of
// proper-lockfile. An option that is 0 is not given.
type ProperLockfileOptions struct {
	Stale, Update, Poll, Wait time.Duration
	NoRealpath                bool
	LockfilePath              string
	NoWatch                   bool
}

// ProperLockfileMutex returns a mutex that locks a file.
func (e *Engine) ProperLockfileMutex(file string, o ProperLockfileOptions) *Mutex {
	stale := properlock.Stale(o.Stale)
	m := e.Mutex(ProperLockfile(file, o.LockfilePath, o.NoRealpath), Options{
		Stale: stale, Update: properlock.Update(o.Update, stale), Poll: o.Poll, Wait: o.Wait, NoWatch: o.NoWatch,
	})
	paths := [][2]string{{"file", file}}
	if o.LockfilePath != "" {
		paths = append(paths, [2]string{"LockfilePath", o.LockfilePath})
	}
	return m.complete(o.Stale, o.Update, paths...)
}

// complete fills in what is not given and checks the options, stale and update as they were
// given, and the paths. What is wrong is the error of every attempt to take the lock.
func (m *Mutex) complete(stale, update time.Duration, paths ...[2]string) *Mutex {
	o := &m.options
	o.SlowPoll = min(cmp.Or(o.Poll, slowPoll), slowPoll)
	o.Poll = cmp.Or(o.Poll, defaultPoll)
	o.Doubt, o.Settle = doubt, settle
	for _, path := range paths {
		if m.err == nil {
			m.err = checkPath(path[0], path[1])
		}
	}
	for _, option := range []struct {
		name  string
		value time.Duration
	}{{"Stale", stale}, {"Update", update}, {"Poll", o.Poll}, {"Wait", o.Wait}} {
		switch {
		case m.err != nil:
		case option.value < 0:
			m.err = nodetime.OutOfRange(option.name, "0, or 1ms or more", option.value)
		default:
			m.err = nodetime.CheckOption(option.name, option.value)
		}
	}
	for _, d := range []*time.Duration{&o.Stale, &o.Update, &o.Poll, &o.Wait} {
		*d = min(*d, maxOption)
	}
	return m
}

// checkPath refuses a path that cannot be a lock's, or a file's that is to be locked.
func checkPath(argument, path string) error {
	rule := ""
	switch {
	case path == "":
		rule = "must not be empty"
	case strings.HasSuffix(path, "/"):
		rule = "must not end in a slash"
	default:
		return nil
	}
	return &nodeerror.Error{
		Code:    nodeerror.ErrInvalidArgument.Code,
		Path:    path,
		Message: "The argument '" + argument + "' " + rule + ". Received '" + path + "'",
	}
}
