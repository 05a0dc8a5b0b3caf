package mutex

import (
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-c461eb89/nodelock/compat/nodeerror"
)

// The defaults, and what is held within what (P3).
func TestOptions(t *testing.T) {
	const longest = time.Duration(math.MaxInt64)
	e := participant(nil)
	lockfile := func(o LockfileOptions) Options { return e.LockfileMutex("x", o).options }
	proper := func(o ProperLockfileOptions) Options { return e.ProperLockfileMutex("x", o).options }
	for _, row := range []struct {
		got                       Options
		stale, update, poll, wait time.Duration
	}{
		{lockfile(LockfileOptions{}), 0, 5 * time.Second, 100 * time.Millisecond, 0},
		{lockfile(LockfileOptions{Stale: time.Minute}), time.Minute, 5 * time.Second, 100 * time.Millisecond, 0},
		{lockfile(LockfileOptions{Stale: time.Second, Update: time.Hour}), time.Second, time.Second / 2, 100 * time.Millisecond, 0},
		{lockfile(LockfileOptions{Poll: time.Second, Wait: time.Minute}), 0, 5 * time.Second, time.Second, time.Minute},
		{lockfile(LockfileOptions{Stale: longest, Update: longest, Poll: longest, Wait: longest}), maxOption, maxOption, maxOption, maxOption},
		{proper(ProperLockfileOptions{}), 10 * time.Second, 5 * time.Second, 100 * time.Millisecond, 0},
		{proper(ProperLockfileOptions{Stale: time.Second}), 2 * time.Second, time.Second, 100 * time.Millisecond, 0},
		{proper(ProperLockfileOptions{Update: time.Hour}), 10 * time.Second, 5 * time.Second, 100 * time.Millisecond, 0},
		{proper(ProperLockfileOptions{Update: time.Millisecond}), 10 * time.Second, time.Second, 100 * time.Millisecond, 0},
		{proper(ProperLockfileOptions{Stale: longest, Update: longest, Poll: longest, Wait: longest}), maxOption, maxOption, maxOption, maxOption},
	} {
		want := Options{
			Stale: row.stale, Update: row.update, Poll: row.poll, SlowPoll: time.Second, Wait: row.wait,
			Doubt: doubt, Settle: settle,
		}
		if row.got != want {
			t.Errorf("%+v; want %+v", row.got, want)
		}
	}
}

// What is most likely a mistake is refused, in a text that says how to write it, and
// nothing is touched.
func TestOptionsThatAreRefused(t *testing.T) {
	directory := t.TempDir()
	path := filepath.Join(directory, "x.lock")
	e := participant(nil)
	file := func(o LockfileOptions) *Mutex { return e.LockfileMutex(path, o) }
	proper := func(o ProperLockfileOptions) *Mutex { return e.ProperLockfileMutex(directory, o) }
	tooShort, negative, least := time.Duration(60000), -time.Second, time.Duration(math.MinInt64)
	for text, m := range map[string]*Mutex{
		`"Stale" is out of range. It must be 0, or 1ms or more (60000 milliseconds are written 60000 * time.Millisecond). Received 60µs`: file(LockfileOptions{Stale: tooShort}),
		`"Update" is`: file(LockfileOptions{Update: tooShort}),
		`"Poll" is`:   file(LockfileOptions{Poll: tooShort}),
		`"Wait" is`:   file(LockfileOptions{Wait: tooShort}),
		`"Stale" is out of range. It must be 0, or 1ms or more. Received -1s`:                        file(LockfileOptions{Stale: negative}),
		`"Update" is out of range. It must be 0, or 1ms or more. Received -1s`:                       file(LockfileOptions{Update: negative}),
		`"Poll" is out of range. It must be 0, or 1ms or more. Received -1s`:                         file(LockfileOptions{Poll: negative}),
		`"Wait" is out of range. It must be 0, or 1ms or more. Received -1s`:                         file(LockfileOptions{Wait: negative}),
		`"Stale" is out of range. It must be 0, or 1ms or more. Received -2562047h47m16.854775808s`:  proper(ProperLockfileOptions{Stale: least}),
		`"Update" is out of range. It must be 0, or 1ms or more. Received -2562047h47m16.854775808s`: proper(ProperLockfileOptions{Update: least}),
		`"Stale" is out of range. It must be 0, or 1ms or more (`:                                    proper(ProperLockfileOptions{Stale: tooShort}),
		`"Filetime" is`: file(LockfileOptions{Filetime: 3}),
	} {
		for _, lock := range []func() error{
			func() error { _, err := m.Lock(t.Context()); return err },
			func() error { _, err := m.TryLock(t.Context()); return err },
		} {
			err := lock()
			if !errors.Is(err, nodeerror.ErrOutOfRange) || !strings.Contains(err.Error(), "The value of "+text) {
				t.Errorf("%v; want %s", err, text)
			}
		}
	}
	only(t, path)
}

func TestPathsThatAreRefused(t *testing.T) {
	t.Chdir(t.TempDir())
	e := participant(nil)
	for text, m := range map[string]*Mutex{
		"The argument 'path' must not be empty. Received ''":                  e.LockfileMutex("", LockfileOptions{}),
		"The argument 'path' must not end in a slash. Received 'a/'":          e.LockfileMutex("a/", LockfileOptions{}),
		"The argument 'file' must not be empty. Received ''":                  e.ProperLockfileMutex("", ProperLockfileOptions{}),
		"The argument 'file' must not end in a slash. Received './'":          e.ProperLockfileMutex("./", ProperLockfileOptions{}),
		"The argument 'LockfilePath' must not end in a slash. Received 'a//'": e.ProperLockfileMutex(".", ProperLockfileOptions{LockfilePath: "a//"}),
		"The argument 'file' must not end in a slash. Received '\\x1b[2J/'":   e.ProperLockfileMutex("\x1b[2J/", ProperLockfileOptions{NoRealpath: true}),
	} {
		_, err := m.Lock(t.Context())
		if !errors.Is(err, nodeerror.ErrInvalidArgument) || err.Error() != text {
			t.Errorf("%v; want %s", err, text)
		}
	}
	only(t, "./x")
}

func panicOf(f func()) (text any) {
	defer func() { text = recover() }()
	f()
	return nil
}

func TestPanics(t *testing.T) {
	m := participant(nil).LockfileMutex("x", LockfileOptions{})
	var zero *Mutex
	for what, f := range map[string]func(){
		"not made by NewMutex": func() { _, _ = zero.Lock(t.Context()) },
		//lint:ignore SA1012 what a nil context does is the question
		"the context is nil": func() { _, _ = m.Lock(nil) },
	} {
		if text, ok := panicOf(f).(string); !ok || !strings.Contains(text, what) {
			t.Errorf("%s: panics with %q", what, text)
		}
	}
}
