package sim

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/seed-c461eb89/nodelock/internal/filesystem"
)

// TestTreeIsAsLinux makes the same calls, at random, of a Tree and of this computer's
// filesystem, and compares all that can be compared of their answers: inode numbers are
// each system's own, change times are not to be set, and reading changes access times or not,
// as the system was mounted.
func TestTreeIsAsLinux(t *testing.T) {
	rounds := 500
	if testing.Short() {
		rounds = 30
	}
	for seed := range uint64(rounds) {
		var log strings.Builder
		t.Chdir(t.TempDir())
		root, err := os.Getwd()
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(seed, 0))
		pair := &pair{tree: New(root, 1, 2e18), random: r}
		for _, link := range []string{"a", "b"} {
			if r.IntN(2) == 0 {
				continue
			}
			to := pair.path()
			fmt.Fprintf(&log, "%s -> %s\n", link, to)
			pair.tree.Create(link, filesystem.Symlink, to)
			if err := os.Symlink(to, link); err != nil {
				t.Fatal(err)
			}
		}
		for range 60 {
			c := pair.call()
			want, got := pair.make(c)
			fmt.Fprintf(&log, "%s %q %q %d: %s %v %q\n", c.Op.Name(), c.Path, c.Dest, c.Handle, want.Code, want.Type, want.Data)
			if got != want {
				t.Fatalf("seed %d: the system says\n%+v, and the tree\n%+v\n%s", seed, want, got, &log)
			}
		}
		pair.closeAll()
	}
}

// A pair is a Tree and this computer's filesystem.
type pair struct {
	tree   *Tree
	random *rand.Rand
	// open has the handles, each as the tree and as the system know it.
	open [][2]filesystem.Handle
}

func (p *pair) one(of ...string) string { return of[p.random.IntN(len(of))] }

func (p *pair) path() string {
	path := p.one("a", "b", "c", "d", "a/b", "a/c", "b/a", "c/c", "d/b/c")
	return p.one("", "", "", "", "./", "a/../", p.tree.Root+"/") + path + p.one("", "", "", "", "/")
}

// call returns a call of any kind that there is.
func (p *pair) call() Call {
	for {
		c := Call{Op: Op(p.random.IntN(int(Ops))), N: 1e12 + int64(p.random.IntN(1e6))}
		switch row := &rows[c.Op]; {
		case row.tree == nil, row.real == nil, c.Op == Resolve, c.Op == Reach: // which depend on the system
			continue
		case row.handle:
			// It is one of those that are open, by its place.
			if len(p.open) == 0 {
				continue
			}
			c.Handle = filesystem.Handle(p.random.IntN(len(p.open)))
		default:
			c.Path = p.path()
			if row.paths == 2 {
				c.Dest = p.path()
			}
		}
		if c.Op == Write {
			c.Data = "some data"
		}
		return c
	}
}

// make makes a call of both.
func (p *pair) make(c Call) (want, got Answer) {
	place := int(c.Handle)
	ofTree, ofSystem := c, c
	if rows[c.Op].handle {
		ofTree.Handle, ofSystem.Handle = p.open[place][0], p.open[place][1]
	}
	got, want = p.tree.Perform(&ofTree), Real(ofSystem)
	if got.Code == "" && want.Code == "" && c.Op.Opens() {
		p.open = append(p.open, [2]filesystem.Handle{got.Handle, want.Handle})
	}
	if c.Op == Close {
		p.open = append(p.open[:place:place], p.open[place+1:]...)
	}
	for _, a := range []*Answer{&got, &want} {
		if err := c.Error(a); err != nil {
			*a = Answer{Code: err.Error()}
		}
		a.Handle, a.Atime, a.Ctime, a.Identity = 0, 0, 0, filesystem.Identity{}
		if a.Type != filesystem.File {
			a.Size = 0 // it has none, or what the system likes
		}
		if a.Mtime > 1.5e18 {
			a.Mtime = 0 // it is now, and nobody has set it
		}
	}
	return want, got
}

func (p *pair) closeAll() {
	for _, h := range p.open {
		Real(Call{Op: Close, Handle: h[1]})
	}
}
