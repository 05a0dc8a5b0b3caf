package live

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// A realFilesystem is one that is made for the test, in an image or on top of others.
type realFilesystem struct {
	name string
	// needs are the programs that make and mount it.
	needs []string
	// size of the image in MiB; 0: there is none.
	size int
	make []string // the image is the last argument
	// mount mounts the image (or nothing) on a directory.
	mount   func(image, dir string) []string
	unmount []string // "umount" if it is nil
	// grain of its file times, if it is a second or more.
	grain time.Duration
}

func loopMount(image, dir string) []string { return []string{"mount", "-o", "loop", image, dir} }

// realFilesystems differ in what file times they keep and in what renames they know.
var realFilesystems = []realFilesystem{
	{"ext4", []string{"mkfs.ext4"}, 16, []string{"mkfs.ext4", "-q", "-F"}, loopMount, nil, 0},
	{"ext4, 128-byte inodes", []string{"mkfs.ext4"}, 16, []string{"mkfs.ext4", "-q", "-F", "-I", "128"}, loopMount, nil, time.Second},
	{"xfs", []string{"mkfs.xfs"}, 300, []string{"mkfs.xfs", "-q", "-f"}, loopMount, nil, 0},
	{"btrfs", []string{"mkfs.btrfs"}, 128, []string{"mkfs.btrfs", "-q", "-f"}, loopMount, nil, 0},
	{"tmpfs", nil, 0, nil, func(_, dir string) []string {
		return []string{"mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", dir}
	}, nil, 0},
	{"overlayfs", nil, 0, nil, func(_, dir string) []string {
		return []string{"sh", "-c", `
			base=$1.layers && mkdir "$base" && mount -t tmpfs -o size=4m tmpfs "$base" &&
			mkdir "$base/lower" "$base/upper" "$base/work" &&
			mount -t overlay overlay -o "lowerdir=$base/lower,upperdir=$base/upper,workdir=$base/work" "$1"`, "sh", dir}
	}, []string{"sh", "-c", `umount "$1" && umount "$1.layers" && rmdir "$1.layers"`, "sh"}, 0},
	{"FAT through FUSE", []string{"mkfs.vfat", "fusefat"}, 16, []string{"mkfs.vfat"}, func(image, dir string) []string {
		return []string{"fusefat", "-o", "rw+", image, dir}
	}, nil, 2 * time.Second},
	{"NTFS through FUSE", []string{"mkfs.ntfs", "ntfs-3g"}, 16, []string{"mkfs.ntfs", "-q", "-F", "-f"}, func(image, dir string) []string {
		return []string{"ntfs-3g", image, dir}
	}, nil, 0},
}

var killed = flag.Int("kills", 0, "how many holders are killed in all on the filesystems; 0: as many as there is time for")

// TestKills has holders killed on the filesystems whose kernel's locks reach everybody.
func TestKills(t *testing.T) {
	run := onFilesystems(t)
	var there []realFilesystem
	for _, f := range realFilesystems {
		if f.grain == 0 && !strings.Contains(f.name, "FUSE") {
			there = append(there, f)
		}
	}
	protocols := []string{"lockfile", properLockfile4}
	kills := cmp.Or(*killed, 100)
	for _, f := range there {
		t.Run(f.name, func(t *testing.T) {
			dir := f.mounted(t)
			for i, protocol := range protocols {
				trial := &trial{Harness: run, scratch: filepath.Join(dir, fmt.Sprint(i))}
				err := os.Mkdir(trial.scratch, 0o777)
				if err == nil {
					err = catch(func() { t.Logf("%s: %s", protocol, trial.kills(protocol, kills/len(there)/len(protocols))) })
				}
				if err == nil {
					err = trial.nothingLeft()
				}
				if err != nil {
					t.Errorf("%s: %v", protocol, err)
				}
				for _, p := range trial.participants {
					p.stop()
				}
			}
		})
	}
}

// onFilesystems returns a harness for a test that mounts filesystems, or skips it.
func onFilesystems(t *testing.T) *Harness {
	t.Helper()
	needNode(t)
	if testing.Short() {
		t.Skip("it takes a while: not with -short")
	}
	if os.Getuid() != 0 {
		t.Skip("only root may mount")
	}
	run, err := New("node", io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(run.Remove)
	return run
}

// TestFilesystems has Go and Node take locks of each other on real filesystems. Whatever
// a filesystem makes of a lock, it has to be the same for both.
func TestFilesystems(t *testing.T) {
	run := onFilesystems(t)
	for _, f := range realFilesystems {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			dir := f.mounted(t)
			systems := []string{properLockfile4, properLockfile1}
			var stories [2][2][]string // by system, and by who holds
			var wait sync.WaitGroup
			for i, system := range systems {
				for j, sides := range [][2]string{{"Go", "Node"}, {"Node", "Go"}} {
					wait.Go(func() {
						trial := &trial{Harness: run, scratch: filepath.Join(dir, fmt.Sprint(i, j))}
						stories[i][j] = trial.onFilesystem(system, sides[0], sides[1], f.grain)
						for _, p := range trial.participants {
							p.stop()
						}
					})
				}
			}
			wait.Wait()
			for i, system := range systems {
				if a, b := strings.Join(stories[i][0], "\n"), strings.Join(stories[i][1], "\n"); a != b {
					t.Errorf("%s held by Go:\n%s\nheld by Node:\n%s", system, a, b)
				}
				for _, line := range stories[i][0] {
					if strings.Contains(line, "error") {
						t.Errorf("%s: %s", system, line)
					}
				}
			}
		})
	}
}

// mounted makes the filesystem and returns a directory on it. It skips where that is not
// possible.
func (f realFilesystem) mounted(t *testing.T) string {
	t.Helper()
	for _, program := range f.needs {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("cannot make one: %v", err)
		}
	}
	dir := t.TempDir()
	image, mountPoint := filepath.Join(dir, "image"), filepath.Join(dir, "mounted")
	if err := os.Mkdir(mountPoint, 0o777); err != nil {
		t.Fatal(err)
	}
	if f.size > 0 {
		if err := os.WriteFile(image, nil, 0o666); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(image, int64(f.size)<<20); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(f.make[0], append(f.make[1:], image)...).CombinedOutput(); err != nil {
			t.Skipf("cannot make one: %v: %s", err, out)
		}
	}
	mount := f.mount(image, mountPoint)
	if out, err := exec.Command(mount[0], mount[1:]...).CombinedOutput(); err != nil {
		t.Skipf("cannot mount it here: %v: %s", err, out)
	}
	t.Cleanup(func() {
		unmount := f.unmount
		if unmount == nil {
			unmount = []string{"umount"}
		}
		if out, err := exec.Command(unmount[0], append(unmount[1:], mountPoint)...).CombinedOutput(); err != nil {
			t.Errorf("unmounting: %v: %s", err, out)
		}
	})
	return mountPoint
}

// onFilesystem goes through the life of a lock and tells what happened. Grain is that of
// the file times.
//
// A lock is renewed every second. Its time may be a grain old when it is written, so the
// threshold leaves room for that. With times of two seconds a lock of 4.1.2 is lost all
// the same, within two heartbeats, in Node and in Go: every other second that it sets
// comes back as another.
func (t *trial) onFilesystem(system, holding, taking string, grain time.Duration) []string {
	if err := os.Mkdir(t.scratch, 0o777); err != nil {
		return []string{"error: " + err.Error()}
	}
	var story []string
	tell := func(what string, do func()) bool {
		if err := catch(do); err != nil {
			story = append(story, fmt.Sprintf("%s: error: %s", what, strings.NewReplacer(
				t.scratch, "…", holding+":", "holder:", taking+":", "other:").Replace(err.Error())))
			return false
		}
		story = append(story, what+": ok")
		return true
	}
	var holder, other *process
	var c command
	if !tell("start", func() { holder, other = t.startTwo(holding, taking) }) ||
		!tell(system, func() { c = t.target(system) }) {
		return story
	}
	c.Do, c.Options.Stale = "lock", 2000+2*grain.Milliseconds()
	if !tell("lock", func() { holder.do(c) }) {
		return story
	}
	tell("kept for 6 s", func() {
		for began := time.Now(); time.Since(began) < 6*time.Second; time.Sleep(100 * time.Millisecond) {
			expectRefused(other, c, "ELOCKED")
			expectLocked(other, c, true)
		}
	})
	if grain > time.Second && system == properLockfile4 {
		tell("lost", func() { expectLost(holder, c, "ECOMPROMISED") })
		tell("left behind by the loss", func() { must(os.Remove(c.Path + lockSuffix)) })
	} else {
		tell("not lost", func() { expectLost(holder, c, "") })
		tell("release", func() { release(holder, c) })
	}
	tell("check", func() { expectLocked(other, c, false) })
	// One that its holder has left behind.
	long := time.Now().Add(-time.Minute)
	tell("left behind", func() { must(os.Mkdir(c.Path+lockSuffix, 0o777)) })
	tell("made old", func() { must(os.Chtimes(c.Path+lockSuffix, long, long)) })
	tell("check", func() { expectLocked(other, c, false) })
	tell("takeover", func() { other.do(c) })
	tell("held", func() { expectRefused(holder, c, "ELOCKED") })
	tell("release", func() { release(other, c) })
	tell("removed", func() { must(os.Remove(c.Path)) })
	tell("nothing left", func() { must(t.nothingLeft()) })
	return story
}
