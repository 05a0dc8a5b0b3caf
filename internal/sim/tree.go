// Package sim is a POSIX filesystem in memory, for the virtual worlds in which
// engines are checked.
//
// A Tree is a value that can be copied at any moment (see [Tree.CopyFrom]), so that a run
// can be continued in more than one way. Beside what a program can see of files, it
// keeps what no program can: who made a file and who put a name where it is.
//
// Methods return the code of what went wrong, or "". Times are nanoseconds since 1970.
package sim

import (
	"slices"
	"strings"

	"github.com/seed-c461eb89/nodelock/internal/filesystem"
)

// Limits of a Linux system.
const (
	MaxName  = 255
	maxPath  = 4095
	maxLinks = 40
)

// A Tree is a filesystem. Now is its clock, and Grain the precision of its file times.
type Tree struct {
	// Root is where the files are: an absolute path that begins with it leads to them,
	// and any other absolute path nowhere.
	Root  string
	Grain int64
	Now   int64
	// Actor is who makes the calls.
	Actor uint8

	// Nodes are the files there are. A file's place here is its inode number: as on
	// ext4, the number of one that is gone goes to the next that is made. The root
	// directory has number 0.
	Nodes []Node
	// Entries are the names there are, in no order.
	Entries []Entry
	// Handles are the open files, in no order.
	Handles []Handle

	made   [maxActors]uint16
	opened [maxActors]uint32
}

// maxActors bounds the actors' numbers.
const maxActors = 16

// None is no node.
const None = int32(-1)

// A Node is a file of any type.
type Node struct {
	// ID tells it from every other file there ever was: who made it, in the upper half,
	// and how many he had made before.
	ID           uint32
	Kind         filesystem.Type
	Used         bool
	To           string // where a symlink leads
	Mtime, Ctime int64
	Nlink        int32
	// Locked is the number of the handle that has a kernel lock on the file, or 0.
	Locked filesystem.Handle
}

// Maker returns who made the file.
func (n *Node) Maker() uint8 { return uint8(n.ID >> 16) }

// An Entry is a name in a directory.
type Entry struct {
	Dir, Node int32
	Name      string
	// By is who put it there.
	By uint8
}

// A Handle is an open file. The numbers of one actor's do not depend on what others do.
type Handle struct {
	Number filesystem.Handle
	Owner  uint8
	Node   int32
	Path   string
}

// New returns a filesystem that has nothing but its root directory.
func New(root string, grain, now int64) *Tree {
	f := &Tree{Root: root, Grain: grain, Now: now}
	f.newNode(filesystem.Directory)
	f.Nodes[0].Nlink = 1
	return f
}

// CopyFrom makes f what g is, in the memory that f has.
func (f *Tree) CopyFrom(g *Tree) {
	nodes, entries, handles := f.Nodes[:0], f.Entries[:0], f.Handles[:0]
	*f = *g
	f.Nodes = append(nodes, g.Nodes...)
	f.Entries = append(entries, g.Entries...)
	f.Handles = append(handles, g.Handles...)
}

func (f *Tree) newNode(kind filesystem.Type) int32 {
	id := uint32(f.Actor)<<16 | uint32(f.made[f.Actor])
	f.made[f.Actor]++
	node := Node{ID: id, Kind: kind, Used: true, Mtime: f.floor(f.Now), Ctime: f.floor(f.Now)}
	for i := range f.Nodes {
		if !f.Nodes[i].Used {
			f.Nodes[i] = node
			return int32(i)
		}
	}
	f.Nodes = append(f.Nodes, node)
	return int32(len(f.Nodes) - 1)
}

// dropped frees a node that has lost a name or a handle, if that was the last.
func (f *Tree) dropped(node int32) {
	if f.Nodes[node].Nlink > 0 {
		return
	}
	for i := range f.Handles {
		if f.Handles[i].Node == node {
			return
		}
	}
	f.Nodes[node] = Node{}
	for n := len(f.Nodes); n > 0 && !f.Nodes[n-1].Used; n-- {
		f.Nodes = f.Nodes[:n-1]
	}
}

func (f *Tree) floor(ns int64) int64 {
	over := ns % f.Grain
	if over < 0 {
		over += f.Grain
	}
	return ns - over
}

// SetTimes sets a file's times as exactly as the filesystem keeps them.
func (f *Tree) SetTimes(node int32, mtime, ctime int64) {
	f.Nodes[node].Mtime, f.Nodes[node].Ctime = f.floor(mtime), f.floor(ctime)
}

// Components returns the names that a path consists of.
func Components(path string) []string {
	return slices.DeleteFunc(strings.Split(path, "/"), func(name string) bool { return name == "" || name == "." })
}

// component cuts the first name off a path; an empty one means that none is left.
func component(path string) (name, rest string) {
	for {
		start := 0
		for start < len(path) && path[start] == '/' {
			start++
		}
		end := start
		for end < len(path) && path[end] != '/' {
			end++
		}
		name, path = path[start:end], path[end:]
		if name != "." {
			return name, path
		}
	}
}

// A Place is where a path leads: the directory, the name in it, and what is there, or
// None. The root has no directory.
type Place struct {
	Dir, Node int32
	Name      string
	entry     int
}

// Lookup returns the place of a name in a directory.
func (f *Tree) Lookup(dir int32, name string) Place {
	for i := range f.Entries {
		if e := &f.Entries[i]; e.Dir == dir && e.Name == name {
			return Place{dir, e.Node, name, i}
		}
	}
	return Place{dir, None, name, -1}
}

// Walk finds a path. A missing last component is no error.
func (f *Tree) Walk(path string, follow bool) (Place, string) {
	links := 0
	var space [16]int32
	return f.walkFrom(append(space[:0], 0), path, follow, &links)
}

// walkFrom is Walk for a path that is relative to the last of the directories trail,
// which are those on the way to it, for "..".
func (f *Tree) walkFrom(trail []int32, path string, follow bool, links *int) (Place, string) {
	if path == "" {
		return Place{}, "ENOENT"
	}
	if len(path) > maxPath {
		return Place{}, "ENAMETOOLONG"
	}
	if rest, ok := strings.CutPrefix(path, f.Root); ok && (rest == "" || rest[0] == '/') {
		trail, path = trail[:1], rest
	} else if path[0] == '/' {
		return Place{}, "ENOENT" // nothing is outside the world
	}
	top := func() Place { return Place{None, trail[len(trail)-1], "", -1} }
	here := top()
	name, rest := component(path)
	for name != "" {
		next, after := component(rest)
		last := next == ""
		dir := trail[len(trail)-1]
		if name == ".." {
			if len(trail) > 1 {
				trail = trail[:len(trail)-1]
			}
			here = top()
			name, rest = next, after
			continue
		}
		if len(name) > MaxName {
			return Place{}, "ENAMETOOLONG"
		}
		here = f.Lookup(dir, name)
		if here.Node != None && f.Nodes[here.Node].Kind == filesystem.Symlink && (follow || !last) {
			*links++
			if *links > maxLinks {
				return Place{}, "ELOOP"
			}
			target, code := f.walkFrom(slices.Clone(trail), f.Nodes[here.Node].To, true, links)
			if code != "" {
				return Place{}, code
			}
			here = target
		}
		if last {
			break
		}
		if here.Node == None {
			return Place{}, "ENOENT"
		}
		if f.Nodes[here.Node].Kind != filesystem.Directory {
			return Place{}, "ENOTDIR"
		}
		trail = append(trail, here.Node)
		name, rest = next, after
	}
	return here, ""
}

// Find is Walk for what must be there. A path that ends in a slash must lead to a
// directory.
func (f *Tree) Find(path string, follow bool) (Place, string) {
	slash := strings.HasSuffix(path, "/")
	at, code := f.Walk(path, follow || slash)
	switch {
	case code != "":
		return at, code
	case at.Node == None:
		return at, "ENOENT"
	case slash && f.Nodes[at.Node].Kind != filesystem.Directory:
		return at, "ENOTDIR"
	}
	return at, ""
}

func (f *Tree) changed(dir int32) {
	f.SetTimes(dir, f.Now, f.Now)
}

func (f *Tree) addEntry(at Place, node int32) {
	f.Entries = append(f.Entries, Entry{at.Dir, node, at.Name, f.Actor})
	f.Nodes[node].Nlink++
}

func (f *Tree) removeEntry(at Place) {
	last := len(f.Entries) - 1
	f.Entries[at.entry] = f.Entries[last]
	f.Entries = f.Entries[:last]
	f.Nodes[at.Node].Nlink--
}

func (f *Tree) hasEntries(dir int32) bool {
	for i := range f.Entries {
		if f.Entries[i].Dir == dir {
			return true
		}
	}
	return false
}

// Create makes a file of any type where there is none.
func (f *Tree) Create(path string, kind filesystem.Type, to string) (int32, string) {
	at, code := f.Walk(path, false)
	slash := strings.HasSuffix(path, "/")
	switch {
	case code != "":
		return None, code
	case slash && kind == filesystem.File:
		return None, "EISDIR"
	case at.Node != None:
		return None, "EEXIST"
	case slash && kind == filesystem.Symlink:
		return None, "ENOENT"
	}
	node := f.newNode(kind)
	f.Nodes[node].To = to
	f.addEntry(at, node)
	f.changed(at.Dir)
	return node, ""
}

// Place makes a file with the parents that are missing, and changes no file's times.
func (f *Tree) Place(path string, kind filesystem.Type, to string) (int32, string) {
	dir := int32(0)
	names := Components(path)
	if len(names) == 0 || slices.Contains(names, "..") {
		return None, "EINVAL"
	}
	for _, name := range names[:len(names)-1] {
		next := f.Lookup(dir, name)
		if next.Node == None {
			next.Node = f.newNode(filesystem.Directory)
			f.addEntry(next, next.Node)
		}
		if f.Nodes[next.Node].Kind != filesystem.Directory {
			return None, "ENOTDIR"
		}
		dir = next.Node
	}
	at := f.Lookup(dir, names[len(names)-1])
	if at.Node != None {
		return None, "EEXIST"
	}
	if len(at.Name) > MaxName {
		return None, "ENAMETOOLONG"
	}
	node := f.newNode(kind)
	f.Nodes[node].To = to
	f.addEntry(at, node)
	return node, ""
}

// OpenExclusive creates a file that must not exist, and opens it.
func (f *Tree) OpenExclusive(path string) (filesystem.Handle, string) {
	node, code := f.Create(path, filesystem.File, "")
	if code != "" {
		return 0, code
	}
	return f.newHandle(node, path), ""
}

// OpenRead opens what is at path, a directory too.
func (f *Tree) OpenRead(path string) (filesystem.Handle, string) {
	at, code := f.Find(path, true)
	if code != "" {
		return 0, code
	}
	return f.newHandle(at.Node, path), ""
}

func (f *Tree) newHandle(node int32, path string) filesystem.Handle {
	f.opened[f.Actor]++
	number := filesystem.Handle(f.Actor)<<24 | filesystem.Handle(f.opened[f.Actor])
	f.Handles = append(f.Handles, Handle{number, f.Actor, node, path})
	return number
}

// Open returns what a handle has open, or nil.
func (f *Tree) Open(h filesystem.Handle) *Handle {
	for i := range f.Handles {
		if f.Handles[i].Number == h {
			return &f.Handles[i]
		}
	}
	return nil
}

// Close closes a handle, which gives its kernel lock back.
func (f *Tree) Close(h filesystem.Handle) string {
	for i := range f.Handles {
		if f.Handles[i].Number == h {
			f.closeAt(i)
			return ""
		}
	}
	return "EBADF"
}

func (f *Tree) closeAt(i int) {
	h := f.Handles[i]
	last := len(f.Handles) - 1
	f.Handles[i] = f.Handles[last]
	f.Handles = f.Handles[:last]
	if f.Nodes[h.Node].Locked == h.Number {
		f.Nodes[h.Node].Locked = 0
	}
	f.dropped(h.Node)
}

// CloseAll closes everything that an actor has open, as the end of its process does.
func (f *Tree) CloseAll(actor uint8) {
	for i := len(f.Handles) - 1; i >= 0; i-- {
		if f.Handles[i].Owner == actor {
			f.closeAt(i)
		}
	}
}

// TryLock takes the kernel lock on an open file, or fails with EAGAIN if another handle
// has it.
func (f *Tree) TryLock(h filesystem.Handle) string {
	o := f.Open(h)
	if o == nil {
		return "EBADF"
	}
	node := &f.Nodes[o.Node]
	if node.Locked != 0 && node.Locked != h {
		return "EAGAIN"
	}
	node.Locked = h
	return ""
}

// Unlock gives the kernel lock of a handle back, if it has it.
func (f *Tree) Unlock(h filesystem.Handle) string {
	o := f.Open(h)
	if o == nil {
		return "EBADF"
	}
	if node := &f.Nodes[o.Node]; node.Locked == h {
		node.Locked = 0
	}
	return ""
}

// Unlink removes a name of a file that is no directory.
func (f *Tree) Unlink(path string) string {
	at, code := f.Find(path, false)
	switch {
	case code != "":
		return code
	case f.Nodes[at.Node].Kind == filesystem.Directory:
		return "EISDIR"
	}
	f.removeEntry(at)
	f.Nodes[at.Node].Ctime = f.floor(f.Now)
	f.changed(at.Dir)
	f.dropped(at.Node)
	return ""
}

// Rmdir removes an empty directory.
func (f *Tree) Rmdir(path string) string {
	at, code := f.Find(path, false)
	switch {
	case code != "":
		return code
	case f.Nodes[at.Node].Kind != filesystem.Directory:
		return "ENOTDIR"
	case f.hasEntries(at.Node):
		return "ENOTEMPTY"
	case at.Dir == None:
		return "EBUSY"
	}
	f.removeEntry(at)
	f.changed(at.Dir)
	f.dropped(at.Node)
	return ""
}

// Link gives a file another name.
func (f *Tree) Link(from, to string) string {
	source, code := f.Find(from, false)
	if code != "" {
		return code
	}
	target, code := f.Walk(to, false)
	switch {
	case code != "":
		return code
	case target.Node != None:
		return "EEXIST"
	case strings.HasSuffix(to, "/"):
		return "ENOENT"
	case f.Nodes[source.Node].Kind == filesystem.Directory:
		return "EPERM"
	}
	f.addEntry(target, source.Node)
	f.Nodes[source.Node].Ctime = f.floor(f.Now)
	f.changed(target.Dir)
	return ""
}

// Rename moves a file, replacing another as rename(2) does.
func (f *Tree) Rename(from, to string) string { return f.rename(from, to, true) }

// RenameNoReplace moves a file, or fails with EEXIST if there is anything at to.
func (f *Tree) RenameNoReplace(from, to string) string { return f.rename(from, to, false) }

func (f *Tree) rename(from, to string, replace bool) string {
	source, code := f.Find(from, false)
	if code != "" {
		return code
	}
	target, code := f.Walk(to, false)
	switch {
	case code != "":
		return code
	case target.Node != None && !replace:
		return "EEXIST"
	case source.Dir == None || target.Node != None && target.Dir == None:
		return "EBUSY"
	case target.Node == source.Node:
		return ""
	case f.contains(source.Node, target.Dir):
		return "EINVAL"
	}
	if target.Node != None {
		sourceIsDir := f.Nodes[source.Node].Kind == filesystem.Directory
		targetIsDir := f.Nodes[target.Node].Kind == filesystem.Directory
		switch {
		case sourceIsDir && !targetIsDir:
			return "ENOTDIR"
		case !sourceIsDir && targetIsDir:
			return "EISDIR"
		case f.hasEntries(target.Node):
			return "ENOTEMPTY"
		}
		f.removeEntry(target)
		f.dropped(target.Node)
		source = f.Lookup(source.Dir, source.Name)
	}
	f.removeEntry(source)
	f.addEntry(target, source.Node)
	f.Nodes[source.Node].Ctime = f.floor(f.Now)
	f.changed(source.Dir)
	f.changed(target.Dir)
	return ""
}

// contains reports whether dir is node or below it.
func (f *Tree) contains(node, dir int32) bool {
	if node == dir {
		return true
	}
	if f.Nodes[node].Kind != filesystem.Directory {
		return false
	}
	for i := range f.Entries {
		if f.Entries[i].Dir == node && f.contains(f.Entries[i].Node, dir) {
			return true
		}
	}
	return false
}

// Utimes sets the modification time of what is at path.
func (f *Tree) Utimes(path string, mtime int64) string {
	at, code := f.Find(path, true)
	if code != "" {
		return code
	}
	f.SetTimes(at.Node, mtime, f.Now)
	return ""
}

// Futimes sets the modification time of what a handle has open.
func (f *Tree) Futimes(h filesystem.Handle, mtime int64) string {
	o := f.Open(h)
	if o == nil {
		return "EBADF"
	}
	f.SetTimes(o.Node, mtime, f.Now)
	return ""
}

// Readdir returns the names in a directory, sorted by their bytes.
func (f *Tree) Readdir(path string) ([]string, string) {
	at, code := f.Find(path, true)
	switch {
	case code != "":
		return nil, code
	case f.Nodes[at.Node].Kind != filesystem.Directory:
		return nil, "ENOTDIR"
	}
	names := []string{}
	for i := range f.Entries {
		if f.Entries[i].Dir == at.Node {
			names = append(names, f.Entries[i].Name)
		}
	}
	slices.Sort(names)
	return names, ""
}

// Realpath resolves every link. With a code it also returns the call and the path that
// Node's realpath names in its error.
func (f *Tree) Realpath(path string) (resolved, code, failedCall, failedPath string) {
	var base []string
	pending := Components(strings.TrimPrefix(path, f.Root))
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
		here := f.Root + "/" + strings.Join(base, "/")
		at, code := f.Find(here, false)
		if code != "" {
			return "", code, "lstat", here
		}
		if f.Nodes[at.Node].Kind != filesystem.Symlink {
			continue
		}
		if _, code := f.Find(here, true); code != "" {
			return "", code, "stat", here
		}
		if links++; links > maxLinks {
			return "", "ELOOP", "stat", here
		}
		base = base[:len(base)-1]
		to := f.Nodes[at.Node].To
		if rest, ok := strings.CutPrefix(to, f.Root); ok {
			base, pending = nil, append(Components(rest), pending...)
		} else {
			pending = append(Components(to), pending...)
		}
	}
	return strings.Join(append([]string{f.Root}, base...), "/"), "", "", ""
}

// All calls each for every name there is, with its path below the root.
func (f *Tree) All(each func(path string, e Entry, n *Node)) { f.all("", 0, each) }

func (f *Tree) all(prefix string, dir int32, each func(string, Entry, *Node)) {
	for _, e := range f.Entries {
		if e.Dir == dir {
			each(prefix+e.Name, e, &f.Nodes[e.Node])
			f.all(prefix+e.Name+"/", e.Node, each)
		}
	}
}
