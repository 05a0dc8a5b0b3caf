package lockfile

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-c461eb89/nodelock/compat/nodeerror"
	"github.com/seed-c461eb89/nodelock/internal/callerror"
	"github.com/seed-c461eb89/nodelock/internal/clock"
	"github.com/seed-c461eb89/nodelock/internal/exithook"
	"github.com/seed-c461eb89/nodelock/internal/filesystem"
)

// hookedFiles are real files; afterCreate is called with each path that was created.
type hookedFiles struct {
	filesystem.OS
	afterCreate  func(path string)
	beforeUnlink func()
}

func (f hookedFiles) Unlink(path string) error {
	if f.beforeUnlink != nil {
		f.beforeUnlink()
	}
	return f.OS.Unlink(path)
}

func (f hookedFiles) OpenExclusive(path string) (filesystem.Handle, error) {
	h, err := f.OS.OpenExclusive(path)
	if err == nil && f.afterCreate != nil {
		f.afterCreate(path)
	}
	return h, err
}

// hookedClock is the system's, but a wait calls onWait and takes no time.
type hookedClock struct {
	clock.System
	onWait func(n int)
	waits  *int
}

func (c hookedClock) Wait(ctx context.Context, d time.Duration) error {
	*c.waits++
	c.onWait(*c.waits)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

var errEnough = errors.New("enough")

func create(t *testing.T, path string, age time.Duration) {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	then := time.Now().Add(-age)
	if err := os.Chtimes(path, then, then); err != nil {
		t.Fatal(err)
	}
}

func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return strings.Join(list, " ")
}

// TestCancel ends the context at each wait that a call comes to. Nothing of the
// call's own stays behind.
func TestCancel(t *testing.T) {
	tests := []struct {
		name    string
		files   map[string]time.Duration // name and age
		refresh bool                     // somebody touches the lock once .STALE exists
		options Options
		left    string
	}{
		{
			name: "waiting for a held lock", files: map[string]time.Duration{"a.lock": 0},
			options: Options{Wait: time.Hour}, left: "a.lock",
		},
		{
			name: "waiting for .STALE of another", files: map[string]time.Duration{"a.lock": time.Hour, "a.lock.STALE": 0},
			options: Options{Wait: time.Hour, Stale: time.Minute}, left: "a.lock a.lock.STALE",
		},
		{
			name: "waiting again with an own .STALE", files: map[string]time.Duration{"a.lock": time.Hour}, refresh: true,
			options: Options{Wait: time.Hour, Stale: time.Minute}, left: "a.lock",
		},
		{
			name: "waiting again with an own .STALE.STALE", files: map[string]time.Duration{"a.lock": time.Hour, "a.lock.STALE": time.Hour}, refresh: true,
			options: Options{Wait: time.Hour, Stale: time.Minute}, left: "a.lock a.lock.STALE",
		},
		{
			name: "between rounds", files: map[string]time.Duration{"a.lock": 0},
			options: Options{Retries: 1000, RetryWait: time.Hour}, left: "a.lock",
		},
	}
	for _, test := range tests {
		for _, at := range []int{1, 2} {
			t.Run(test.name, func(t *testing.T) {
				dir := t.TempDir()
				for name, age := range test.files {
					create(t, filepath.Join(dir, name), age)
				}
				ctx, cancel := context.WithCancelCause(t.Context())
				files := hookedFiles{}
				if test.refresh {
					files.afterCreate = func(path string) {
						refreshed := strings.TrimSuffix(path, staleSuffix)
						if err := os.Chtimes(refreshed, time.Time{}, time.Now()); err != nil {
							t.Error(err)
						}
					}
				}
				var waits int
				e := New(files, hookedClock{onWait: func(n int) {
					if n == at {
						cancel(errEnough)
					}
				}, waits: &waits}, exithook.None{}, Mtime)
				options := test.options
				_, err := e.Lock(ctx, filepath.Join(dir, "a.lock"), &options)
				if !errors.Is(err, errEnough) {
					t.Errorf("err = %v, not the cause", err)
				}
				if waits != at {
					t.Errorf("%d waits, not %d", waits, at)
				}
				if left := names(t, dir); left != test.left {
					t.Errorf("left %q, not %q", left, test.left)
				}
				if len(e.tracked) != 0 || len(e.leases) != 0 {
					t.Errorf("still tracked: %v", e.tracked)
				}
			})
		}
	}
}

// A context that has ended leaves the disk alone.
func TestCancelledBefore(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errEnough)
	e := New(filesystem.OS{}, clock.System{}, exithook.None{}, Ctime)
	if _, err := e.Lock(ctx, filepath.Join(dir, "a.lock"), &Options{}); !errors.Is(err, errEnough) {
		t.Errorf("err = %v, not the cause", err)
	}
	if left := names(t, dir); left != "" {
		t.Errorf("left %q", left)
	}
}

// Rounds without a pause end with the context, too.
func TestCancelWithoutPause(t *testing.T) {
	dir := t.TempDir()
	create(t, filepath.Join(dir, "a.lock"), 0)
	ctx, cancel := context.WithTimeoutCause(t.Context(), 10*time.Millisecond, errEnough)
	defer cancel()
	e := New(filesystem.OS{}, clock.System{}, exithook.None{}, Ctime)
	if _, err := e.Lock(ctx, filepath.Join(dir, "a.lock"), &Options{Retries: math.MaxInt}); !errors.Is(err, errEnough) {
		t.Errorf("err = %v, not the cause", err)
	}
}

// stuckFiles have a stale lock that no unlink removes.
type stuckFiles struct {
	filesystem.OS
	kind    filesystem.Type
	code    string
	unlinks *int
}

func (stuckFiles) OpenExclusive(path string) (filesystem.Handle, error) {
	return 0, callerror.Linux("EEXIST", "open", path, "")
}

func (f stuckFiles) Stat(string) (filesystem.Stat, error) {
	return filesystem.Stat{Type: f.kind, ChangeTime: time.Unix(1, 0)}, nil
}

func (f stuckFiles) Unlink(path string) error {
	*f.unlinks++
	return callerror.Linux(f.code, "unlink", path, "")
}

// TestLockSyncStuck is the end of L20: where Node overflows its stack, LockSync says
// that the lock is held, and why it could not be removed.
func TestLockSyncStuck(t *testing.T) {
	for _, test := range []struct {
		kind    filesystem.Type
		code    string
		retries int
		unlinks int
	}{
		{filesystem.Directory, "EISDIR", 0, 1},
		{filesystem.Directory, "EISDIR", 2, 3},
		{filesystem.File, "EACCES", 0, maxFailedUnlinks},
		{filesystem.File, "ENOENT", 0, maxFailedUnlinks},
		{filesystem.File, "EROFS", 1, 2 * maxFailedUnlinks},
	} {
		var unlinks int
		files := stuckFiles{kind: test.kind, code: test.code, unlinks: &unlinks}
		e := New(files, clock.System{}, exithook.None{}, Ctime)
		_, err := e.LockSync("a.lock", &Options{Stale: time.Second, Retries: test.retries})
		if nodeerror.Code(err) != "EEXIST" || err.Error() != "EEXIST: file already exists, open 'a.lock'" {
			t.Errorf("%s: err = %v", test.code, err)
		}
		if !errors.Is(err, os.ErrExist) || !errors.Is(err, &nodeerror.Error{Code: test.code}) {
			t.Errorf("%s: the causes are not both there: %v", test.code, errors.Unwrap(err))
		}
		if unlinks != test.unlinks {
			t.Errorf("%s, %d retries: %d unlinks, not %d", test.code, test.retries, unlinks, test.unlinks)
		}
	}
}
