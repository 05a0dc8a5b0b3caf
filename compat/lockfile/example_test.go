package lockfile_test

import (
	"context"
	"errors"
	"fmt"
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
	lease, err := lockfile.Lock(context.Background(), path, lockfile.Options{Wait: 2 * time.Second, Stale: time.Minute})
	if err != nil {
		panic(err)
	}
	locked, err := lockfile.Check(path, lockfile.Options{})
	fmt.Println("locked:", locked, err)

	// No other call gets it now.
	_, err = lockfile.LockSync(path, lockfile.Options{})
	var e *lockfile.Error
	if errors.As(err, &e) {
		fmt.Println(e.Code, e.Syscall, errors.Is(err, lockfile.ErrLocked))
	}

	// lockfile.unlock(path, callback)
	fmt.Println("released:", lease.Release())
	locked, err = lockfile.CheckSync(path, lockfile.Options{})
	fmt.Println("locked:", locked, err)
	// Output:
	// locked: true <nil>
	// EEXIST open true
	// released: <nil>
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
	lease, err := m.Lock(context.Background())
	if err != nil {
		panic(err)
	}
	defer lease.Release()
	if lease.Reclaimed() {
		fmt.Println("the holder before may have left things half done")
	}

	// Work that takes a while asks whether the lock is still held.
	if err := lease.Err(); err != nil {
		panic(err)
	}
	fmt.Println("working")

	// No other call gets it meanwhile.
	_, err = m.TryLock(context.Background())
	fmt.Println(errors.Is(err, lockfile.ErrLocked))

	fmt.Println(lease.Release())
	// Output:
	// working
	// true
	// <nil>
}

// Do holds the lock while a function runs, and tells the function by its context if the
// lock is lost.
func ExampleMutex_Do() {
	dir, err := os.MkdirTemp("", "lockfile-example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)

	m := lockfile.NewMutex(filepath.Join(dir, "config.json.lock"), lockfile.MutexOptions{
		Stale: time.Minute,
		Wait:  time.Second, // for the lock, and not for the work
	})
	err = m.Do(context.Background(), func(ctx context.Context) error {
		fmt.Println("working", ctx.Err())
		return nil
	})
	fmt.Println(err)
	// Output:
	// working <nil>
	// <nil>
}
