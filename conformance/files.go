package conformance

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/seed-c461eb89/nodelock/internal/filesystem"
	"github.com/seed-c461eb89/nodelock/internal/sim"
)

// root is where the world's files are. It is printed nowhere.
const root = "/.virtual-world"

// relative takes the root's prefix off a path or a text.
func relative(text string) string {
	text = strings.ReplaceAll(text, root+"/", "")
	return strings.ReplaceAll(text, root, ".")
}

var kinds = map[string]filesystem.Type{
	"": filesystem.File, "file": filesystem.File, "dir": filesystem.Directory, "symlink": filesystem.Symlink,
	"fifo": filesystem.Other,
}

// newFiles returns the files that a scenario lists.
func newFiles(s *Scenario) (*sim.Tree, error) {
	f := sim.New(root, grains[s.Timestamps], s.Epoch*1e6)
	// A directory sorts before what is in it.
	for _, path := range slices.Sorted(maps.Keys(s.Files)) {
		spec := s.Files[path]
		node, code := f.Place(path, kinds[spec.Type], spec.To)
		if code != "" {
			return f, fmt.Errorf("files[%q]: cannot be placed: %s", path, code)
		}
		mtimeAge, ctimeAge := spec.Age, spec.Age
		if spec.MtimeAge != nil {
			mtimeAge = *spec.MtimeAge
		}
		if spec.CtimeAge != nil {
			ctimeAge = *spec.CtimeAge
		}
		ago := func(ms float64) int64 { return f.Now - int64(math.Round(ms*1e6)) }
		f.SetTimes(node, ago(mtimeAge), ago(ctimeAge))
	}
	return f, nil
}

// disk lists what there is, as a recording has it.
func disk(f *sim.Tree, epoch int64) map[string]DiskFile {
	list := map[string]DiskFile{}
	f.All(func(path string, _ sim.Entry, node *sim.Node) {
		entry := DiskFile{Mtime: milliseconds(node.Mtime) - epoch}
		switch node.Kind {
		case filesystem.Directory:
			entry.Type = "dir"
		case filesystem.Symlink:
			entry.Type, entry.To = "symlink", node.To
		case filesystem.Other:
			entry.Type = "fifo"
		default:
			entry.Type, entry.Nlink = "file", int(node.Nlink)
		}
		list[path] = entry
	})
	return list
}
