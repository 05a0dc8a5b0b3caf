package properlockfile_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seed-c461eb89/nodelock/compat/nodeerror"
	"github.com/seed-c461eb89/nodelock/compat/properlockfile"
)

// touch makes a file to be locked.
func touch(t testing.TB, dir, name string) string {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	return file
}

func lock(t testing.TB, file string, o properlockfile.Options) *properlockfile.Lease {
	t.Helper()
	lease, err := properlockfile.Lock(context.Background(), file, o)
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

func isThere(t testing.TB, path string) bool {
	t.Helper()
	_, err := os.Lstat(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return err == nil
}

// functions are all that take a file, by name. They return the error.
var functions = map[string]func(file string, o properlockfile.Options) error{
	"Lock": func(file string, o properlockfile.Options) error {
		lease, err := properlockfile.Lock(context.Background(), file, o)
		return release(lease, err)
	},
	"LockSync": func(file string, o properlockfile.Options) error {
		lease, err := properlockfile.LockSync(file, o)
		return release(lease, err)
	},
	"Unlock":     properlockfile.Unlock,
	"UnlockSync": properlockfile.UnlockSync,
	"Check": func(file string, o properlockfile.Options) error {
		_, err := properlockfile.Check(file, o)
		return err
	},
	"CheckSync": func(file string, o properlockfile.Options) error {
		_, err := properlockfile.CheckSync(file, o)
		return err
	},
}

func release(lease *properlockfile.Lease, err error) error {
	if (lease == nil) != (err != nil) {
		return fmt.Errorf("lease %v and error %v", lease, err)
	}
	if err != nil {
		return err
	}
	return lease.Release()
}

// A resources is what a failed call might leave behind.
type resources struct{ goroutines, descriptors int }

// leavesNothing expects that there is no more of anything than before, in the end: what is
// through may need a moment until it is gone. What earlier tests have left may go meanwhile.
func (before resources) leavesNothing(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		after := used(t)
		if after.goroutines <= before.goroutines && after.descriptors <= before.descriptors {
			return
		}
		if time.Now().After(end) {
			t.Errorf("left %+v, before %+v", after, before)
			return
		}
	}
}

func used(t testing.TB) resources {
	t.Helper()
	r := resources{goroutines: runtime.NumGoroutine()}
	if runtime.GOOS == "linux" {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		r.descriptors = len(entries)
	}
	return r
}

// Every function is given files that cannot be locked: the error is Node's and Go's,
// and nothing is made or left.
func TestBadFile(t *testing.T) {
	dir := t.TempDir()
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	file := touch(t, dir, "file")
	long := touch(t, dir, strings.Repeat("x", 251))
	nowhere := filepath.Join(dir, "nowhere")
	if err := os.Symlink(filepath.Join(dir, "missing"), nowhere); err != nil {
		t.Skip(err)
	}
	noRealpath := properlockfile.Options{NoRealpath: true}
	for _, test := range []struct {
		name, file    string
		options       properlockfile.Options
		code, syscall string
		is            error
		locks         bool // only locks fail so: there is nothing to unlock, and nothing is locked
	}{
		{"missing", filepath.Join(dir, "missing"), properlockfile.Options{}, "ENOENT", "lstat", fs.ErrNotExist, false},
		{"dangling link", nowhere, properlockfile.Options{}, "ENOENT", "stat", fs.ErrNotExist, false},
		{"below a file", filepath.Join(file, "x"), properlockfile.Options{}, "ENOTDIR", "lstat", nil, false},
		{"long name", filepath.Join(dir, strings.Repeat("y", 256)), properlockfile.Options{}, "ENAMETOOLONG", "lstat", nil, false},
		{"NUL", filepath.Join(dir, "a\x00b"), properlockfile.Options{}, "ERR_INVALID_ARG_VALUE", "", nil, false},
		{"long lock", long, properlockfile.Options{}, "ENAMETOOLONG", "mkdir", nil, true},
		{"missing parent", filepath.Join(dir, "no", "file"), noRealpath, "ENOENT", "mkdir", fs.ErrNotExist, true},
		{"missing parent of the lock", file, properlockfile.Options{LockfilePath: filepath.Join(dir, "no", "l")}, "ENOENT", "mkdir", fs.ErrNotExist, true},
		{"NUL in the lock", file, properlockfile.Options{LockfilePath: "l\x00"}, "ERR_INVALID_ARG_VALUE", "", nil, true},
		{"contract", file, properlockfile.Options{Contract: 9}, "ERR_OUT_OF_RANGE", "", nodeerror.ErrOutOfRange, false},
		{"contradicting timeouts", file, properlockfile.Options{
			Retries: properlockfile.Retries{Count: -1, MinTimeout: 2 * time.Second, MaxTimeout: time.Second},
		}, "", "", nil, true},
	} {
		for name, call := range functions {
			if test.locks && !strings.HasPrefix(name, "Lock") {
				continue
			}
			t.Run(test.name+"/"+name, func(t *testing.T) {
				before := used(t)
				err := call(test.file, test.options)
				var e *properlockfile.Error
				if !errors.As(err, &e) {
					t.Fatalf("%v is no *Error", err)
				}
				if runtime.GOOS == "windows" && e.Code == "ENOENT" {
					return // which Windows says of most of these
				}
				if e.Code != test.code || e.Syscall != test.syscall {
					t.Errorf("code %s, syscall %s, want %s, %s", e.Code, e.Syscall, test.code, test.syscall)
				}
				if test.is != nil && !errors.Is(err, test.is) {
					t.Errorf("%v is not %v", err, test.is)
				}
				var pathErr *fs.PathError
				if test.syscall != "" && (!errors.As(err, &pathErr) || pathErr.Path != e.Path) {
					t.Errorf("no PathError in %v", err)
				}
				if strings.ContainsRune(err.Error(), 0) {
					t.Errorf("a NUL reaches the text: %q", err)
				}
				before.leavesNothing(t)
			})
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 3 {
		t.Errorf("something was made: %v %v", entries, err)
	}
}

// A number of milliseconds that was not converted is refused by every function, and the
// text says how to write it.
func TestUnconvertedMilliseconds(t *testing.T) {
	file := touch(t, t.TempDir(), "f")
	for option, o := range map[string]properlockfile.Options{
		"Stale": {Stale: 60000}, "Update": {Update: 5000},
		"MinTimeout":   {Retries: properlockfile.Retries{MinTimeout: 100}},
		"MaxTimeout":   {Retries: properlockfile.Retries{MaxTimeout: 1}},
		"MaxRetryTime": {Retries: properlockfile.Retries{MaxRetryTime: 999999}},
	} {
		for name, call := range functions {
			err := call(file, o)
			if !errors.Is(err, nodeerror.ErrOutOfRange) || !strings.Contains(err.Error(), strconv.Quote(option)) {
				t.Errorf("%s: %s: %v", name, option, err)
			}
		}
	}
	_, err := properlockfile.LockSync(file, properlockfile.Options{Stale: 60000})
	if text := "60000 milliseconds are written 60000 * time.Millisecond"; !strings.Contains(err.Error(), text) {
		t.Errorf("%v; want %s", err, text)
	}
	if isThere(t, file+".lock") {
		t.Error("something was made")
	}
}

// Options have no value that does harm.
func TestExtremes(t *testing.T) {
	file := touch(t, t.TempDir(), "f")
	const never, ever = time.Duration(math.MaxInt64), time.Duration(math.MinInt64)
	for _, o := range []properlockfile.Options{
		{Stale: never}, {Stale: ever}, {Update: never}, {Update: ever}, {Stale: never, Update: never},
		{Retries: properlockfile.Retries{Count: math.MaxInt, MinTimeout: never}},
		{Retries: properlockfile.Retries{Count: math.MinInt, Factor: math.Inf(1), MaxRetryTime: ever}},
		{Retries: properlockfile.Retries{Factor: math.NaN(), MaxTimeout: never, Forever: true}},
	} {
		for _, o.Contract = range []properlockfile.Contract{properlockfile.V4, properlockfile.V1} {
			lease := lock(t, file, o)
			held, err := properlockfile.Check(file, o)
			if !held || err != nil {
				t.Errorf("%+v: held %t, %v", o, held, err)
			}
			if err := lease.Release(); err != nil {
				t.Errorf("%+v: %v", o, err)
			}
		}
	}
}

// A lock is seen through its methods from its beginning to its end.
func TestLease(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	file := touch(t, dir, "f")
	link := filepath.Join(dir, "l")
	if err := os.Symlink(file, link); err != nil {
		t.Skip(err)
	}
	lease := lock(t, link, properlockfile.Options{})
	if lease.File() != file || lease.Path() != file+".lock" || !isThere(t, file+".lock") {
		t.Errorf("file %s, lock %s", lease.File(), lease.Path())
	}
	done := lease.Done()
	select {
	case <-done:
		t.Error("done")
	default:
	}
	if lease.Err() != nil || lease.Done() != done {
		t.Errorf("Err %v, or another Done", lease.Err())
	}
	if _, err := properlockfile.LockSync(file, properlockfile.Options{}); !errors.Is(err, properlockfile.ErrLocked) {
		t.Errorf("locked twice: %v", err)
	} else if e := err.(*properlockfile.Error); e.File != file {
		t.Errorf("the file of %v is %s", err, e.File)
	}
	// The other contract is the same lock, and another registry.
	v1 := properlockfile.Options{Contract: properlockfile.V1}
	if _, err := properlockfile.LockSync(file, v1); !errors.Is(err, properlockfile.ErrLocked) || !strings.HasSuffix(err.Error(), "being hold") {
		t.Errorf("1.2.0: %v", err)
	}
	if err := properlockfile.Unlock(file, v1); !errors.Is(err, properlockfile.ErrNotAcquired) {
		t.Errorf("1.2.0: %v", err)
	}
	if err := lease.Release(); err != nil {
		t.Error(err)
	}
	<-done
	if !errors.Is(lease.Err(), properlockfile.ErrReleased) || isThere(t, file+".lock") {
		t.Errorf("Err %v, or the lock is there", lease.Err())
	}
	if err := lease.Release(); !errors.Is(err, properlockfile.ErrReleased) {
		t.Errorf("released twice: %v", err)
	}
	late := lock(t, file, properlockfile.Options{})
	if err := properlockfile.UnlockSync(link, properlockfile.Options{}); err != nil {
		t.Error(err)
	}
	<-late.Done()
	if _, err := properlockfile.LockSync(file, properlockfile.Options{Retries: properlockfile.Retries{Count: 1}}); !errors.Is(err, properlockfile.ErrSyncRetries) {
		t.Errorf("retries: %v", err)
	}
}

// A relative path, resolved or not, means the working directory.
func TestRelative(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	touch(t, dir, "f")
	t.Chdir(dir)
	for _, o := range []properlockfile.Options{{}, {NoRealpath: true}} {
		lease := lock(t, "./x/../f", o)
		if want := filepath.Join(dir, "f"); lease.File() != want {
			t.Errorf("file %s, want %s", lease.File(), want)
		}
		t.Chdir(t.TempDir())
		if err := lease.Release(); err != nil || isThere(t, lease.Path()) {
			t.Errorf("released elsewhere: %v", err)
		}
		t.Chdir(dir)
	}
}

// The heartbeat renews the lock, and tells when another has taken it. This takes its
// time: a heartbeat follows after a second at the earliest.
func TestHeartbeat(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, contract := range []properlockfile.Contract{properlockfile.V4, properlockfile.V1} {
		t.Run(fmt.Sprint(contract), func(t *testing.T) {
			t.Parallel()
			file := touch(t, dir, fmt.Sprint(contract))
			compromised := make(chan error, 2)
			o := properlockfile.Options{
				Update: time.Second, Contract: contract,
				OnCompromised: func(err error) { compromised <- err },
			}
			lease := lock(t, file, o)
			made := mtime(t, lease)
			for mtime(t, lease).Sub(made) < 3*time.Second {
				time.Sleep(100 * time.Millisecond)
				if held, err := properlockfile.Check(file, o); !held || err != nil || lease.Err() != nil {
					t.Fatalf("held %t, %v; %v", held, err, lease.Err())
				}
			}
			if err := os.Remove(lease.Path()); err != nil {
				t.Fatal(err)
			}
			select {
			case <-lease.Done():
			case <-time.After(10 * time.Second):
				t.Fatal("the loss is not noticed")
			}
			err := <-compromised
			if !errors.Is(err, properlockfile.ErrCompromised) || !errors.Is(err, fs.ErrNotExist) || lease.Err() != err {
				t.Errorf("compromised: %v; Err: %v", err, lease.Err())
			}
			if err := lease.Release(); !errors.Is(err, properlockfile.ErrReleased) {
				t.Errorf("Release: %v", err)
			}
			if len(compromised) > 0 {
				t.Error("compromised twice")
			}
		})
	}
}

// A context that ends makes Lock return at once, and no lock is left. One that has ended
// before leaves everything untouched.
func TestCancel(t *testing.T) {
	dir := t.TempDir()
	file := touch(t, dir, "f")
	cause := errors.New("cause")
	o := properlockfile.Options{Retries: properlockfile.Retries{Count: 5, MinTimeout: time.Hour}}

	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	for _, file := range []string{file, filepath.Join(dir, "missing"), "\x00"} {
		if lease, err := properlockfile.Lock(ctx, file, o); lease != nil || err != cause {
			t.Errorf("%v, %v", lease, err)
		}
	}
	if isThere(t, file+".lock") {
		t.Error("a lock was made")
	}

	holder := lock(t, file, properlockfile.Options{})
	before := used(t)
	for _, contract := range []properlockfile.Contract{properlockfile.V4, properlockfile.V1} {
		o.Contract = contract
		ctx, cancel = context.WithCancelCause(context.Background())
		time.AfterFunc(20*time.Millisecond, func() { cancel(cause) })
		began := time.Now()
		if lease, err := properlockfile.Lock(ctx, file, o); lease != nil || err != cause {
			t.Errorf("%v, %v", lease, err)
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("it took %v", took)
		}
	}
	before.leavesNothing(t)
	if err := holder.Release(); err != nil {
		t.Error(err)
	}
	// A deadline, which is no use to a lock that is free.
	ctx, stop := context.WithTimeout(context.Background(), 30*time.Millisecond)
	defer stop()
	lease, err := properlockfile.Lock(ctx, file, o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := properlockfile.Lock(ctx, file, o); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	if lease.Err() != nil {
		t.Errorf("the end of the context ends the lock: %v", lease.Err())
	}
	if err := lease.Release(); err != nil {
		t.Error(err)
	}
}

// The functions of os make an FS.
func TestOwnFS(t *testing.T) {
	file := touch(t, t.TempDir(), "f")
	o := properlockfile.Options{FS: ownFS{}}
	lease := lock(t, file, o)
	if held, err := properlockfile.Check(file, properlockfile.Options{}); !held || err != nil {
		t.Errorf("held %t, %v", held, err)
	}
	if _, err := properlockfile.LockSync(file, o); !errors.Is(err, properlockfile.ErrLocked) {
		t.Errorf("%v", err)
	}
	if err := lease.Release(); err != nil || isThere(t, lease.Path()) {
		t.Errorf("released: %v", err)
	}
	if _, err := properlockfile.Check(file+"x", o); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

type ownFS struct{}

func (ownFS) Mkdir(name string, perm fs.FileMode) error        { return os.Mkdir(name, perm) }
func (ownFS) Rmdir(name string) error                          { return os.Remove(name) }
func (ownFS) Stat(name string) (fs.FileInfo, error)            { return os.Stat(name) }
func (ownFS) Utimes(name string, atime, mtime time.Time) error { return os.Chtimes(name, atime, mtime) }
func (ownFS) Realpath(name string) (string, error) {
	path, err := filepath.EvalSymlinks(name)
	if err != nil {
		return "", err
	}
	return filepath.Abs(path)
}

// Ten thousand locks are held at a time: no goroutine waits for them, each is renewed,
// and all are given back.
func TestManyLocks(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a while: not with -short")
	}
	dir := t.TempDir()
	const count = 10000
	o := properlockfile.Options{
		NoRealpath: true, Stale: 10 * time.Minute, Update: 3 * time.Second,
		OnCompromised: func(err error) { t.Error(err) },
	}
	before := used(t)
	leases := make([]*properlockfile.Lease, count)
	made := make([]time.Time, count)
	for i := range leases {
		leases[i] = lock(t, filepath.Join(dir, fmt.Sprint(i)), o)
		made[i] = mtime(t, leases[i])
	}
	for i, lease := range leases {
		for !mtime(t, lease).After(made[i]) {
			time.Sleep(10 * time.Millisecond)
		}
	}
	// Between the heartbeats of some there is a moment without any.
	for began := time.Now(); ; time.Sleep(time.Millisecond) {
		after := used(t)
		after.goroutines -= 2 // those that catch signals
		if after.goroutines <= before.goroutines && after.descriptors <= before.descriptors {
			break
		}
		if time.Since(began) > time.Minute {
			t.Fatalf("always at least %+v, before %+v", after, before)
		}
	}
	for _, lease := range leases {
		if err := lease.Release(); err != nil {
			t.Fatal(err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left: %d, %v", len(left), err)
	}
}

func mtime(t testing.TB, lease *properlockfile.Lease) time.Time {
	t.Helper()
	info, err := os.Stat(lease.Path())
	if err != nil {
		t.Fatal(err)
	}
	return info.ModTime()
}
