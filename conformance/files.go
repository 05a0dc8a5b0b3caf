package conformance

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/seed-c461eb89/nodelock/internal/filesystem"
	"github.com/seed-c461eb89/nodelock/internal/nodetime"
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

var typeNames = map[filesystem.Type]string{
	filesystem.File: "file", filesystem.Directory: "dir", filesystem.Symlink: "symlink", filesystem.Other: "fifo",
}

// newFiles returns the files that a scenario lists, with nothing in them.
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

// fill puts into the files what a scenario says.
func fill(f *sim.Tree, s *Scenario) {
	for path, spec := range s.Files {
		if at, code := f.Find(path, false); code == "" && f.Nodes[at.Node].Kind == filesystem.File {
			f.Nodes[at.Node].Data = contentOf(spec.Content, spec.Size)
		}
	}
}

// shownContent is up to how many bytes a recording has of what is in a file.
const shownContent = 1000

// disk lists what there is, as a recording has it.
func disk(f *sim.Tree, epoch int64) map[string]DiskFile {
	list := map[string]DiskFile{}
	f.All(func(path string, _ sim.Entry, node *sim.Node) {
		entry := DiskFile{Type: typeNames[node.Kind], Mtime: nodetime.Milliseconds(time.Unix(0, node.Mtime)) - epoch}
		switch node.Kind {
		case filesystem.Symlink:
			entry.To = node.Data
		case filesystem.File:
			entry.Nlink = int(node.Nlink)
			if len(node.Data) <= shownContent {
				entry.Content = node.Data
			}
		}
		list[path] = entry
	})
	return list
}
