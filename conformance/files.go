package conformance

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/seed-c461eb89/nodelock/internal/filesystem"
)

// root is where the world's files are. It is printed nowhere.
const root = "/.virtual-world"

// relative takes the root's prefix off a path or a text.
func relative(text string) string {
	text = strings.ReplaceAll(text, root+"/", "")
	return strings.ReplaceAll(text, root, ".")
}

const (
	maxName  = 255
	maxPath  = 4095
	maxLinks = 40
)

// files is a POSIX filesystem in memory. Its methods return the code of what went
// wrong, or "". Times are nanoseconds since 1970.
type files struct {
	root  *inode
	grain int64
	now   int64
	open  map[filesystem.Handle]*opened
	next  filesystem.Handle
	err   error // what is wrong with the files that the scenario lists
}

type opened struct {
	node *inode
	path string
}

type inode struct {
	kind         filesystem.Type
	to           string
	entries      map[string]*inode
	mtime, ctime int64
	nlink        int
}

var kinds = map[string]filesystem.Type{
	"": filesystem.File, "file": filesystem.File, "dir": filesystem.Directory, "symlink": filesystem.Symlink,
}

func newFiles(s *Scenario) *files {
	f := &files{grain: grains[s.Timestamps], now: s.Epoch * 1e6, open: map[filesystem.Handle]*opened{}}
	f.root = f.newNode(filesystem.Directory)
	// A directory sorts before what is in it.
	for _, path := range slices.Sorted(maps.Keys(s.Files)) {
		spec := s.Files[path]
		node := f.newNode(kinds[spec.Type])
		node.to = spec.To
		mtimeAge, ctimeAge := spec.Age, spec.Age
		if spec.MtimeAge != nil {
			mtimeAge = *spec.MtimeAge
		}
		if spec.CtimeAge != nil {
			ctimeAge = *spec.CtimeAge
		}
		node.mtime, node.ctime = f.ago(mtimeAge), f.ago(ctimeAge)
		if code := f.place(path, node); code != "" {
			f.err = fmt.Errorf("files[%q]: cannot be placed: %s", path, code)
			return f
		}
	}
	return f
}

// place puts a listed file where it belongs, making the parents that are missing.
func (f *files) place(path string, node *inode) string {
	dir := f.root
	names := components(path)
	if len(names) == 0 || slices.Contains(names, "..") {
		return "EINVAL"
	}
	for _, name := range names[:len(names)-1] {
		next := dir.entries[name]
		if next == nil {
			next = f.newNode(filesystem.Directory)
			dir.entries[name] = next
		}
		if next.kind != filesystem.Directory {
			return "ENOTDIR"
		}
		dir = next
	}
	name := names[len(names)-1]
	if dir.entries[name] != nil {
		return "EEXIST"
	}
	if len(name) > maxName {
		return "ENAMETOOLONG"
	}
	dir.entries[name] = node
	return ""
}

func (f *files) newNode(kind filesystem.Type) *inode {
	n := &inode{kind: kind, nlink: 1, mtime: f.floor(f.now), ctime: f.floor(f.now)}
	if kind == filesystem.Directory {
		n.entries = map[string]*inode{}
	}
	return n
}

func (f *files) floor(ns int64) int64 {
	over := ns % f.grain
	if over < 0 {
		over += f.grain
	}
	return ns - over
}

func (f *files) ago(ms float64) int64 {
	return f.floor(f.now - int64(math.Round(ms*1e6)))
}

func components(path string) []string {
	return slices.DeleteFunc(strings.Split(path, "/"), func(name string) bool { return name == "" || name == "." })
}

// A place is where a path leads: the directory, the name in it, and what is there,
// or nil. The root has no directory.
type place struct {
	dir  *inode
	name string
	node *inode
}

// walk finds a path. A missing last component is no error: node is nil then.
func (f *files) walk(path string, follow bool) (place, string) {
	links := 0
	return f.walkFrom(nil, path, follow, &links)
}

func (f *files) walkFrom(from []*inode, path string, follow bool, links *int) (place, string) {
	if path == "" {
		return place{}, "ENOENT"
	}
	if len(path) > maxPath {
		return place{}, "ENAMETOOLONG"
	}
	if rest, ok := strings.CutPrefix(path, root); ok && (rest == "" || rest[0] == '/') {
		from, path = nil, rest
	} else if path[0] == '/' {
		return place{}, "ENOENT" // nothing is outside the world
	}
	// The directories on the way, for "..".
	trail := append([]*inode{f.root}, from...)
	if len(from) > 0 {
		trail = slices.Clone(from)
	}
	names := components(path)
	here := place{node: trail[len(trail)-1]}
	for i, name := range names {
		last := i == len(names)-1
		dir := trail[len(trail)-1]
		if name == ".." {
			if len(trail) > 1 {
				trail = trail[:len(trail)-1]
			}
			here = place{node: trail[len(trail)-1]}
			continue
		}
		if len(name) > maxName {
			return place{}, "ENAMETOOLONG"
		}
		node := dir.entries[name]
		here = place{dir: dir, name: name, node: node}
		if node != nil && node.kind == filesystem.Symlink && (follow || !last) {
			*links++
			if *links > maxLinks {
				return place{}, "ELOOP"
			}
			target, code := f.walkFrom(trail, node.to, true, links)
			if code != "" {
				return place{}, code
			}
			here = target
			node = target.node
		}
		if last {
			break
		}
		if node == nil {
			return place{}, "ENOENT"
		}
		if node.kind != filesystem.Directory {
			return place{}, "ENOTDIR"
		}
		trail = append(trail, node)
	}
	return here, ""
}

// find is walk for what must be there.
func (f *files) find(path string, follow bool) (place, string) {
	at, code := f.walk(path, follow)
	if code == "" && at.node == nil {
		code = "ENOENT"
	}
	return at, code
}

func (f *files) changed(dir *inode) {
	dir.mtime, dir.ctime = f.floor(f.now), f.floor(f.now)
}

func (f *files) create(path string, node *inode) string {
	at, code := f.walk(path, false)
	switch {
	case code != "":
		return code
	case at.node != nil:
		return "EEXIST"
	}
	at.dir.entries[at.name] = node
	f.changed(at.dir)
	return ""
}

func (f *files) openExclusive(path string) (filesystem.Handle, string) {
	node := f.newNode(filesystem.File)
	if code := f.create(path, node); code != "" {
		return 0, code
	}
	return f.newHandle(node, path), ""
}

func (f *files) openRead(path string) (filesystem.Handle, string) {
	at, code := f.find(path, true)
	if code != "" {
		return 0, code
	}
	return f.newHandle(at.node, path), ""
}

func (f *files) newHandle(node *inode, path string) filesystem.Handle {
	f.next++
	f.open[f.next] = &opened{node, path}
	return f.next
}

func (f *files) unlink(path string) string {
	at, code := f.find(path, false)
	switch {
	case code != "":
		return code
	case at.node.kind == filesystem.Directory:
		return "EISDIR"
	}
	delete(at.dir.entries, at.name)
	at.node.nlink--
	at.node.ctime = f.floor(f.now)
	f.changed(at.dir)
	return ""
}

func (f *files) rmdir(path string) string {
	at, code := f.find(path, false)
	switch {
	case code != "":
		return code
	case at.node.kind != filesystem.Directory:
		return "ENOTDIR"
	case len(at.node.entries) > 0:
		return "ENOTEMPTY"
	case at.dir == nil:
		return "EBUSY"
	}
	delete(at.dir.entries, at.name)
	f.changed(at.dir)
	return ""
}

func (f *files) link(from, to string) string {
	source, code := f.find(from, false)
	if code != "" {
		return code
	}
	target, code := f.walk(to, false)
	switch {
	case code != "":
		return code
	case target.node != nil:
		return "EEXIST"
	case source.node.kind == filesystem.Directory:
		return "EPERM"
	}
	target.dir.entries[target.name] = source.node
	source.node.nlink++
	source.node.ctime = f.floor(f.now)
	f.changed(target.dir)
	return ""
}

func (f *files) rename(from, to string) string {
	source, code := f.find(from, false)
	if code != "" {
		return code
	}
	target, code := f.walk(to, false)
	switch {
	case code != "":
		return code
	case source.dir == nil || target.node != nil && target.dir == nil:
		return "EBUSY"
	case target.node == source.node:
		return ""
	case contains(source.node, target.dir):
		return "EINVAL"
	}
	if old := target.node; old != nil {
		switch sourceIsDir, targetIsDir := source.node.kind == filesystem.Directory, old.kind == filesystem.Directory; {
		case sourceIsDir && !targetIsDir:
			return "ENOTDIR"
		case !sourceIsDir && targetIsDir:
			return "EISDIR"
		case len(old.entries) > 0:
			return "ENOTEMPTY"
		}
		old.nlink--
	}
	delete(source.dir.entries, source.name)
	target.dir.entries[target.name] = source.node
	source.node.ctime = f.floor(f.now)
	f.changed(source.dir)
	f.changed(target.dir)
	return ""
}

// contains reports whether dir is node or below it.
func contains(node, dir *inode) bool {
	if node == dir {
		return true
	}
	for _, child := range node.entries {
		if contains(child, dir) {
			return true
		}
	}
	return false
}

func (f *files) utimes(path string, mtime int64) string {
	at, code := f.find(path, true)
	if code != "" {
		return code
	}
	at.node.mtime, at.node.ctime = f.floor(mtime), f.floor(f.now)
	return ""
}

// realpath resolves every link. With a code it also returns the call and the path
// that Node's realpath names in its error.
func (f *files) realpath(path string) (resolved, code, failedCall, failedPath string) {
	var base []string
	pending := components(strings.TrimPrefix(path, root))
	links := 0
	for len(pending) > 0 {
		name := pending[0]
		pending = pending[1:]
		if name == ".." {
			if len(base) > 0 {
				base = base[:len(base)-1]
			}
			continue
		}
		base = append(base, name)
		here := root + "/" + strings.Join(base, "/")
		at, code := f.find(here, false)
		if code != "" {
			return "", code, "lstat", here
		}
		if at.node.kind != filesystem.Symlink {
			continue
		}
		if _, code := f.find(here, true); code != "" {
			return "", code, "stat", here
		}
		if links++; links > maxLinks {
			return "", "ELOOP", "stat", here
		}
		base = base[:len(base)-1]
		if rest, ok := strings.CutPrefix(at.node.to, root); ok {
			base, pending = nil, append(components(rest), pending...)
		} else {
			pending = append(components(at.node.to), pending...)
		}
	}
	return strings.Join(append([]string{root}, base...), "/"), "", "", ""
}

// disk lists what there is, as a recording has it.
func (f *files) disk(epoch int64, milliseconds func(ns int64) int64) map[string]DiskFile {
	list := map[string]DiskFile{}
	var add func(prefix string, dir *inode)
	add = func(prefix string, dir *inode) {
		for name, node := range dir.entries {
			entry := DiskFile{Mtime: milliseconds(node.mtime) - epoch}
			switch node.kind {
			case filesystem.Directory:
				entry.Type = "dir"
				add(prefix+name+"/", node)
			case filesystem.Symlink:
				entry.Type, entry.To = "symlink", node.to
			default:
				entry.Type, entry.Nlink = "file", node.nlink
			}
			list[prefix+name] = entry
		}
	}
	add("", f.root)
	return list
}
