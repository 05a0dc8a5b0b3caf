package nodeerror_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/seed-c461eb89/nodelock/compat/lockfile"
	"github.com/seed-c461eb89/nodelock/compat/nodeerror"
)

// A lock in a directory that is not there.
func Example() {
	_, err := lockfile.Lock(context.Background(), "missing/a.lock", lockfile.Options{})

	var e *nodeerror.Error
	if errors.As(err, &e) {
		fmt.Println(e.Code, e.Syscall, e.Path)
	}
	fmt.Println(err)
	fmt.Println(errors.Is(err, fs.ErrNotExist))
	// Output:
	// ENOENT open missing/a.lock
	// ENOENT: no such file or directory, open 'missing/a.lock'
	// true
}
