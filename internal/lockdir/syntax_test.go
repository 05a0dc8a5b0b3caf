package lockdir

import (
	"strings"
	"testing"
)

// windowsSyntax is Windows's on every system. Its volumes are drives and shares.
func windowsSyntax() Syntax {
	return Syntax{Separator: '\\', FoldsCase: true, volume: func(path string) string {
		if strings.HasPrefix(path, `\\`) {
			if parts := strings.SplitN(path[2:], `\`, 3); len(parts) >= 2 {
				return `\\` + parts[0] + `\` + parts[1]
			}
		}
		if len(path) >= 2 && path[1] == ':' {
			return path[:2]
		}
		return ""
	}}
}

// The answers are those of path.posix.relative and path.win32.relative of Node 20.
func TestRelative(t *testing.T) {
	posix, windows := POSIX().Syntax, windowsSyntax()
	for _, test := range []struct {
		syntax         Syntax
		from, to, want string
	}{
		{posix, "/v", "/v/a/b", "a/b"},
		{posix, "/v", "/v", ""},
		{posix, "/v", "/w/x", "../w/x"},
		{posix, "/", "/a", "a"},
		{posix, "/v/a", "/v", ".."},
		{posix, "/v", "/va", "../va"},
		{posix, "/v", "/V/a", "../V/a"},
		{windows, `C:\v`, `c:\V\a\B`, `a\B`},
		{windows, `C:\v`, `D:\a`, `D:\a`},
		{windows, `C:\v`, `C:\w`, `..\w`},
		{windows, `C:\`, `C:\a`, `a`},
		{windows, `\\s\h\v`, `\\s\h\v\a`, `a`},
		{windows, `\\s\h\v`, `\\t\h\v`, `\\t\h\v`},
		{windows, `\\s\h\v`, `\\S\H\w`, `..\w`},
		{windows, `C:\v`, `C:\v`, ``},
	} {
		if got := test.syntax.relative(test.from, test.to); got != test.want {
			t.Errorf("from %s to %s: %q, want %q", test.from, test.to, got, test.want)
		}
	}
}

func TestDirAndBase(t *testing.T) {
	posix, windows := POSIX().Syntax, windowsSyntax()
	for _, test := range []struct {
		syntax          Syntax
		path, dir, base string
	}{
		{posix, "/a/b", "/a", "b"},
		{posix, "/a", "/", "a"},
		{posix, "/", "/", ""},
		{posix, `/a\b`, "/", `a\b`},
		{windows, `C:\a\b`, `C:\a`, "b"},
		{windows, `C:\a`, `C:\`, "a"},
		{windows, `C:\`, `C:\`, ""},
		{windows, `\\s\h\a`, `\\s\h\`, "a"},
	} {
		if got := test.syntax.dir(test.path); got != test.dir {
			t.Errorf("dir of %s is %s, want %s", test.path, got, test.dir)
		}
		if got := test.syntax.base(test.path); got != test.base {
			t.Errorf("base of %s is %q, want %q", test.path, got, test.base)
		}
		if test.base != "" {
			if got := test.syntax.join(test.dir, test.base); got != test.path {
				t.Errorf("joined again: %s, want %s", got, test.path)
			}
		}
	}
}

func TestWithin(t *testing.T) {
	posix, windows := POSIX().Syntax, windowsSyntax()
	for _, test := range []struct {
		syntax    Syntax
		dir, path string
		want      bool
	}{
		{posix, "/v", "/v/.palee/locks", true},
		{posix, "/v", "/v", true},
		{posix, "/v", "/vault/.palee", false},
		{posix, "/v", "/", false},
		{posix, "/", "/anything", true},
		{posix, "/v", "/V/.palee", false},
		{windows, `C:\v`, `c:\V\.palee\locks`, true},
		{windows, `C:\v`, `D:\v\.palee`, false},
	} {
		if got := test.syntax.within(test.dir, test.path); got != test.want {
			t.Errorf("%s within %s: %v", test.path, test.dir, got)
		}
	}
}
