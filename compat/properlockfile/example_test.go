package properlockfile_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/seed-c461eb89/nodelock/compat/properlockfile"
)

// A program that updates a file which a Node program updates too.
func Example() {
	dir, err := os.MkdirTemp("", "properlockfile-example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "config.json")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		panic(err)
	}

	// const release = await lockfile.lock(file, { retries: 3 })
	lease, err := properlockfile.Lock(context.Background(), file, properlockfile.Options{
		Retries: properlockfile.Retries{Count: 3},
	})
	if err != nil {
		panic(err)
	}
	fmt.Println("lock:", filepath.Base(lease.Path()))

	// No other call gets it now.
	_, err = properlockfile.LockSync(file, properlockfile.Options{})
	fmt.Println(err, errors.Is(err, properlockfile.ErrLocked))

	// Before something that cannot be undone:
	if err := lease.Err(); err != nil {
		fmt.Println("lost:", err)
	}

	// await release()
	fmt.Println("release:", lease.Release())
	held, err := properlockfile.Check(file, properlockfile.Options{})
	fmt.Println("locked:", held, err)
	// Output:
	// lock: config.json.lock
	// Lock file is already being held true
	// release: <nil>
	// locked: false <nil>
}

// The same lock for Go programs. Do holds it while a function runs, and tells the function
// by its context if the lock is lost.
func ExampleMutex_Do() {
	dir, err := os.MkdirTemp("", "properlockfile-example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)

	m := properlockfile.NewMutex(dir, properlockfile.MutexOptions{
		Wait: time.Second, // for the lock, and not for the work
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

// Work that is to stop when the lock is lost.
func ExampleLease_Done() {
	dir, err := os.MkdirTemp("", "properlockfile-example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)

	lease, err := properlockfile.LockSync(dir, properlockfile.Options{})
	if err != nil {
		panic(err)
	}
	defer lease.Release()
	for range 3 {
		select {
		case <-lease.Done():
			fmt.Println("lost:", lease.Err())
			return
		case <-time.After(time.Millisecond):
			fmt.Println("a piece of work")
		}
	}
	// Output:
	// a piece of work
	// a piece of work
	// a piece of work
}
