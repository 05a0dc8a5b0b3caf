package nodeerror_test

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"github.com/seed-c461eb89/nodelock/compat/nodeerror"
	"github.com/seed-c461eb89/nodelock/internal/callerror"
)

func TestText(t *testing.T) {
	for _, row := range []struct {
		err  nodeerror.Error
		text string
	}{
		// All but the escaped ones as Node 20 prints them.
		{nodeerror.Error{Code: "EEXIST", Syscall: "open", Path: "a.lock"}, "EEXIST: file already exists, open 'a.lock'"},
		{nodeerror.Error{Code: "ENOENT", Syscall: "open"}, "ENOENT: no such file or directory, open ''"},
		{nodeerror.Error{Code: "EIO", Syscall: "close"}, "EIO: i/o error, close"},
		{nodeerror.Error{Code: "EIO", Syscall: "fstat"}, "EIO: i/o error, fstat"},
		{nodeerror.Error{Code: "EEXIST", Syscall: "link", Path: "a.lock.STALE", Dest: "a.lock"}, "EEXIST: file already exists, link 'a.lock.STALE' -> 'a.lock'"},
		{nodeerror.Error{Code: "ENOENT", Syscall: "link", Path: "a"}, "ENOENT: no such file or directory, link 'a' -> ''"},
		{nodeerror.Error{Code: "ENOENT", Syscall: "rename", Dest: "b"}, "ENOENT: no such file or directory, rename '' -> 'b'"},
		{nodeerror.Error{Code: "ENOENT", Syscall: "uv_cwd"}, "ENOENT: no such file or directory, uv_cwd"},
		{nodeerror.Error{Code: "EACCES", Syscall: "scandir", Path: "/root"}, "EACCES: permission denied, scandir '/root'"},
		{nodeerror.Error{Code: "ENOTSUP", Syscall: "mkdir", Path: "a"}, "ENOTSUP: operation not supported on socket, mkdir 'a'"},
		{nodeerror.Error{Code: "UNKNOWN", Syscall: "mkdir", Path: "a"}, "UNKNOWN: unknown error, mkdir 'a'"},
		{nodeerror.Error{Code: "Unknown system error -122", Syscall: "link", Path: "a", Dest: "b"}, "Unknown system error -122: Unknown system error -122, link 'a' -> 'b'"},
		{nodeerror.Error{Code: "ESRCH", Syscall: "kill"}, "ESRCH: no such process, kill"},
		{nodeerror.Error{Code: "ENOENT", Syscall: "open", Path: "it's"}, "ENOENT: no such file or directory, open 'it's'"},
		{nodeerror.Error{Code: "ENOENT", Syscall: "open", Path: `a\b`}, `ENOENT: no such file or directory, open 'a\b'`},

		{nodeerror.Error{Code: "ENOENT", Syscall: "open", Path: "\x1b[2J"}, `ENOENT: no such file or directory, open '\x1b[2J'`},
		{nodeerror.Error{Code: "ENOENT", Syscall: "link", Path: "a\n", Dest: "\xff"}, `ENOENT: no such file or directory, link 'a\x0a' -> '\xff'`},
		{nodeerror.Error{Code: "ELOCKED", Message: "Lock file is already being held", File: "/a"}, "Lock file is already being held"},
		{nodeerror.Error{Code: "ECONFLICT", Message: "Lock conflict: a\rb"}, `Lock conflict: a\x0db`},
	} {
		if got := row.err.Error(); got != row.text {
			t.Errorf("%q\nwant %q", got, row.text)
		}
	}
}

func TestIs(t *testing.T) {
	var (
		locked   = &nodeerror.Error{Code: "ELOCKED", Message: "Lock file is already being held"}
		released = &nodeerror.Error{Code: "ERELEASED", Message: "Lock is already released"}
		err      = &nodeerror.Error{Code: "ELOCKED", Message: "Lock file is already being hold", File: "/a"}
	)
	for _, row := range []struct {
		err, target error
		want        bool
	}{
		{err, locked, true},
		{fmt.Errorf("wrapped: %w", err), locked, true},
		{err, released, false},
		{err, err, true},
		{locked, err, false}, // err says which file
		{callerror.Linux("EEXIST", "open", "a", ""), &nodeerror.Error{Code: "EEXIST"}, true},
		{&nodeerror.Error{Code: "EEXIST"}, callerror.Linux("EEXIST", "open", "a", ""), false},
		{callerror.Linux("EEXIST", "open", "a", ""), fs.ErrExist, true},
		{callerror.Linux("ENOTEMPTY", "rmdir", "a", ""), fs.ErrExist, true}, // as Go has it
		{callerror.Linux("ENOENT", "open", "a", ""), fs.ErrNotExist, true},
		{callerror.Linux("ENOENT", "open", "a", ""), fs.ErrExist, false},
		{callerror.Linux("EPERM", "open", "a", ""), fs.ErrPermission, true},
		{callerror.Linux("EACCES", "open", "a", ""), fs.ErrPermission, true},
		{callerror.Linux("ENOTDIR", "open", "a", ""), fs.ErrNotExist, false},
		{err, fs.ErrExist, false},
		// By the code alone.
		{&nodeerror.Error{Code: "EEXIST"}, fs.ErrExist, true},
		{&nodeerror.Error{Code: "ENOTEMPTY"}, fs.ErrExist, true},
		{&nodeerror.Error{Code: "ENOENT"}, fs.ErrNotExist, true},
		{&nodeerror.Error{Code: "EPERM"}, fs.ErrPermission, true},
		{&nodeerror.Error{Code: "EACCES"}, fs.ErrPermission, true},
		{&nodeerror.Error{Code: "EIO"}, fs.ErrExist, false},
		{&nodeerror.Error{Code: "EIO"}, fs.ErrNotExist, false},
		{&nodeerror.Error{Code: "EIO"}, fs.ErrPermission, false},
		// These say more than a sentinel.
		{&nodeerror.Error{Code: "EIO"}, &nodeerror.Error{Code: "EIO", Syscall: "close"}, false},
		{&nodeerror.Error{Code: "EIO"}, &nodeerror.Error{Code: "EIO", Path: "a"}, false},
		{&nodeerror.Error{Code: "EIO"}, &nodeerror.Error{Code: "EIO", Dest: "a"}, false},
		{&nodeerror.Error{Code: "EIO"}, &nodeerror.Error{Code: "EIO", Err: syscall.EIO}, false},
		{&nodeerror.Error{Code: "ECOMPROMISED", Err: callerror.Linux("ENOENT", "stat", "a", "")}, fs.ErrNotExist, true},
	} {
		if got := errors.Is(row.err, row.target); got != row.want {
			t.Errorf("errors.Is(%#v, %v) = %v", row.err, row.target, got)
		}
	}
}
