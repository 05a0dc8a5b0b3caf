package lockdir_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/seed-c461eb89/nodelock/compat/lockdir"
)

// A program that changes a note which a PALEE CLI may be changing too.
func Example() {
	vault, err := os.MkdirTemp("", "vault")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(vault)
	note := filepath.Join(vault, "topic.md")

	lock, err := lockdir.New(vault, note, lockdir.Options{})
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	lease, err := lock.AcquireWait(ctx)
	if err != nil {
		os.Exit(lockdir.ExitCode(err))
	}
	defer lease.Release()

	// No other call gets it now.
	_, err = lock.Acquire(ctx)
	fmt.Println("held:", errors.Is(err, lockdir.ErrHeld), "exit code:", lockdir.ExitCode(err))

	// Write beside the note, make sure of the lock, and only then replace the note.
	if err := os.WriteFile(note+".tmp", []byte("# Topic\n"), 0o666); err != nil {
		panic(err)
	}
	if err := lease.Verify(ctx); err != nil {
		panic(err)
	}
	if err := os.Rename(note+".tmp", note); err != nil {
		panic(err)
	}
	fmt.Println("release:", lease.Release())
	// Output:
	// held: true exit code: 4
	// release: <nil>
}
