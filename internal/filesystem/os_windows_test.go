package filesystem

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/windows"

	"github.com/seed-c461eb89/nodelock/compat/nodeerror"
	"github.com/seed-c461eb89/nodelock/internal/nodetime"
)

// onWine skips what Wine does not do as Windows does.
func onWine(t *testing.T, reason string) {
	t.Helper()
	if windows.NewLazySystemDLL("ntdll.dll").NewProc("wine_get_version").Find() == nil {
		t.Skip("Wine: ", reason)
	}
}

func fixture(t *testing.T) {
	t.Helper()
	emptyDirectory(t)
	must(t, os.WriteFile("f", nil, 0o644))
	must(t, os.Mkdir("d", 0o755))
	must(t, os.Mkdir("full", 0o755))
	must(t, os.WriteFile("full/x", nil, 0o644))
}

func TestRefusals(t *testing.T) {
	fixture(t)
	pwd, err := OS{}.Getwd()
	must(t, err)
	before := tree(t)
	for _, row := range []struct {
		call
		text string
	}{
		{call{"OpenExclusive", []string{"f"}}, "EEXIST: file already exists, open 'f'"},
		{call{"OpenExclusive", []string{"d"}}, "EEXIST: file already exists, open 'd'"},
		{call{"OpenExclusive", []string{""}}, "ENOENT: no such file or directory, open ''"},
		{call{"OpenExclusive", []string{"nowhere/x"}}, "ENOENT: no such file or directory, open 'nowhere/x'"},
		{call{"OpenRead", []string{"nowhere"}}, "ENOENT: no such file or directory, open 'nowhere'"},
		{call{"Stat", []string{"nowhere"}}, "ENOENT: no such file or directory, stat 'nowhere'"},
		{call{"Stat", []string{""}}, "ENOENT: no such file or directory, stat ''"},
		{call{"Lstat", []string{"nowhere/x"}}, "ENOENT: no such file or directory, lstat 'nowhere/x'"},
		{call{"Unlink", []string{"nowhere"}}, "ENOENT: no such file or directory, unlink 'nowhere'"},
		{call{"Unlink", []string{"d"}}, "EPERM: operation not permitted, unlink 'd'"},
		{call{"Unlink", []string{"full"}}, "EPERM: operation not permitted, unlink 'full'"},
		{call{"Link", []string{"nowhere", "x"}}, "ENOENT: no such file or directory, link 'nowhere' -> 'x'"},
		{call{"Link", []string{"f", "d"}}, "EEXIST: file already exists, link 'f' -> 'd'"},
		{call{"Link", []string{"f", "full/x"}}, "EEXIST: file already exists, link 'f' -> 'full/x'"},
		{call{"Link", []string{"", ""}}, "ENOENT: no such file or directory, link '' -> ''"},
		{call{"Rename", []string{"nowhere", "x"}}, "ENOENT: no such file or directory, rename 'nowhere' -> 'x'"},
		{call{"Rename", []string{"f", "d"}}, "EPERM: operation not permitted, rename 'f' -> 'd'"},
		{call{"Rename", []string{"f", ""}}, "ENOENT: no such file or directory, rename 'f' -> ''"},
		{call{"Mkdir", []string{"f"}}, "EEXIST: file already exists, mkdir 'f'"},
		{call{"Mkdir", []string{"d"}}, "EEXIST: file already exists, mkdir 'd'"},
		{call{"Mkdir", []string{"nowhere/x"}}, "ENOENT: no such file or directory, mkdir 'nowhere/x'"},
		{call{"Mkdir", []string{""}}, "ENOENT: no such file or directory, mkdir ''"},
		{call{"Mkdir", []string{"a*b"}}, "EINVAL: invalid argument, mkdir 'a*b'"},
		{call{"Rmdir", []string{"nowhere"}}, "ENOENT: no such file or directory, rmdir 'nowhere'"},
		{call{"Rmdir", []string{"f"}}, "ENOENT: no such file or directory, rmdir 'f'"},
		{call{"Rmdir", []string{"full"}}, "ENOTEMPTY: directory not empty, rmdir 'full'"},
		{call{"Utimes", []string{"nowhere"}}, "ENOENT: no such file or directory, utime 'nowhere'"},
		{call{"Readdir", []string{"nowhere"}}, "ENOENT: no such file or directory, scandir 'nowhere'"},
		{call{"Readdir", []string{"f"}}, "ENOTDIR: not a directory, scandir 'f'"},
		{call{"Readdir", []string{""}}, "ENOENT: no such file or directory, scandir ''"},
		{call{"Realpath", []string{"nowhere/x"}}, `ENOENT: no such file or directory, lstat '$PWD\nowhere'`},
		{call{"Realpath", []string{"f/x"}}, `ENOENT: no such file or directory, lstat '$PWD\f\x'`},
		{call{"Realpath", []string{`\\?\Q:\x`}}, `ENOENT: no such file or directory, lstat '\\?\Q:\'`},
	} {
		_, err := row.make()
		if err == nil {
			t.Errorf("%v succeeded", row.call)
			continue
		}
		if text := strings.ReplaceAll(row.text, "$PWD", pwd); err.Error() != text {
			t.Errorf("%v: %v\n want %v", row.call, err, text)
		}
		causedBy(t, err)
		if e := err.(*nodeerror.Error); e.Errno > -4000 {
			t.Errorf("%v has the number %d", err, e.Errno)
		}
		if got, want := errors.Is(err, fs.ErrNotExist), strings.HasPrefix(row.text, "ENOENT"); got != want {
			t.Errorf("%v is fs.ErrNotExist: %v", err, got)
		}
		if diff := cmp.Diff(before, tree(t)); diff != "" {
			t.Fatalf("%v has changed the files (-before +after):\n%s", row.call, diff)
		}
	}
}

// What Node would find under a name must be what is found here, device names and all.
func TestNamesAreLiteral(t *testing.T) {
	emptyDirectory(t)
	var system OS
	names := []string{"nul", "con.lock", "dot.", "space ", strings.Repeat("n", 200)}
	for _, name := range names {
		h, err := system.OpenExclusive(name)
		must(t, err)
		must(t, system.Close(h))
	}
	got, err := system.Readdir(".")
	must(t, err)
	for _, name := range names {
		if !strings.Contains("\n"+strings.Join(got, "\n")+"\n", "\n"+name+"\n") {
			t.Errorf("%q is not in %q", name, got)
		}
		must(t, system.Unlink(name))
	}
}

// A path of more than 260 characters.
func TestLongPath(t *testing.T) {
	emptyDirectory(t)
	var system OS
	path := "."
	for range 5 {
		path += `\` + strings.Repeat("n", 100)
		must(t, system.Mkdir(path))
	}
	h, err := system.OpenExclusive(path + "/a.lock")
	must(t, err)
	must(t, system.Close(h))
	must(t, system.Rename(path+"/a.lock", path+"/b.lock"))
	names, err := system.Readdir(path)
	if diff := cmp.Diff([]string{"b.lock"}, names); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	real, err := system.Realpath(path + "/b.lock")
	if pwd, _ := system.Getwd(); err != nil || real != pwd+path[1:]+`\b.lock` {
		t.Error(real, err)
	}
}

func TestUnlinkReadOnlyFile(t *testing.T) {
	fixture(t)
	must(t, os.Chmod("f", 0o444))
	must(t, OS{}.Unlink("f"))
	if _, err := (OS{}).Lstat("f"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// With somebody else's handle on it a file goes away at once, or with that handle: but
// unlink succeeds.
func TestUnlinkOpenFile(t *testing.T) {
	fixture(t)
	h, err := OS{}.OpenRead("f")
	must(t, err)
	must(t, OS{}.Unlink("f"))
	must(t, OS{}.Close(h))
	h, err = OS{}.OpenExclusive("f")
	must(t, err)
	must(t, OS{}.Close(h))
}

func TestSharing(t *testing.T) {
	fixture(t)
	name, err := syscall.UTF16PtrFromString("f")
	must(t, err)
	h, err := windows.CreateFile(name, windows.GENERIC_READ, 0, nil, windows.OPEN_EXISTING, 0, 0)
	must(t, err)
	defer windows.CloseHandle(h)
	for name, text := range map[string]string{
		"OpenRead": "EBUSY: resource busy or locked, open 'f'",
		"Unlink":   "EBUSY: resource busy or locked, unlink 'f'",
	} {
		if _, err := (call{name, []string{"f"}}).make(); err == nil || err.Error() != text {
			t.Errorf("%v, want %s", err, text)
		}
	}
}

func TestFiletimes(t *testing.T) {
	for _, ms := range []int64{0, 1, -1, -1500, 1700000000000, 1700000000076, 1700000001005, -11644473600000, 253402300799999} {
		filetime := filetimeOf(ms)
		ticks := int64(filetime.HighDateTime)<<32 | int64(filetime.LowDateTime)
		if got := nodetime.Milliseconds(timeOf(ticks)); got != ms {
			t.Errorf("%d is stored as %d, which is %v", ms, ticks, timeOf(ticks))
		}
		// In double precision there are steps of 16 ticks at our time.
		if exact := unixEpoch + ms*1e4; ms > 1e12 && ms < 2e12 && (ticks%16 != 0 || max(ticks-exact, exact-ticks) > 8) {
			t.Errorf("%d is stored as %d, %d off", ms, ticks, ticks-exact)
		}
	}
	if got, want := timeOf(0), time.Date(1601, 1, 1, 0, 0, 0, 0, time.UTC); !got.Equal(want) {
		t.Errorf("%v, want %v", got, want)
	}
	fixture(t)
	for _, ms := range []int64{0, 1700000000076, -1500} {
		must(t, OS{}.Utimes("f", ms))
		if s, err := (OS{}).Stat("f"); err != nil || nodetime.Milliseconds(s.ModTime) != ms {
			t.Errorf("%d: %v, %v", ms, s, err)
		}
	}
}

func TestChangeTime(t *testing.T) {
	onWine(t, "a file's change time is its modification time's")
	fixture(t)
	before, err := OS{}.Stat("f")
	must(t, err)
	must(t, OS{}.Utimes("f", 1000))
	after, err := OS{}.Stat("f")
	must(t, err)
	if after.ChangeTime.Before(before.ChangeTime) || after.ModTime.Unix() != 1 {
		t.Errorf("%v, then %v", before, after)
	}
}

func TestResolve(t *testing.T) {
	for _, row := range []struct{ base, path, want string }{
		{`C:\a`, `b`, `C:\a\b`},
		{`C:\a`, `b/../c\.\d\`, `C:\a\c\d`},
		{`C:\a`, ``, `C:\a`},
		{`C:\`, `b`, `C:\b`},
		{`C:\`, ``, `C:\`},
		{`C:\a`, `..\..\..`, `C:\`},
		{`C:\a`, `\b`, `C:\b`},
		{`C:\a`, `/b/c`, `C:\b\c`},
		{`C:\a`, `D:\b`, `D:\b`},
		{`C:\a`, `D:/b/`, `D:\b`},
		{`C:\a`, `c:b`, `c:\a\b`},
		{`C:\a`, `Q:b`, `Q:\b`},
		{`C:\a`, `\\server\share\b\..\c`, `\\server\share\c`},
		{`C:\a`, `\\server\share`, `\\server\share\`},
		{`C:\a`, `//server/share/b`, `\\server\share\b`},
		{`\\server\share\`, `b`, `\\server\share\b`},
		{`\\server\share\a`, `\b`, `\\server\share\b`},
		{`C:\a`, `\\?\C:\b`, `\\?\C:\b`},
		{`C:\a`, `nul`, `C:\a\nul`},
		{`C:\a`, `b. `, `C:\a\b. `},
	} {
		if got := resolve(row.base, row.path); got != row.want {
			t.Errorf("resolve(%q, %q) = %q, want %q", row.base, row.path, got, row.want)
		}
	}
}

func TestRealpath(t *testing.T) {
	fixture(t)
	pwd, err := OS{}.Getwd()
	must(t, err)
	for path, want := range map[string]string{
		"":              pwd,
		".":             pwd,
		"f":             pwd + `\f`,
		"full/x":        pwd + `\full\x`,
		`full\..\f\`:    pwd + `\f`,
		`nowhere\..\f`:  pwd + `\f`,
		pwd[:3]:         pwd[:3],
		pwd + "/full/x": pwd + `\full\x`,
	} {
		if got, err := (OS{}).Realpath(path); got != want || err != nil {
			t.Errorf("Realpath(%q) = %q, %v; want %q", path, got, err, want)
		}
	}
}

func TestLinks(t *testing.T) {
	onWine(t, "it has no symbolic links")
	fixture(t)
	pwd, err := OS{}.Getwd()
	must(t, err)
	if err := os.Symlink("f", "link"); err != nil {
		t.Skip(err) // it takes a privilege
	}
	must(t, os.Symlink("full", "linkdir"))
	must(t, os.Symlink("nowhere", "dangling"))
	must(t, os.Symlink(pwd+`\full`, "absolute"))
	for link, want := range map[string]Type{"link": File, "linkdir": Directory, "absolute": Directory} {
		if s, err := (OS{}).Lstat(link); err != nil || s.Type != Symlink {
			t.Errorf("%s: %v, %v", link, s, err)
		}
		if s, err := (OS{}).Stat(link); err != nil || s.Type != want {
			t.Errorf("%s: %v, %v", link, s, err)
		}
	}
	for path, want := range map[string]string{
		"link": pwd + `\f`, "linkdir/x": pwd + `\full\x`, "absolute/x": pwd + `\full\x`,
	} {
		if got, err := (OS{}).Realpath(path); got != want || err != nil {
			t.Errorf("Realpath(%q) = %q, %v; want %q", path, got, err, want)
		}
	}
	if _, err := (OS{}).Realpath("dangling"); err == nil || err.Error() != "ENOENT: no such file or directory, stat '"+pwd+`\dangling'` {
		t.Error(err)
	}
	if _, err := (OS{}).OpenExclusive("dangling"); nodeerror.Code(err) != "EEXIST" {
		t.Error(err)
	}
	must(t, OS{}.Unlink("linkdir"))
	must(t, OS{}.Unlink("link"))
	if _, err := (OS{}).Stat("full/x"); err != nil {
		t.Error(err)
	}
}
