package lockfile_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/seed-c461eb89/nodelock/compat/lockfile"
)

// A program that updates a file which a Node program updates too.
func Example() {
	dir, err := os.MkdirTemp("", "lockfile-example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "config.json.lock")

	// lockfile.lock(path, {wait: 2000, stale: 60000}, callback)
	err = lockfile.Lock(context.Background(), path, lockfile.Options{Wait: 2 * time.Second, Stale: time.Minute})
	if err != nil {
		panic(err)
	}
	locked, err := lockfile.Check(path, lockfile.Options{})
	fmt.Println("locked:", locked, err)

	// Somebody else does not get it.
	err = lockfile.LockSync(path, lockfile.Options{})
	var e *lockfile.Error
	if errors.As(err, &e) {
		fmt.Println(e.Code, e.Syscall, errors.Is(err, fs.ErrExist))
	}

	// lockfile.unlock(path, callback)
	fmt.Println("unlock:", lockfile.Unlock(path))
	locked, err = lockfile.CheckSync(path, lockfile.Options{})
	fmt.Println("locked:", locked, err)
	// Output:
	// locked: true <nil>
	// EEXIST open true
	// unlock: <nil>
	// locked: false <nil>
}

// A lock for Go programs that a Node program can share.
func ExampleMutex() {
	dir, err := os.MkdirTemp("", "lockfile-example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)

	m := lockfile.NewMutex(filepath.Join(dir, "config.json.lock"), lockfile.MutexOptions{Stale: time.Minute})
	held, unlock, err := m.Lock(context.Background())
	if err != nil {
		panic(err)
	}
	defer unlock()
	if m.Reclaimed() {
		fmt.Println("whoever had the lock before may have left things half done")
	}

	// Work that takes a while asks whether the lock is still held.
	if err := held.Err(); err != nil {
		panic(context.Cause(held))
	}
	fmt.Println("working")

	// Nobody else gets it meanwhile.
	_, _, err = m.TryLock(context.Background())
	fmt.Println(errors.Is(err, fs.ErrExist))

	fmt.Println(unlock())
	// Output:
	// working
	// true
	// <nil>
}
