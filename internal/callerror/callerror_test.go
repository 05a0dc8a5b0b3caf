package callerror

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/seed-c461eb89/nodelock/compat/nodeerror"
	"github.com/seed-c461eb89/nodelock/internal/libuv"
)

func TestNullByte(t *testing.T) {
	const begin = "The argument '%s' must be a string, Uint8Array, or URL without null bytes. Received "
	for _, row := range []struct {
		err                *nodeerror.Error
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

func TestCauses(t *testing.T) {
	exist, _, ok := libuv.Errno("EEXIST")
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
		if !errors.Is(err, exist) || !errors.Is(err, fs.ErrExist) || nodeerror.Code(err) != "EEXIST" {
			t.Errorf("%v does not match", err)
		}
	}
	if nodeerror.Code(nil) != "" || nodeerror.Code(fs.ErrExist) != "" {
		t.Error("only an Error has a code")
	}
}

func TestLinuxEverywhere(t *testing.T) {
	for _, e := range []libuv.Entry{
		{Code: "EEXIST", Linux: -17, Text: "file already exists"},
		{Code: "EFTYPE", Linux: -4028, Text: "inappropriate file type or format"}, // no error of Linux
	} {
		err := Linux(e.Code, "open", "a", "")
		if err.Errno != e.Linux || err.Error() != e.Code+": "+e.Text+", open 'a'" {
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
	errno, _, ok := libuv.Errno(code)
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
	errno, _, _ := libuv.Errno("EEXIST")
	b.ReportAllocs()
	for b.Loop() {
		if FromErrno("open", "a.lock", "", errno).Code != "EEXIST" {
			b.Fatal()
		}
	}
}
