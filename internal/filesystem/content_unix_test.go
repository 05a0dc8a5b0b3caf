//go:build unix

package filesystem

import (
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-c461eb89/nodelock/compat/nodeerror"
)

// What is no file is neither followed nor waited for.
func TestOpenWhatIsNoFile(t *testing.T) {
	emptyDirectory(t)
	var system OS
	must(t, unix.Mkfifo("fifo", 0o666))
	must(t, os.WriteFile("file", []byte("text"), 0o666))
	must(t, os.Symlink("file", "link"))
	must(t, os.Symlink("none", "dangling"))
	blocked := time.AfterFunc(time.Minute, func() { panic("it blocks") })
	defer blocked.Stop()

	h, err := system.OpenNoFollow("fifo")
	must(t, err)
	stat, err := system.Fstat(h)
	must(t, err)
	must(t, system.Close(h))
	if stat.Type != Other {
		t.Errorf("a FIFO is a %v", stat.Type)
	}
	if _, err := system.OpenTruncate("fifo"); nodeerror.Code(err) != "ENXIO" {
		t.Errorf("write into a FIFO: %v, want ENXIO", err)
	}
	for _, link := range []string{"link", "dangling"} {
		for call, open := range map[string]func(string) (Handle, error){"read": system.OpenNoFollow, "write": system.OpenTruncate} {
			_, err := open(link)
			if code := nodeerror.Code(err); code != "ELOOP" && code != "EMLINK" {
				t.Errorf("%s through %s: %v", call, link, err)
			}
		}
	}
	if text, err := os.ReadFile("file"); err != nil || string(text) != "text" {
		t.Errorf("what the link leads to: %q, %v", text, err)
	}
	if _, err := os.Lstat("none"); err == nil {
		t.Error("something was created through a link")
	}
}
