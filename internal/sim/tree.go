package sim

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/seed-c461eb89/nodelock/internal/filesystem"
	"github.com/seed-c461eb89/nodelock/internal/nodetime"
)

// Limits of a Linux system.
const (
	maxName  = 255
	maxPath  = 4095
	maxLinks = 40
)

// A Tree is a POSIX filesystem in memory. It is a value that can be copied at any moment
// (see [Tree.CopyFrom]), so that a run can be continued in more than one way. Beside what
// a program can see of files, it keeps what no program can: who made a file and who put a
// name where it is.
//
// Methods return the code of what went wrong, or "". Times are in ns since 1970.
type Tree struct {
	// Root is where the files are: an absolute path that begins with it leads to them,
	// and any other absolute path nowhere. It is the working directory, too.
	Root string
	// Now is the clock, and Grain the precision of file times.
	Grain, Now int64
	// Actor is who makes the calls.
	Actor uint8
	// Reach is how far the kernel's locks reach.
	Reach filesystem.Reach

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
	ID   uint32
	Kind filesystem.Type
	Used bool
	// Data is what is in the file, or where the symlink leads.
	Data                string
	Atime, Mtime, Ctime int64
	Nlink               int32
	// Locked is the number of the handle that has a kernel lock on the file, or 0.
	Locked uint32
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

// Root is a handle that every actor has from the beginning: the root directory.
const Root filesystem.Handle = 0

// A Handle is an open file. The numbers of one actor's do not depend on what others do.
type Handle struct {
	Path string
	// Number tells it from those of all others.
	Number uint32
	Node   int32
	// At is where it reads or writes next.
	At    int32
	Owner uint8
	// Fired says that what it watches has changed.
	Fired bool
	how   flags
}

// flags say how something is opened.
type flags uint8

const (
	follow    flags = 1 << iota // a link at the end of the path
	create                      // a file if there is none
	exclusive                   // and fail if there is
	directory                   // nothing else
	writable                    // not readable, and cut off
	pinned                      // neither, and a link is opened itself
	watching                    // not opened at all, but watched
)

// New returns a filesystem that has nothing but its root directory.
func New(root string, grain, now int64) *Tree {
	t := &Tree{Root: root, Grain: grain, Now: now}
	t.newNode(filesystem.Directory, "")
	t.Nodes[0].Nlink = 1
	return t
}

// CopyFrom makes t what from is, in the memory that t has.
func (t *Tree) CopyFrom(from *Tree) {
	nodes, entries, handles := t.Nodes[:0], t.Entries[:0], t.Handles[:0]
	*t = *from
	t.Nodes = append(nodes, from.Nodes...)
	t.Entries = append(entries, from.Entries...)
	t.Handles = append(handles, from.Handles...)
}

func (t *Tree) newNode(kind filesystem.Type, data string) int32 {
	id := uint32(t.Actor)<<16 | uint32(t.made[t.Actor])
	t.made[t.Actor]++
	node := Node{ID: id, Kind: kind, Used: true, Data: data}
	node.Atime, node.Mtime, node.Ctime = t.floor(t.Now), t.floor(t.Now), t.floor(t.Now)
	for i := range t.Nodes {
		if !t.Nodes[i].Used {
			t.Nodes[i] = node
			return int32(i)
		}
	}
	t.Nodes = append(t.Nodes, node)
	return int32(len(t.Nodes) - 1)
}

// dropped frees a node that has lost a name or a handle, if that was the last.
func (t *Tree) dropped(node int32) {
	if t.Nodes[node].Nlink > 0 {
		return
	}
	for i := range t.Handles {
		if h := &t.Handles[i]; h.Node == node && h.how&watching == 0 {
			return
		}
	}
	t.fire(node)
	t.Nodes[node] = Node{}
	for n := len(t.Nodes); n > 0 && !t.Nodes[n-1].Used; n-- {
		t.Nodes = t.Nodes[:n-1]
	}
}

// fire fires the watches of a node, once.
func (t *Tree) fire(node int32) {
	for i := range t.Handles {
		if h := &t.Handles[i]; h.Node == node && h.how&watching != 0 {
			h.Fired, h.Node = true, None
		}
	}
}

func (t *Tree) floor(ns int64) int64 {
	over := ns % t.Grain
	if over < 0 {
		over += t.Grain
	}
	return ns - over
}

// SetTimes sets a file's times as exactly as the filesystem keeps them.
func (t *Tree) SetTimes(node int32, mtime, ctime int64) {
	t.Nodes[node].Mtime, t.Nodes[node].Ctime = t.floor(mtime), t.floor(ctime)
	t.fire(node)
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
func (t *Tree) Lookup(dir int32, name string) Place {
	for i := range t.Entries {
		if e := &t.Entries[i]; e.Dir == dir && e.Name == name {
			return Place{dir, e.Node, name, i}
		}
	}
	return Place{dir, None, name, -1}
}

// walk finds a path. A missing last component is no error.
func (t *Tree) walk(path string, follow bool) (Place, string) {
	links := 0
	var space [16]int32
	at, _, code := t.walkFrom(append(space[:0], 0), path, follow, &links)
	return at, code
}

// walkFrom is walk for a path that is relative to the last of the directories trail,
// which are those on the way to it, for "..". It also returns those on the way to what it
// finds.
func (t *Tree) walkFrom(trail []int32, path string, follow bool, links *int) (Place, []int32, string) {
	if path == "" {
		return Place{}, nil, "ENOENT"
	}
	if len(path) > maxPath {
		return Place{}, nil, "ENAMETOOLONG"
	}
	if rest, ok := strings.CutPrefix(path, t.Root); ok && (rest == "" || rest[0] == '/') {
		trail, path = trail[:1], rest
	} else if path[0] == '/' {
		return Place{}, nil, "ENOENT" // nothing is outside the world
	}
	here := Place{Dir: None, Node: trail[len(trail)-1]}
	for name, rest := component(path); name != ""; name, rest = component(rest) {
		switch {
		case here.Node == None:
			return Place{}, nil, "ENOENT"
		case t.Nodes[here.Node].Kind != filesystem.Directory:
			return Place{}, nil, "ENOTDIR"
		case here.Dir != None:
			trail = append(trail, here.Node)
		}
		if name == ".." {
			trail = trail[:max(1, len(trail)-1)]
			here = Place{Dir: None, Node: trail[len(trail)-1]}
			continue
		}
		if len(name) > maxName {
			return Place{}, nil, "ENAMETOOLONG"
		}
		here = t.Lookup(trail[len(trail)-1], name)
		if here.Node == None || t.Nodes[here.Node].Kind != filesystem.Symlink {
			continue
		}
		if next, _ := component(rest); !follow && next == "" {
			continue
		}
		if *links++; *links > maxLinks {
			return Place{}, nil, "ELOOP"
		}
		to := t.Nodes[here.Node].Data
		target, onTheWay, code := t.walkFrom(slices.Clone(trail), to, true, links)
		if code == "" && strings.HasSuffix(to, "/") && target.Node != None && t.Nodes[target.Node].Kind != filesystem.Directory {
			code = "ENOTDIR"
		}
		if code != "" {
			return Place{}, nil, code
		}
		here, trail = target, onTheWay
	}
	return here, trail, ""
}

// Find is walk for what must be there. A path that ends in a slash must lead to a
// directory.
func (t *Tree) Find(path string, follow bool) (Place, string) {
	return t.there(path, follow || strings.HasSuffix(path, "/"))
}

// there is Find, but it does not follow a link because of a slash: as calls do that are
// about a name.
func (t *Tree) there(path string, follow bool) (Place, string) {
	at, code := t.walk(path, follow)
	slash := strings.HasSuffix(path, "/")
	switch {
	case code != "":
		return at, code
	case at.Node == None:
		return at, "ENOENT"
	case slash && t.Nodes[at.Node].Kind != filesystem.Directory:
		return at, "ENOTDIR"
	}
	return at, ""
}

func (t *Tree) changed(node int32) { t.SetTimes(node, t.Now, t.Now) }

// is reports whether there is something of a type at a place.
func (t *Tree) is(at Place, kind filesystem.Type) bool {
	return at.Node != None && t.Nodes[at.Node].Kind == kind
}

func (t *Tree) addEntry(at Place, node int32) {
	t.Entries = append(t.Entries, Entry{at.Dir, node, at.Name, t.Actor})
	t.Nodes[node].Nlink++
}

func (t *Tree) removeEntry(at Place) {
	last := len(t.Entries) - 1
	t.Entries[at.entry] = t.Entries[last]
	t.Entries = t.Entries[:last]
	t.Nodes[at.Node].Nlink--
}

func (t *Tree) hasEntries(dir int32) bool {
	for i := range t.Entries {
		if t.Entries[i].Dir == dir {
			return true
		}
	}
	return false
}

// Create makes a file of any type where there is none. Data is what is in it, or where a
// symlink leads.
func (t *Tree) Create(path string, kind filesystem.Type, data string) (int32, string) {
	at, code := t.walk(path, false)
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
	node := t.newNode(kind, data)
	t.addEntry(at, node)
	t.changed(at.Dir)
	return node, ""
}

// Place makes a file with the parents that are missing, and changes no file's times.
func (t *Tree) Place(path string, kind filesystem.Type, data string) (int32, string) {
	dir := int32(0)
	names := Components(path)
	if len(names) == 0 || slices.Contains(names, "..") {
		return None, "EINVAL"
	}
	for _, name := range names[:len(names)-1] {
		next := t.Lookup(dir, name)
		if next.Node == None {
			next.Node = t.newNode(filesystem.Directory, "")
			t.addEntry(next, next.Node)
		}
		if t.Nodes[next.Node].Kind != filesystem.Directory {
			return None, "ENOTDIR"
		}
		dir = next.Node
	}
	at := t.Lookup(dir, names[len(names)-1])
	if at.Node != None {
		return None, "EEXIST"
	}
	if len(at.Name) > maxName {
		return None, "ENAMETOOLONG"
	}
	node := t.newNode(kind, data)
	t.addEntry(at, node)
	return node, ""
}

// What follows are the calls of the table in call.go.

func (t *Tree) open(path string, how flags) Answer {
	slash := strings.HasSuffix(path, "/")
	at, code := t.walk(path, how&follow != 0 || slash && how&create == 0)
	switch {
	case code != "":
	case slash && how&create != 0:
		code = "EISDIR"
	case at.Node == None && how&create != 0:
		at.Node, code = t.Create(path, filesystem.File, "")
	case at.Node == None:
		code = "ENOENT"
	case how&exclusive != 0:
		code = "EEXIST"
	case (slash || how&directory != 0) && !t.is(at, filesystem.Directory):
		code = "ENOTDIR"
	case how&pinned == 0 && t.is(at, filesystem.Symlink):
		code = "ELOOP"
	case how&writable != 0 && t.is(at, filesystem.Directory):
		code = "EISDIR"
	case how&writable != 0:
		t.Nodes[at.Node].Data = ""
		t.changed(at.Node)
	}
	if code != "" {
		return Answer{Code: code}
	}
	t.opened[t.Actor]++
	h := filesystem.Handle(t.opened[t.Actor])
	t.Handles = append(t.Handles, Handle{Path: path, Number: t.number(h), Node: at.Node, Owner: t.Actor, how: how})
	return Answer{Handle: h}
}

// handleBits is how many bits of a handle's number count, below the actor's.
const handleBits = 24

// number returns what tells the actor's handle from those of others.
func (t *Tree) number(h filesystem.Handle) uint32 { return uint32(t.Actor)<<handleBits | uint32(h) }

// Open returns what the actor's handle has open, or nil.
func (t *Tree) Open(h filesystem.Handle) *Handle {
	number := t.number(h)
	if h == Root {
		return &Handle{Path: "/", Number: number, Owner: t.Actor, how: follow | directory}
	}
	for i := range t.Handles {
		if t.Handles[i].Number == number {
			return &t.Handles[i]
		}
	}
	return nil
}

// Fired reports whether the watch that is the actor's handle has fired.
func (t *Tree) Fired(actor uint8, h filesystem.Handle) bool {
	t.Actor = actor
	o := t.Open(h)
	return o != nil && o.Fired
}

// Fires reports whether the watch that is the actor's handle has fired, or does when what
// it watches, which is removed, is closed.
func (t *Tree) Fires(actor uint8, h filesystem.Handle) bool {
	t.Actor = actor
	o := t.Open(h)
	return o != nil && (o.Fired || o.Node != None && t.Nodes[o.Node].Nlink == 0)
}

// watch begins to watch what is at a path, or begins anew by a handle.
func (t *Tree) watch(c *Call) Answer {
	if c.Path != "" {
		return t.open(c.Path, watching|pinned)
	}
	o := t.Open(c.Handle)
	if o == nil {
		return Answer{Code: "EBADF"}
	}
	o.Fired = false
	return Answer{}
}

// Guards reports whether the actor has the kernel lock on the root directory by the handle
// Root.
func (t *Tree) Guards(actor uint8) bool { return t.Nodes[0].Locked == uint32(actor)<<handleBits }

// close gives the kernel lock of the handle back, too.
func (t *Tree) close(c *Call) Answer {
	number := t.number(c.Handle)
	for i := range t.Handles {
		if t.Handles[i].Number == number {
			t.closeAt(i)
			return Answer{}
		}
	}
	return Answer{Code: "EBADF"}
}

func (t *Tree) closeAt(i int) {
	h := t.Handles[i]
	last := len(t.Handles) - 1
	t.Handles[i] = t.Handles[last]
	t.Handles = t.Handles[:last]
	if h.how&watching != 0 {
		return
	}
	if t.Nodes[h.Node].Locked == h.Number {
		t.Nodes[h.Node].Locked = 0
	}
	t.dropped(h.Node)
}

// await says whether the watch has fired, as it is when the waiting is over.
func (t *Tree) await(c *Call) Answer {
	if t.Fired(t.Actor, c.Handle) {
		return Answer{N: 1}
	}
	return Answer{}
}

// CloseAll closes everything that an actor has open, as the end of its process does.
func (t *Tree) CloseAll(actor uint8) {
	if t.Guards(actor) {
		t.Nodes[0].Locked = 0
	}
	for i := len(t.Handles) - 1; i >= 0; i-- {
		if t.Handles[i].Owner == actor {
			t.closeAt(i)
		}
	}
}

// tryGuard is flock on a directory.
func (t *Tree) tryGuard(c *Call) Answer {
	a := t.flock(c)
	if a.Code != "" && a.Code != guarded {
		return Answer{Code: unguardable}
	}
	a.Handle = c.Handle
	return a
}

// flock takes the kernel lock on an open file, unless another handle has it.
func (t *Tree) flock(c *Call) Answer {
	o := t.Open(c.Handle)
	if o == nil || o.how&pinned != 0 {
		return Answer{Code: "EBADF"}
	}
	n := &t.Nodes[o.Node]
	if n.Locked != 0 && n.Locked != o.Number {
		return Answer{Code: "EAGAIN"}
	}
	n.Locked = o.Number
	return Answer{}
}

// funlock gives the kernel lock back, if the handle has it.
func (t *Tree) funlock(c *Call) Answer {
	o := t.Open(c.Handle)
	if o == nil || o.how&pinned != 0 {
		return Answer{Code: "EBADF"}
	}
	if n := &t.Nodes[o.Node]; n.Locked == o.Number {
		n.Locked = 0
	}
	return Answer{}
}

func (t *Tree) read(c *Call) Answer {
	o := t.Open(c.Handle)
	switch {
	case o == nil || o.how&(writable|pinned) != 0:
		return Answer{Code: "EBADF"}
	case t.Nodes[o.Node].Kind == filesystem.Directory:
		return Answer{Code: "EISDIR"}
	}
	data := t.Nodes[o.Node].Data
	data = data[min(int(o.At), len(data)):]
	data = data[:min(len(data), int(c.N))]
	o.At += int32(len(data))
	return Answer{Data: data}
}

func (t *Tree) write(c *Call) Answer {
	o := t.Open(c.Handle)
	if o == nil || o.how&writable == 0 {
		return Answer{Code: "EBADF"}
	}
	data := t.Nodes[o.Node].Data
	if missing := int(o.At) - len(data); missing > 0 {
		data += strings.Repeat("\x00", missing)
	}
	before := data[:o.At]
	o.At += int32(len(c.Data))
	t.Nodes[o.Node].Data = before + c.Data + data[min(int(o.At), len(data)):]
	t.changed(o.Node)
	return Answer{}
}

func (t *Tree) fstat(c *Call) Answer {
	if o := t.Open(c.Handle); o != nil {
		return t.describe(Place{Node: o.Node}, "")
	}
	return Answer{Code: "EBADF"}
}

func (t *Tree) stat(c *Call) Answer  { return t.describe(t.Find(c.Path, true)) }
func (t *Tree) lstat(c *Call) Answer { return t.describe(t.Find(c.Path, false)) }

func (t *Tree) describe(at Place, code string) Answer {
	if code != "" {
		return Answer{Code: code}
	}
	n := &t.Nodes[at.Node]
	a := Answer{
		Type: n.Kind, Atime: n.Atime, Mtime: n.Mtime, Ctime: n.Ctime,
		Identity: filesystem.Identity{File: [2]uint64{uint64(at.Node)}},
	}
	if n.Kind == filesystem.File {
		a.Size = int64(len(n.Data))
	}
	return a
}

func (t *Tree) utimes(c *Call) Answer {
	at, code := t.Find(c.Path, true)
	if code == "" {
		mtime := nodetime.Stored(c.N).UnixNano()
		t.SetTimes(at.Node, mtime, t.Now)
		t.Nodes[at.Node].Atime = t.floor(mtime)
	}
	return Answer{Code: code}
}

func (t *Tree) futimes(c *Call) Answer {
	o := t.Open(c.Handle)
	if o == nil || o.how&pinned != 0 {
		return Answer{Code: "EBADF"}
	}
	t.SetTimes(o.Node, c.N, t.Now)
	t.Nodes[o.Node].Atime = t.floor(c.Atime)
	return Answer{}
}

func (t *Tree) mkdir(c *Call) Answer {
	_, code := t.Create(c.Path, filesystem.Directory, "")
	return Answer{Code: code}
}

func (t *Tree) unlink(c *Call) Answer {
	at, code := t.there(c.Path, false)
	switch {
	case code != "":
	case t.is(at, filesystem.Directory):
		code = "EISDIR"
	default:
		t.Nodes[at.Node].Ctime = t.floor(t.Now)
		t.fire(at.Node)
		t.remove(at)
	}
	return Answer{Code: code}
}

func (t *Tree) rmdir(c *Call) Answer {
	at, code := t.there(c.Path, false)
	switch {
	case code != "":
	case !t.is(at, filesystem.Directory):
		code = "ENOTDIR"
	case t.hasEntries(at.Node):
		code = "ENOTEMPTY"
	case at.Dir == None:
		code = "EBUSY"
	default:
		t.remove(at)
	}
	return Answer{Code: code}
}

// remove removes a name, and the file if it was its last.
func (t *Tree) remove(at Place) {
	t.removeEntry(at)
	t.changed(at.Dir)
	t.dropped(at.Node)
}

func (t *Tree) link(c *Call) Answer {
	source, code := t.Find(c.Path, false)
	if code != "" {
		return Answer{Code: code}
	}
	target, code := t.walk(c.Dest, false)
	switch {
	case code != "":
	case target.Node != None:
		code = "EEXIST"
	case strings.HasSuffix(c.Dest, "/"):
		code = "ENOENT"
	case t.is(source, filesystem.Directory):
		code = "EPERM"
	default:
		t.addEntry(target, source.Node)
		t.Nodes[source.Node].Ctime = t.floor(t.Now)
		t.changed(target.Dir)
	}
	return Answer{Code: code}
}

func (t *Tree) rename(c *Call) Answer {
	source, code := t.walk(c.Path, false)
	if code != "" {
		return Answer{Code: code}
	}
	target, code := t.walk(c.Dest, false)
	replaces, slash := c.Op == Rename, strings.HasSuffix(c.Path, "/") || strings.HasSuffix(c.Dest, "/")
	moves, there := t.is(source, filesystem.Directory), target.Node != None
	switch {
	case code != "":
	case target.Dir == None && !replaces:
		code = "EEXIST"
	case source.Dir == None || target.Dir == None:
		code = "EBUSY"
	case source.Node == None:
		code = "ENOENT"
	case there && !replaces:
		code = "EEXIST"
	case slash && !moves:
		code = "ENOTDIR"
	case t.contains(source.Node, target.Dir):
		code = "EINVAL"
	case there && t.contains(target.Node, source.Dir):
		code = "ENOTEMPTY"
	case target.Node == source.Node:
	case there && moves && !t.is(target, filesystem.Directory):
		code = "ENOTDIR"
	case there && !moves && t.is(target, filesystem.Directory):
		code = "EISDIR"
	case there && t.hasEntries(target.Node):
		code = "ENOTEMPTY"
	default:
		if there {
			t.remove(target)
			source = t.Lookup(source.Dir, source.Name)
		}
		t.removeEntry(source)
		t.addEntry(target, source.Node)
		t.fire(source.Node)
		t.Nodes[source.Node].Ctime = t.floor(t.Now)
		t.changed(source.Dir)
		t.changed(target.Dir)
	}
	return Answer{Code: code}
}

// contains reports whether dir is node or below it.
func (t *Tree) contains(node, dir int32) bool {
	if node == dir {
		return true
	}
	if t.Nodes[node].Kind != filesystem.Directory {
		return false
	}
	for i := range t.Entries {
		if t.Entries[i].Dir == node && t.contains(t.Entries[i].Node, dir) {
			return true
		}
	}
	return false
}

// readdir sorts the names by their bytes.
func (t *Tree) readdir(c *Call) Answer {
	at, code := t.Find(c.Path, true)
	switch {
	case code != "":
		return Answer{Code: code}
	case t.Nodes[at.Node].Kind != filesystem.Directory:
		return Answer{Code: "ENOTDIR"}
	}
	var names []string
	for i := range t.Entries {
		if t.Entries[i].Dir == at.Node {
			names = append(names, t.Entries[i].Name)
		}
	}
	slices.Sort(names)
	return Answer{Data: strings.Join(names, "/")}
}

func (t *Tree) resolve(c *Call) Answer { return Answer{Data: absolute(t.Root, c.Path)} }

func absolute(base, name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Clean(base + "/" + name)
}

// realpath replaces the first link as long as there is one, as Node's does: by an lstat of
// each component, and a stat of each link.
func (t *Tree) realpath(c *Call) Answer {
	here := absolute(t.Root, c.Path)
replaced:
	for links := 0; ; links++ {
		names := Components(strings.TrimPrefix(here, t.Root))
		here = t.Root
		for i, name := range names {
			above := here
			here += "/" + name
			at, code := t.Find(here, false)
			if code != "" {
				return Answer{Code: code, Inner: Lstat, Data: here}
			}
			if t.Nodes[at.Node].Kind != filesystem.Symlink {
				continue
			}
			if _, code = t.Find(here, true); code == "" && links == maxLinks {
				code = "ELOOP"
			}
			if code != "" {
				return Answer{Code: code, Inner: Stat, Data: here}
			}
			here = absolute(absolute(above, t.Nodes[at.Node].Data), strings.Join(names[i+1:], "/"))
			continue replaced
		}
		return Answer{Data: cmp.Or(here, "/")}
	}
}

// All calls each for every name there is, with its path below the root.
func (t *Tree) All(each func(path string, e Entry, n *Node)) { t.all("", 0, each) }

func (t *Tree) all(prefix string, dir int32, each func(string, Entry, *Node)) {
	for _, e := range t.Entries {
		if e.Dir == dir {
			each(prefix+e.Name, e, &t.Nodes[e.Node])
			t.all(prefix+e.Name+"/", e.Node, each)
		}
	}
}
