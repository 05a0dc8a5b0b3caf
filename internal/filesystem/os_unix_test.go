//go:build unix

package filesystem

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// fixture makes a directory with something of each kind and goes there. Anybody may
// enter it, for the tests that become somebody else.
func fixture(t *testing.T) {
	t.Helper()
	emptyDirectory(t)
	for _, err := range []error{
		os.Chmod(".", 0o755),
		os.WriteFile("f", nil, 0o644),
		os.Mkdir("d", 0o755),
		os.Mkdir("full", 0o755),
		os.WriteFile("full/x", nil, 0o644),
		os.Mkdir("secret", 0o700),
		os.WriteFile("secret/x", nil, 0o600),
		os.WriteFile("mine", nil, 0o600),
		os.Symlink("f", "link"),
		os.Symlink("full", "linkdir"),
		os.Symlink("nowhere", "dangling"),
		os.Symlink("loop", "loop"),
		unix.Mkfifo("fifo", 0o644),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	listener, err := net.Listen("unix", "socket")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
}

var long = strings.Repeat("n", 256)

// A refusal is a call in the fixture that fails, and Node's text for that. $PWD in the
// text is the fixture's path.
type refusal struct {
	call
	text string
}

func refusals() []refusal {
	table := []refusal{
		{call{"OpenExclusive", []string{"f"}}, "EEXIST: file already exists, open 'f'"},
		{call{"OpenExclusive", []string{"d"}}, "EEXIST: file already exists, open 'd'"},
		{call{"OpenExclusive", []string{"link"}}, "EEXIST: file already exists, open 'link'"},
		{call{"OpenExclusive", []string{"dangling"}}, "EEXIST: file already exists, open 'dangling'"},
		{call{"OpenExclusive", []string{"fifo"}}, "EEXIST: file already exists, open 'fifo'"},

		{call{"OpenRead", []string{"nowhere"}}, "ENOENT: no such file or directory, open 'nowhere'"},
		{call{"OpenRead", []string{"dangling"}}, "ENOENT: no such file or directory, open 'dangling'"},
		{call{"OpenRead", []string{"loop"}}, "ELOOP: too many symbolic links encountered, open 'loop'"},
		{call{"OpenRead", []string{"f/"}}, "ENOTDIR: not a directory, open 'f/'"},

		{call{"Close", nil}, "EBADF: bad file descriptor, close"},
		{call{"Fstat", nil}, "EBADF: bad file descriptor, fstat"},

		{call{"Stat", []string{"nowhere"}}, "ENOENT: no such file or directory, stat 'nowhere'"},
		{call{"Stat", []string{"dangling"}}, "ENOENT: no such file or directory, stat 'dangling'"},
		{call{"Stat", []string{"loop"}}, "ELOOP: too many symbolic links encountered, stat 'loop'"},
		{call{"Lstat", []string{"nowhere"}}, "ENOENT: no such file or directory, lstat 'nowhere'"},
		{call{"Lstat", []string{"loop/x"}}, "ELOOP: too many symbolic links encountered, lstat 'loop/x'"},

		{call{"Unlink", []string{"nowhere"}}, "ENOENT: no such file or directory, unlink 'nowhere'"},
		{call{"Unlink", []string{"d"}}, "EISDIR: illegal operation on a directory, unlink 'd'"},

		{call{"Link", []string{"nowhere", "x"}}, "ENOENT: no such file or directory, link 'nowhere' -> 'x'"},
		{call{"Link", []string{"f", "f"}}, "EEXIST: file already exists, link 'f' -> 'f'"},
		{call{"Link", []string{"f", "d"}}, "EEXIST: file already exists, link 'f' -> 'd'"},
		{call{"Link", []string{"f", "dangling"}}, "EEXIST: file already exists, link 'f' -> 'dangling'"},
		{call{"Link", []string{"f", "nowhere/x"}}, "ENOENT: no such file or directory, link 'f' -> 'nowhere/x'"},
		{call{"Link", []string{"f", "f/x"}}, "ENOTDIR: not a directory, link 'f' -> 'f/x'"},
		{call{"Link", []string{"d", "x"}}, "EPERM: operation not permitted, link 'd' -> 'x'"},
		{call{"Link", []string{"", "x"}}, "ENOENT: no such file or directory, link '' -> 'x'"},
		{call{"Link", []string{"f", ""}}, "ENOENT: no such file or directory, link 'f' -> ''"},
		{call{"Link", []string{"", ""}}, "ENOENT: no such file or directory, link '' -> ''"},
		{call{"Link", []string{"f", long}}, "ENAMETOOLONG: name too long, link 'f' -> '" + long + "'"},
		{call{"Link", []string{"f\x00", "x"}}, nullByte("existingPath", `'f\x00'`)},
		{call{"Link", []string{"f", "x\x00"}}, nullByte("newPath", `'x\x00'`)},
		{call{"Link", []string{"f\x00", "x\x00"}}, nullByte("existingPath", `'f\x00'`)},

		{call{"Rename", []string{"nowhere", "x"}}, "ENOENT: no such file or directory, rename 'nowhere' -> 'x'"},
		{call{"Rename", []string{"f", "d"}}, "EISDIR: illegal operation on a directory, rename 'f' -> 'd'"},
		{call{"Rename", []string{"d", "f"}}, "ENOTDIR: not a directory, rename 'd' -> 'f'"},
		{call{"Rename", []string{"d", "full"}}, "ENOTEMPTY: directory not empty, rename 'd' -> 'full'"},
		{call{"Rename", []string{"d", "d/x"}}, "EINVAL: invalid argument, rename 'd' -> 'd/x'"},
		{call{"Rename", []string{"f", "nowhere/x"}}, "ENOENT: no such file or directory, rename 'f' -> 'nowhere/x'"},
		{call{"Rename", []string{"", ""}}, "ENOENT: no such file or directory, rename '' -> ''"},
		{call{"Rename", []string{"f", long}}, "ENAMETOOLONG: name too long, rename 'f' -> '" + long + "'"},
		{call{"Rename", []string{"f\x00", "x"}}, nullByte("oldPath", `'f\x00'`)},
		{call{"Rename", []string{"f", "x\x00"}}, nullByte("newPath", `'x\x00'`)},

		{call{"Mkdir", []string{"f"}}, "EEXIST: file already exists, mkdir 'f'"},
		{call{"Mkdir", []string{"d"}}, "EEXIST: file already exists, mkdir 'd'"},
		{call{"Mkdir", []string{"link"}}, "EEXIST: file already exists, mkdir 'link'"},
		{call{"Mkdir", []string{"dangling"}}, "EEXIST: file already exists, mkdir 'dangling'"},

		{call{"Rmdir", []string{"nowhere"}}, "ENOENT: no such file or directory, rmdir 'nowhere'"},
		{call{"Rmdir", []string{"f"}}, "ENOTDIR: not a directory, rmdir 'f'"},
		{call{"Rmdir", []string{"full"}}, "ENOTEMPTY: directory not empty, rmdir 'full'"},
		{call{"Rmdir", []string{"linkdir"}}, "ENOTDIR: not a directory, rmdir 'linkdir'"},
		{call{"Rmdir", []string{"."}}, "EINVAL: invalid argument, rmdir '.'"},

		{call{"Utimes", []string{"nowhere"}}, "ENOENT: no such file or directory, utime 'nowhere'"},
		{call{"Utimes", []string{"dangling"}}, "ENOENT: no such file or directory, utime 'dangling'"},

		{call{"Readdir", []string{"nowhere"}}, "ENOENT: no such file or directory, scandir 'nowhere'"},
		{call{"Readdir", []string{"f"}}, "ENOTDIR: not a directory, scandir 'f'"},
		{call{"Readdir", []string{"fifo"}}, "ENOTDIR: not a directory, scandir 'fifo'"},

		{call{"Realpath", []string{"nowhere"}}, "ENOENT: no such file or directory, lstat '$PWD/nowhere'"},
		{call{"Realpath", []string{"nowhere/x/y"}}, "ENOENT: no such file or directory, lstat '$PWD/nowhere'"},
		{call{"Realpath", []string{"./d/../nowhere//x/"}}, "ENOENT: no such file or directory, lstat '$PWD/nowhere'"},
		{call{"Realpath", []string{"linkdir/nowhere"}}, "ENOENT: no such file or directory, lstat '$PWD/full/nowhere'"},
		{call{"Realpath", []string{"f/x"}}, "ENOTDIR: not a directory, lstat '$PWD/f/x'"},
		{call{"Realpath", []string{"link/x"}}, "ENOTDIR: not a directory, lstat '$PWD/f/x'"},
		{call{"Realpath", []string{"dangling"}}, "ENOENT: no such file or directory, stat '$PWD/dangling'"},
		{call{"Realpath", []string{"dangling/x"}}, "ENOENT: no such file or directory, stat '$PWD/dangling'"},
		{call{"Realpath", []string{"loop"}}, "ELOOP: too many symbolic links encountered, stat '$PWD/loop'"},
		{call{"Realpath", []string{long}}, "ENAMETOOLONG: name too long, lstat '$PWD/" + long + "'"},
		{call{"Realpath", []string{"f\x00"}}, nullByte("path", `'f\x00'`)},
		{call{"Realpath", []string{"/nowhere\x00"}}, nullByte("path", `'/nowhere\x00'`)},
	}
	for _, c := range []struct{ name, call string }{
		{"OpenExclusive", "open"}, {"OpenRead", "open"}, {"Stat", "stat"}, {"Lstat", "lstat"}, {"Unlink", "unlink"},
		{"Mkdir", "mkdir"}, {"Rmdir", "rmdir"}, {"Utimes", "utime"}, {"Readdir", "scandir"},
	} {
		table = append(table,
			refusal{call{c.name, []string{""}}, "ENOENT: no such file or directory, " + c.call + " ''"},
			refusal{call{c.name, []string{"nowhere/x"}}, "ENOENT: no such file or directory, " + c.call + " 'nowhere/x'"},
			refusal{call{c.name, []string{"f/x"}}, "ENOTDIR: not a directory, " + c.call + " 'f/x'"},
			refusal{call{c.name, []string{long}}, "ENAMETOOLONG: name too long, " + c.call + " '" + long + "'"},
			refusal{call{c.name, []string{"a\x00b"}}, nullByte("path", `'a\x00b'`)},
			refusal{call{c.name, []string{"f\x00"}}, nullByte("path", `'f\x00'`)},
		)
	}
	if runtime.GOOS != "linux" {
		for i := range table {
			if table[i].Name == "Unlink" && table[i].Args[0] == "d" {
				table[i].text = "EPERM: operation not permitted, unlink 'd'"
			}
		}
	}
	return table
}

func nullByte(argument, received string) string {
	return "The argument '" + argument + "' must be a string, Uint8Array, or URL without null bytes. Received " + received
}

func TestRefusals(t *testing.T) {
	fixture(t)
	pwd, err := OS{}.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	before, descriptors := tree(t), openDescriptors(t)
	for _, want := range refusals() {
		_, err := want.make()
		if err == nil {
			t.Errorf("%v succeeded", want.call)
			continue
		}
		text := strings.ReplaceAll(want.text, "$PWD", pwd)
		if err.Error() != text {
			t.Errorf("%v: %v\n want %v", want.call, err, text)
		}
		causedBy(t, err)
		code, _, coded := strings.Cut(text, ":")
		for sentinel, codes := range map[error]string{
			fs.ErrExist:      "EEXIST ENOTEMPTY",
			fs.ErrNotExist:   "ENOENT",
			fs.ErrPermission: "EACCES EPERM",
		} {
			if coded && errors.Is(err, sentinel) != strings.Contains(codes, code) {
				t.Errorf("%v is %v: %v", err, sentinel, errors.Is(err, sentinel))
			}
		}
		if diff := cmp.Diff(before, tree(t)); diff != "" {
			t.Fatalf("%v has changed the files (-before +after):\n%s", want.call, diff)
		}
	}
	if now := openDescriptors(t); now != descriptors {
		t.Errorf("%d descriptors are open; there were %d", now, descriptors)
	}
}

func TestRefusalsAreNodes(t *testing.T) {
	node(t)
	fixture(t)
	var calls []call
	for _, r := range refusals() {
		calls = append(calls, r.call)
	}
	compare(t, calls, inThisProcess(t, calls), inNode(t, circumstances{Calls: calls}))
}

// openDescriptors counts what this process has open.
func openDescriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// enter brings the child about, on systems that can.
func (c circumstances) enter() error {
	if c.ReadOnly != "" {
		if err := mountReadOnly(c.ReadOnly); err != nil {
			return err
		}
	}
	if c.Node {
		return nil
	}
	if c.Gone != "" {
		if err := errors.Join(os.Chdir(c.Gone), os.Remove("../"+c.Gone)); err != nil {
			return err
		}
	}
	if c.UID != 0 {
		if err := errors.Join(syscall.Setgroups(nil), syscall.Setgid(c.UID), syscall.Setuid(c.UID)); err != nil {
			return err
		}
	}
	if c.Exhaust {
		limit := syscall.Rlimit{Cur: 64, Max: 64}
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
			return err
		}
		for {
			if _, err := syscall.Open("/dev/null", syscall.O_RDONLY, 0); err != nil {
				break
			}
		}
	}
	return nil
}

// These need a process in circumstances of its own.

func TestWithoutDescriptors(t *testing.T) {
	fixture(t)
	refused(t, circumstances{Exhaust: true}, []refusal{
		{call{"OpenExclusive", []string{"x"}}, "EMFILE: too many open files, open 'x'"},
		{call{"OpenRead", []string{"f"}}, "EMFILE: too many open files, open 'f'"},
		{call{"Readdir", []string{"d"}}, "EMFILE: too many open files, scandir 'd'"},
		{call{"OpenExclusive", []string{"f"}}, "EMFILE: too many open files, open 'f'"},
	})
}

func TestWithoutPermission(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can become somebody else")
	}
	fixture(t)
	refused(t, circumstances{UID: 65534}, []refusal{
		{call{"OpenExclusive", []string{"x"}}, "EACCES: permission denied, open 'x'"},
		{call{"OpenExclusive", []string{"secret/new"}}, "EACCES: permission denied, open 'secret/new'"},
		{call{"OpenRead", []string{"mine"}}, "EACCES: permission denied, open 'mine'"},
		{call{"Stat", []string{"secret/x"}}, "EACCES: permission denied, stat 'secret/x'"},
		{call{"Lstat", []string{"secret/x"}}, "EACCES: permission denied, lstat 'secret/x'"},
		{call{"Unlink", []string{"f"}}, "EACCES: permission denied, unlink 'f'"},
		{call{"Link", []string{"f", "x"}}, linkRefused()},
		{call{"Rename", []string{"f", "x"}}, "EACCES: permission denied, rename 'f' -> 'x'"},
		{call{"Mkdir", []string{"x"}}, "EACCES: permission denied, mkdir 'x'"},
		{call{"Rmdir", []string{"d"}}, "EACCES: permission denied, rmdir 'd'"},
		{call{"Utimes", []string{"f"}}, "EPERM: operation not permitted, utime 'f'"},
		{call{"Utimes", []string{"secret/x"}}, "EACCES: permission denied, utime 'secret/x'"},
		{call{"Readdir", []string{"secret"}}, "EACCES: permission denied, scandir 'secret'"},
		{call{"Realpath", []string{"secret/x"}}, "EACCES: permission denied, lstat '$PWD/secret/x'"},
	})
}

// linkRefused is what comes of linking another's file where nothing may be made:
// Linux may be set to see to the former first.
func linkRefused() string {
	if setting, _ := os.ReadFile("/proc/sys/fs/protected_hardlinks"); strings.TrimSpace(string(setting)) == "1" {
		return "EPERM: operation not permitted, link 'f' -> 'x'"
	}
	return "EACCES: permission denied, link 'f' -> 'x'"
}

func TestInDirectoryThatIsGone(t *testing.T) {
	fixture(t)
	refused(t, circumstances{Gone: "d"}, []refusal{
		{call{"Getwd", nil}, "ENOENT: no such file or directory, uv_cwd"},
		{call{"Realpath", []string{"x"}}, "ENOENT: no such file or directory, uv_cwd"},
		{call{"OpenExclusive", []string{"x"}}, "ENOENT: no such file or directory, open 'x'"},
		{call{"Mkdir", []string{"x"}}, "ENOENT: no such file or directory, mkdir 'x'"},
	})
}

// refused checks that the calls fail in these circumstances as given, and in Node too.
func refused(t *testing.T, c circumstances, want []refusal) {
	t.Helper()
	pwd, err := OS{}.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range want {
		c.Calls = append(c.Calls, r.call)
	}
	ours := inChild(t, c)
	for i, r := range want {
		text := strings.ReplaceAll(r.text, "$PWD", pwd)
		switch got := ours[i].Error; {
		case got == nil:
			t.Errorf("%v succeeded", r.call)
		case got.Message != text:
			t.Errorf("%v: %v\n want %v", r.call, got.Message, text)
		}
	}
	t.Run("node", func(t *testing.T) {
		node(t)
		if c.Gone != "" {
			if err := os.Mkdir(c.Gone, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		compare(t, c.Calls, ours, inNode(t, c))
	})
}

func TestOpenExclusiveMode(t *testing.T) {
	fixture(t)
	for _, mask := range []int{0, 0o022, 0o077} {
		func() {
			defer syscall.Umask(syscall.Umask(mask))
			h, err := OS{}.OpenExclusive("x")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := unix.Write(int(h), []byte("x")); err != nil {
				t.Error(err)
			}
			if flags, err := unix.FcntlInt(uintptr(h), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
				t.Errorf("other programs inherit the descriptor: %x, %v", flags, err)
			}
			if err := (OS{}).Mkdir("y"); err != nil {
				t.Fatal(err)
			}
			for name, want := range map[string]fs.FileMode{"x": 0o666, "y": fs.ModeDir | 0o777} {
				if info, err := os.Lstat(name); err != nil || info.Mode() != want&^fs.FileMode(mask) {
					t.Errorf("umask %o: %v, %v", mask, info.Mode(), err)
				}
			}
			for _, err := range []error{OS{}.Close(h), OS{}.Unlink("x"), OS{}.Rmdir("y")} {
				if err != nil {
					t.Error(err)
				}
			}
		}()
	}
}

func TestLinksAreNotFollowed(t *testing.T) {
	fixture(t)
	for _, link := range []string{"link", "dangling", "linkdir"} {
		if s, err := (OS{}).Lstat(link); err != nil || s.Type != Symlink {
			t.Errorf("%s: %v, %v", link, s, err)
		}
	}
	for name, want := range map[string]Type{"link": File, "linkdir": Directory, "f": File, "d": Directory, "fifo": Other, "socket": Other} {
		if s, err := (OS{}).Stat(name); err != nil || s.Type != want {
			t.Errorf("%s: %v, %v", name, s, err)
		}
	}
	if err := (OS{}).Unlink("linkdir"); err != nil {
		t.Error(err)
	}
	if err := (OS{}).Rename("link", "dangling"); err != nil {
		t.Error(err)
	}
	if target, err := os.Readlink("dangling"); target != "f" {
		t.Error(target, err)
	}
	if s, err := (OS{}).Stat("full/x"); err != nil {
		t.Error(s, err)
	}
}

// A FIFO in the place of a lock must not stop the reader for good.
func TestOpenReadDoesNotWait(t *testing.T) {
	fixture(t)
	opened := make(chan error)
	go func() {
		h, err := OS{}.OpenRead("fifo")
		if err == nil {
			err = OS{}.Close(h)
		}
		opened <- err
	}()
	select {
	case err := <-opened:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(5 * time.Second):
		t.Error("it waits for a writer")
		fd, err := unix.Open("fifo", unix.O_WRONLY|unix.O_NONBLOCK, 0)
		if err != nil {
			t.Fatal(err)
		}
		<-opened
		unix.Close(fd)
	}
}

func TestUtimesFollowsLinks(t *testing.T) {
	fixture(t)
	before, err := OS{}.Lstat("link")
	if err != nil {
		t.Fatal(err)
	}
	if err := (OS{}).Utimes("link", 1234567890123); err != nil {
		t.Fatal(err)
	}
	if s, err := (OS{}).Stat("f"); err != nil || s.ModTime.UnixMilli() != 1234567890122 || time.Since(s.ChangeTime).Abs() > time.Minute {
		t.Error(s, err)
	}
	var st unix.Stat_t
	if err := unix.Stat("f", &st); err != nil || st.Atim != st.Mtim {
		t.Errorf("access time %v, modification time %v, %v", st.Atim, st.Mtim, err)
	}
	if after, err := (OS{}).Lstat("link"); err != nil || after.ModTime != before.ModTime {
		t.Error(after, err)
	}
}

func TestReaddir(t *testing.T) {
	emptyDirectory(t)
	want := []string{"10", "9", "B", "_", "a", "z", "é", "\xff", ".hidden", "..."}
	// More than fit in one answer of the system.
	for i := range 1000 {
		want = append(want, strings.Repeat("x", 50)+string(rune('a'+i%26))+strings.Repeat("y", i/26))
	}
	for _, name := range want {
		if err := os.WriteFile(name, nil, 0o644); err != nil {
			t.Skip(err) // not every filesystem takes every byte
		}
	}
	slices.Sort(want)
	descriptors := openDescriptors(t)
	names, err := OS{}.Readdir(".")
	if diff := cmp.Diff(want, names); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if now := openDescriptors(t); now != descriptors {
		t.Errorf("%d descriptors are open; there were %d", now, descriptors)
	}
	if err := (OS{}).Mkdir("empty"); err != nil {
		t.Fatal(err)
	}
	if names, err := (OS{}).Readdir("empty"); err != nil || names == nil || len(names) != 0 {
		t.Errorf("%#v, %v", names, err)
	}
}
