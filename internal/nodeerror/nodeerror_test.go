package nodeerror

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"
)

func TestTableIsSorted(t *testing.T) {
	for i := 1; i < len(table); i++ {
		if table[i-1].code >= table[i].code {
			t.Errorf("%s before %s", table[i-1].code, table[i].code)
		}
	}
	for _, e := range table {
		if found, ok := lookup(e.code); !ok || found != e || !Known(e.code) {
			t.Errorf("%s is not found", e.code)
		}
	}
	for _, code := range []string{"", "E", "ELOCKED", "Z"} {
		if Known(code) {
			t.Errorf("%q is known", code)
		}
	}
}

// testdata/errno.json is what Node told of its table.
func TestTableIsNodes(t *testing.T) {
	content, err := os.ReadFile("../../testdata/errno.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Linux []struct {
			Code  string `json:"code"`
			Errno int    `json:"errno"`
			Text  string `json:"text"`
		} `json:"linux"`
	}
	if err := json.Unmarshal(content, &file); err != nil {
		t.Fatal(err)
	}
	nodes := map[string]entry{}
	for _, e := range file.Linux {
		nodes[e.Code] = entry{e.Code, e.Errno, e.Text}
		if ours, _ := lookup(e.Code); ours != nodes[e.Code] {
			t.Errorf("%v; Node has %v", ours, nodes[e.Code])
		}
	}
	for _, e := range table {
		if nodes[e.code] != e {
			t.Errorf("%v is unknown to Node", e)
		}
	}
	if len(table) < 80 {
		t.Errorf("there are %d errors", len(table))
	}
}

func TestText(t *testing.T) {
	for _, row := range []struct {
		err  Error
		text string
	}{
		// All but the escaped ones as Node 20 prints them.
		{Error{Code: "EEXIST", Syscall: "open", Path: "a.lock"}, "EEXIST: file already exists, open 'a.lock'"},
		{Error{Code: "ENOENT", Syscall: "open"}, "ENOENT: no such file or directory, open ''"},
		{Error{Code: "EIO", Syscall: "close"}, "EIO: i/o error, close"},
		{Error{Code: "EIO", Syscall: "fstat"}, "EIO: i/o error, fstat"},
		{Error{Code: "EEXIST", Syscall: "link", Path: "a.lock.STALE", Dest: "a.lock"}, "EEXIST: file already exists, link 'a.lock.STALE' -> 'a.lock'"},
		{Error{Code: "ENOENT", Syscall: "link", Path: "a"}, "ENOENT: no such file or directory, link 'a' -> ''"},
		{Error{Code: "ENOENT", Syscall: "rename", Dest: "b"}, "ENOENT: no such file or directory, rename '' -> 'b'"},
		{Error{Code: "ENOENT", Syscall: "uv_cwd"}, "ENOENT: no such file or directory, uv_cwd"},
		{Error{Code: "EACCES", Syscall: "scandir", Path: "/root"}, "EACCES: permission denied, scandir '/root'"},
		{Error{Code: "ENOTSUP", Syscall: "mkdir", Path: "a"}, "ENOTSUP: operation not supported on socket, mkdir 'a'"},
		{Error{Code: "UNKNOWN", Syscall: "mkdir", Path: "a"}, "UNKNOWN: unknown error, mkdir 'a'"},
		{Error{Code: "Unknown system error -122", Syscall: "link", Path: "a", Dest: "b"}, "Unknown system error -122: Unknown system error -122, link 'a' -> 'b'"},
		{Error{Code: "ESRCH", Syscall: "kill"}, "ESRCH: no such process, kill"},
		{Error{Code: "ENOENT", Syscall: "open", Path: "it's"}, "ENOENT: no such file or directory, open 'it's'"},
		{Error{Code: "ENOENT", Syscall: "open", Path: `a\b`}, `ENOENT: no such file or directory, open 'a\b'`},

		{Error{Code: "ENOENT", Syscall: "open", Path: "\x1b[2J"}, `ENOENT: no such file or directory, open '\x1b[2J'`},
		{Error{Code: "ENOENT", Syscall: "link", Path: "a\n", Dest: "\xff"}, `ENOENT: no such file or directory, link 'a\x0a' -> '\xff'`},
		{Error{Code: "ELOCKED", Message: "Lock file is already being held", File: "/a"}, "Lock file is already being held"},
		{Error{Code: "ECONFLICT", Message: "Lock conflict: a\rb"}, `Lock conflict: a\x0db`},
	} {
		if got := row.err.Error(); got != row.text {
			t.Errorf("%q\nwant %q", got, row.text)
		}
	}
}

func TestNullByte(t *testing.T) {
	const begin = "The argument '%s' must be a string, Uint8Array, or URL without null bytes. Received "
	for _, row := range []struct {
		err                *Error
		argument, received string
	}{
		// As Node 20 prints them.
		{NullByte("open", "a\x00b"), "path", `'a\x00b'`},
		{NullByte("link", "a\x00"), "existingPath", `'a\x00'`},
		{NullByte("rename", "a\x00"), "oldPath", `'a\x00'`},
		{NullByteDest("link", "a", "b\x00"), "newPath", `'b\x00'`},
		{NullByte("open", "\x00\b\t\n\f\r\v\\"), "path", `'\x00\b\t\n\f\r\x0B\\'`},
		{NullByte("open", "\x00\u009f"), "path", `'\x00\x9F'`},
		{NullByte("open", "a'\x00"), "path", `"a'\x00"`},
		{NullByte("open", "a'\"\x00"), "path", "`a'\"\\x00`"},
		{NullByte("open", "\x00`'\""), "path", "'\\x00`\\'\"'"},
		{NullByte("open", "\x00'\"${"), "path", `'\x00\'"${'`},
		{NullByte("open", "\x00"+strings.Repeat("x", 300)), "path", `'\x00` + strings.Repeat("x", 123) + "..."},
		{NullByte("open", "\x00"+strings.Repeat("é", 122)), "path", `'\x00` + strings.Repeat("é", 122) + "'"},
		{NullByte("open", "\x00"+strings.Repeat("é", 123)), "path", `'\x00` + strings.Repeat("é", 123) + "..."},
		{NullByte("open", "\x00"+strings.Repeat("😀", 61)), "path", `'\x00` + strings.Repeat("😀", 61) + "'"},
		// Where Node goes on for half a character.
		{NullByte("open", "\x00"+strings.Repeat("😀", 62)), "path", `'\x00` + strings.Repeat("😀", 61) + "..."},
	} {
		if got, want := row.err.Error(), fmt.Sprintf(begin, row.argument)+row.received; got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
		if row.err.Code != "ERR_INVALID_ARG_VALUE" || row.err.Errno != 0 || row.err.Syscall != "" {
			t.Errorf("%+v", row.err)
		}
		if !errors.Is(row.err, syscall.EINVAL) {
			t.Errorf("%v is not EINVAL to Go", row.err)
		}
	}
}

// Every code that this system has an error for is had back from that error.
func TestErrnoRoundTrip(t *testing.T) {
	for _, e := range table {
		errno, ok := errnoOf(e.code)
		if !ok {
			continue
		}
		code, number := codeOf(errno)
		if code != e.code && !(e.code == "ENOTDIR" && code == "ENOENT") { // see errno_windows.go
			t.Errorf("%s is %d, which is %s", e.code, errno, code)
		}
		if number >= 0 || numberOf(e.code, errno) >= 0 {
			t.Errorf("%s is %d", e.code, number)
		}
	}
	for _, known := range errnos {
		if !Known(known.code) {
			t.Errorf("%s has no text", known.code)
		}
	}
}

func TestCauses(t *testing.T) {
	exist, ok := errnoOf("EEXIST")
	if !ok {
		t.Fatal("no EEXIST")
	}
	var (
		open  error = FromErrno("open", "a", "", exist)
		link  error = FromErrno("link", "a", "b", exist)
		empty error = FromErrno("link", "", "", exist)
		close error = FromErrno("close", "", "", exist)

		pathErr *fs.PathError
		linkErr *os.LinkError
		callErr *os.SyscallError
	)
	if !errors.As(open, &pathErr) || *pathErr != (fs.PathError{Op: "open", Path: "a", Err: exist}) {
		t.Errorf("%#v", pathErr)
	}
	if !errors.As(link, &linkErr) || *linkErr != (os.LinkError{Op: "link", Old: "a", New: "b", Err: exist}) {
		t.Errorf("%#v", linkErr)
	}
	if !errors.As(empty, &linkErr) {
		t.Errorf("%v is no os.LinkError", empty)
	}
	if !errors.As(close, &callErr) || callErr.Syscall != "close" {
		t.Errorf("%#v", callErr)
	}
	for _, err := range []error{open, link, close, fmt.Errorf("wrapped: %w", open)} {
		if !errors.Is(err, exist) || !errors.Is(err, fs.ErrExist) || Code(err) != "EEXIST" {
			t.Errorf("%v does not match", err)
		}
	}
	if Code(nil) != "" || Code(fs.ErrExist) != "" {
		t.Error("only an Error has a code")
	}
}

func TestIs(t *testing.T) {
	var (
		locked   = &Error{Code: "ELOCKED", Message: "Lock file is already being held"}
		released = &Error{Code: "ERELEASED", Message: "Lock is already released"}
		err      = &Error{Code: "ELOCKED", Message: "Lock file is already being hold", File: "/a"}
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
		{Linux("EEXIST", "open", "a", ""), &Error{Code: "EEXIST"}, true},
		{&Error{Code: "EEXIST"}, Linux("EEXIST", "open", "a", ""), false},
		{Linux("EEXIST", "open", "a", ""), fs.ErrExist, true},
		{Linux("ENOTEMPTY", "rmdir", "a", ""), fs.ErrExist, true}, // as Go has it
		{Linux("ENOENT", "open", "a", ""), fs.ErrNotExist, true},
		{Linux("ENOENT", "open", "a", ""), fs.ErrExist, false},
		{Linux("EPERM", "open", "a", ""), fs.ErrPermission, true},
		{Linux("EACCES", "open", "a", ""), fs.ErrPermission, true},
		{Linux("ENOTDIR", "open", "a", ""), fs.ErrNotExist, false},
		{err, fs.ErrExist, false},
		// By the code alone.
		{&Error{Code: "EEXIST"}, fs.ErrExist, true},
		{&Error{Code: "ENOTEMPTY"}, fs.ErrExist, true},
		{&Error{Code: "ENOENT"}, fs.ErrNotExist, true},
		{&Error{Code: "EPERM"}, fs.ErrPermission, true},
		{&Error{Code: "EACCES"}, fs.ErrPermission, true},
		{&Error{Code: "EIO"}, fs.ErrExist, false},
		{&Error{Code: "EIO"}, fs.ErrNotExist, false},
		{&Error{Code: "EIO"}, fs.ErrPermission, false},
		// These say more than a sentinel.
		{&Error{Code: "EIO"}, &Error{Code: "EIO", Syscall: "close"}, false},
		{&Error{Code: "EIO"}, &Error{Code: "EIO", Path: "a"}, false},
		{&Error{Code: "EIO"}, &Error{Code: "EIO", Dest: "a"}, false},
		{&Error{Code: "EIO"}, &Error{Code: "EIO", Err: syscall.EIO}, false},
		{&Error{Code: "ECOMPROMISED", Err: Linux("ENOENT", "stat", "a", "")}, fs.ErrNotExist, true},
	} {
		if got := errors.Is(row.err, row.target); got != row.want {
			t.Errorf("errors.Is(%#v, %v) = %v", row.err, row.target, got)
		}
	}
}

func TestLinuxEverywhere(t *testing.T) {
	for _, e := range table {
		err := Linux(e.code, "open", "a", "")
		if err.Errno != e.linux || err.Error() != e.code+": "+e.text+", open 'a'" {
			t.Errorf("%d %v", err.Errno, err)
		}
	}
	for _, code := range []string{"", "ELOCKED", "Unknown system error -122"} {
		if !panics(func() { Linux(code, "open", "a", "") }) {
			t.Errorf("%q is taken for a system error", code)
		}
	}
	if !panics(func() { FromCode("EAI_AGAIN", "open", "a", "") }) {
		t.Error("EAI_AGAIN is taken for an error of the filesystem")
	}
	want := FromErrno("rmdir", "a", "", mustErrno(t, "ENOTEMPTY"))
	if got := FromCode("ENOTEMPTY", "rmdir", "a", ""); got.Errno != want.Errno || got.Error() != want.Error() || !errors.Is(got, fs.ErrExist) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func mustErrno(t *testing.T, code string) syscall.Errno {
	t.Helper()
	errno, ok := errnoOf(code)
	if !ok {
		t.Fatal("no ", code)
	}
	return errno
}

func panics(f func()) (did bool) {
	defer func() { did = recover() != nil }()
	f()
	return false
}

// Contention is the ordinary case and makes an error each time it is met.
func BenchmarkFromErrno(b *testing.B) {
	errno, _ := errnoOf("EEXIST")
	b.ReportAllocs()
	for b.Loop() {
		if FromErrno("open", "a.lock", "", errno).Code != "EEXIST" {
			b.Fatal()
		}
	}
}
