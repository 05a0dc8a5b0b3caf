//go:build unix

package filesystem

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestRealpath(t *testing.T) {
	fixture(t)
	pwd, err := OS{}.Getwd()
	must(t, err)
	for _, directory := range []string{"d/e", "d/e/g", "elsewhere"} {
		must(t, os.Mkdir(directory, 0o755))
	}
	must(t, os.WriteFile("d/e/g/file", nil, 0o644))
	must(t, os.WriteFile("d/e/f", nil, 0o644))
	for link, target := range map[string]string{
		"up":         "..",
		"here":       ".",
		"deep":       "d/e/g",
		"chain":      "chain2",
		"chain2":     "./chain3/",
		"chain3":     pwd + "/deep//",
		"textual":    "deep/../f",
		"d/back":     "../elsewhere/../d/e",
		"d/e/parent": "../",
		"root":       "/",
		"fifolink":   "fifo",
		"socketlink": "socket",
		"absolute":   pwd + "/d",
	} {
		must(t, os.Symlink(target, link))
	}
	// More links in one path than the system follows at once, which Node does not
	// count.
	many := "d/e/g"
	for i := range 60 {
		name := fmt.Sprintf("many%d", i)
		must(t, os.Symlink(".", "d/e/g/"+name))
		many += "/" + name
	}
	// Links as long as a first guess at their length, and longer.
	for _, length := range []int{255, 256, 257, 1000} {
		must(t, os.Symlink("d"+strings.Repeat("/", length-len("de"))+"e", fmt.Sprint("exact", length)))
	}
	table := []struct{ path, want string }{
		{"exact255", pwd + "/d/e"},
		{"exact256", pwd + "/d/e"},
		{"exact257", pwd + "/d/e"},
		{"exact1000", pwd + "/d/e"},
		{"", pwd},
		{".", pwd},
		{"./", pwd},
		{"f", pwd + "/f"},
		{"f/", pwd + "/f"},
		{"./d/..//f", pwd + "/f"},
		{"nowhere/../f", pwd + "/f"},
		{"d/", pwd + "/d"},
		{"/", "/"},
		{"//", "/"},
		{"/..", "/"},
		{pwd, pwd},
		{pwd + "/", pwd},
		{"link", pwd + "/f"},
		{"linkdir/x", pwd + "/full/x"},
		{"up", pwd[:strings.LastIndexByte(pwd, '/')]},
		{"here/here/f", pwd + "/f"},
		{"deep/file", pwd + "/d/e/g/file"},
		{"deep/../f", pwd + "/f"}, // by the text, before any link is read
		{"textual", pwd + "/f"},   // likewise, although the link leads to d/e/f
		{"chain", pwd + "/d/e/g"},
		{"chain/file", pwd + "/d/e/g/file"},
		{"d/back/g/file", pwd + "/d/e/g/file"},
		{"d/e/parent/e/parent/back/g", pwd + "/d/e/g"},
		{"root", "/"},
		{"root/" + pwd + "/f", pwd + "/f"},
		{"fifo", pwd + "/fifo"},
		{"fifolink", pwd + "/fifo"},
		{"socketlink", pwd + "/socket"},
		{"absolute/e", pwd + "/d/e"},
		{many, pwd + "/d/e/g"},
	}
	var calls []call
	for _, row := range table {
		calls = append(calls, call{"Realpath", []string{row.path}})
		if got, err := (OS{}).Realpath(row.path); got != row.want || err != nil {
			t.Errorf("Realpath(%q) = %q, %v; want %q", row.path, got, err, row.want)
		}
	}
	t.Run("node", func(t *testing.T) {
		compare(t, calls, inThisProcess(t, calls), inNode(t, circumstances{Calls: calls}))
	})
}

func TestResolve(t *testing.T) {
	fixture(t)
	pwd, err := OS{}.Getwd()
	must(t, err)
	for path, want := range map[string]string{
		"":                  pwd,
		"nowhere/../f/":     pwd + "/f",
		"link/..//x/.":      pwd + "/x",
		"../../../../../..": "/",
		"/a/./b//../c/":     "/a/c",
		"//a":               "/a",
		"/":                 "/",
	} {
		if got, err := (OS{}).Resolve(path); got != want || err != nil {
			t.Errorf("Resolve(%q) = %q, %v; want %q", path, got, err, want)
		}
	}
}

// $PWD may lead through a link. Node does not ask it.
func TestGetwdWithoutLinks(t *testing.T) {
	fixture(t)
	pwd, err := OS{}.Getwd()
	must(t, err)
	t.Chdir(pwd + "/linkdir") // which sets $PWD
	calls := []call{{"Getwd", nil}, {"Realpath", []string{""}}, {"Realpath", []string{"x"}}}
	for i, want := range []string{pwd + "/full", pwd + "/full", pwd + "/full/x"} {
		if got, err := calls[i].make(); got != want || err != nil {
			t.Errorf("%v = %v, %v; want %q", calls[i], got, err, want)
		}
	}
	t.Run("node", func(t *testing.T) {
		compare(t, calls, inThisProcess(t, calls), inNode(t, circumstances{Calls: calls}))
	})
}
