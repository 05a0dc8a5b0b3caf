// Package sim makes a system call a value: what is asked is a [Call], and what comes of it
// an [Answer]. Whoever stands between the two can look on, answer otherwise, or let
// somebody else go first, in one function for all the calls that there are.
//
// An engine gets a [System], which is a filesystem, a clock, a machine and an exit hook
// to it, and a function to whoever answers. That is a [Tree], which is a filesystem in
// memory, or with [Real] this computer, or a test that answers as it likes. A [Scheduler]
// has the goroutines of a program take turns where they ask for something.
//
// # A new call
//
// It is written into call.go, which has a constant for it, a row in a table, and the method
// that engines call.
package sim

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/seed-c461eb89/nodelock/compat/nodeerror"
	"github.com/seed-c461eb89/nodelock/internal/callerror"
	"github.com/seed-c461eb89/nodelock/internal/filesystem"
)

// An Op says what is asked for.
type Op uint8

// What an engine asks of its system. What stands in a Call beside the paths and the
// handle, and in an Answer beside the code, is said here.
const (
	// Now is answered by N, in ns since 1970.
	Now Op = iota + 1
	// Wait lasts N ns, or as long as the context With does.
	Wait
	// SetTimer has the Timer With run out after N ns, and StopTimer never.
	SetTimer
	StopTimer

	// Hostname is answered by Data, and Pid by N.
	Hostname
	Pid
	// Kill asks for the process N.
	Kill
	// Random is answered by Data, of N bytes, and Fraction by N, which are the bits of
	// a float64.
	Random
	Fraction

	// Begin and TryBegin enter the exithook.Cleaner With. One that fails is not begun.
	Begin
	TryBegin
	End

	OpenExclusive
	OpenRead
	OpenNoFollow
	OpenTruncate
	OpenDirectory
	Pin
	PinNew
	PinDirectory
	PinForFlock
	Close
	// Read is answered by Data, of up to N bytes, and Write writes Data.
	Read
	Write

	Fstat
	Stat
	Lstat
	// Utimes sets N, in ms since 1970, and Futimes Atime and N, in ns.
	Utimes
	Futimes

	Mkdir
	Rmdir
	Unlink
	Link
	Rename
	RenameNoReplace
	// Readdir is answered by Data, names with slashes between them.
	Readdir
	// Realpath and Resolve are answered by Data. Of a Realpath that fails, Inner is the
	// call that failed, and Data its path.
	Realpath
	Resolve

	// TryGuard is answered by a handle for Unguard, and Reach by N.
	TryGuard
	Unguard
	Reach
	TryFlock
	Funlock

	// Watch is answered by a handle for Await and Unwatch. Await lasts until the watch has
	// fired, which N says then, or N ns, or as long as the context With does.
	Watch
	Await
	Unwatch

	// Ops is how many there are.
	Ops
)

// A Call is what is asked.
type Call struct {
	Op     Op
	Handle filesystem.Handle
	N      int64
	Atime  int64
	Path   string
	Dest   string
	Data   string
	// With is something of the caller's that means nothing to others.
	With any
}

// An Answer is what comes of it.
type Answer struct {
	// Code is what went wrong, or "".
	Code string
	// Err is the error to return, if it is not made of the code.
	Err error

	Inner    Op
	Type     filesystem.Type // and what follows is said of a file; times are in ns since 1970
	Size     int64
	Atime    int64
	Mtime    int64
	Ctime    int64
	Identity filesystem.Identity

	Handle filesystem.Handle
	N      int64
	Data   string
}

// The codes of filesystem.ErrGuarded and ErrFlocked, and of ErrUnguardable.
const guarded, unguardable = "EAGAIN", "ENOTSUP"

// Fails returns the answer that a call has failed.
func Fails(err error) Answer {
	code := nodeerror.Code(err)
	switch err {
	case filesystem.ErrGuarded, filesystem.ErrFlocked:
		code = guarded
	case filesystem.ErrUnguardable:
		code = unguardable
	}
	return Answer{Code: cmp.Or(code, "UNKNOWN"), Err: err}
}

// A row is what there is to know of an Op.
type row struct {
	// name is what traces, faults, transcripts and errors call it. Mode tells those apart
	// that have one name. Trace is what traces and faults call it instead, and node what
	// errors do.
	name, mode, trace, node string
	// handle says that it is about one, paths about how many of those, and opens that it is
	// answered by a handle.
	handle, opens bool
	paths         int
	tree          func(*Tree, *Call) Answer
	real          func(*Call) Answer
}

// rows are all calls. What is not for a filesystem to answer has neither tree nor real,
// and what is no system call has no name.
var rows = [Ops]row{
	Wait:     {name: "wait"},
	SetTimer: {name: "timer"},
	Kill:     {name: "kill"},

	OpenExclusive: opens("open", "wx", create|exclusive|writable, system.OpenExclusive),
	OpenRead:      opens("open", "r", follow, system.OpenRead),
	OpenNoFollow:  opens("open", "nofollow", 0, system.OpenNoFollow),
	OpenTruncate:  opens("open", "w", create|writable, system.OpenTruncate),
	OpenDirectory: opens("open", "dir", follow|directory, system.OpenDirectory),
	Pin:           opens("open", "", pinned, system.Pin),
	PinNew:        opens("open", "rx", create|exclusive, system.PinNew),
	PinDirectory:  opens("open", "", directory, system.PinDirectory),
	PinForFlock:   opens("open", "", 0, system.PinForFlock),
	Close:         {name: "close", handle: true, tree: (*Tree).close, real: onHandle(system.Close)},
	Read: {name: "read", handle: true, tree: (*Tree).read, real: func(c *Call) Answer {
		data, err := system.Read(c.Handle, int(c.N))
		return answer(Answer{Data: string(data)}, err)
	}},
	Write: {name: "write", handle: true, tree: (*Tree).write, real: func(c *Call) Answer {
		return answer(Answer{}, system.Write(c.Handle, []byte(c.Data)))
	}},

	Fstat: {name: "fstat", handle: true, tree: (*Tree).fstat, real: func(c *Call) Answer {
		return described(system.FstatIdentity(c.Handle))
	}},
	Stat: {name: "stat", paths: 1, tree: (*Tree).stat, real: func(c *Call) Answer {
		return described(system.StatIdentity(c.Path))
	}},
	Lstat: {name: "lstat", paths: 1, tree: (*Tree).lstat, real: func(c *Call) Answer {
		return described(system.LstatIdentity(c.Path))
	}},
	Utimes: {name: "utimes", node: "utime", paths: 1, tree: (*Tree).utimes, real: func(c *Call) Answer {
		return answer(Answer{}, system.Utimes(c.Path, c.N))
	}},
	Futimes: {name: "futimes", node: "futime", handle: true, tree: (*Tree).futimes, real: func(c *Call) Answer {
		return answer(Answer{}, system.Futimes(c.Handle, c.Path, time.Unix(0, c.Atime), time.Unix(0, c.N)))
	}},

	Mkdir:           {name: "mkdir", paths: 1, tree: (*Tree).mkdir, real: onPath(system.Mkdir)},
	Rmdir:           {name: "rmdir", paths: 1, tree: (*Tree).rmdir, real: onPath(system.Rmdir)},
	Unlink:          {name: "unlink", paths: 1, tree: (*Tree).unlink, real: onPath(system.Unlink)},
	Link:            {name: "link", paths: 2, tree: (*Tree).link, real: onPaths(system.Link)},
	Rename:          {name: "rename", paths: 2, tree: (*Tree).rename, real: onPaths(system.Rename)},
	RenameNoReplace: {name: "rename", mode: "noreplace", trace: "renameNoReplace", paths: 2, tree: (*Tree).rename, real: onPaths(system.RenameNoReplace)},
	Readdir: {name: "readdir", node: "scandir", paths: 1, tree: (*Tree).readdir, real: func(c *Call) Answer {
		names, err := system.Readdir(c.Path)
		return answer(Answer{Data: strings.Join(names, "/")}, err)
	}},
	Realpath: {name: "realpath", node: "lstat", paths: 1, tree: (*Tree).realpath, real: finds(system.Realpath)},
	Resolve:  {paths: 1, tree: (*Tree).resolve, real: finds(system.Resolve)},

	TryGuard: {name: "guard", handle: true, tree: (*Tree).tryGuard, real: func(c *Call) Answer {
		guard, err := system.TryGuard(c.Handle)
		return answer(Answer{Handle: guard}, err)
	}},
	Unguard: {name: "unguard", node: "close", handle: true, tree: (*Tree).funlock, real: onHandle(system.Unguard)},
	Reach: {name: "reach", handle: true, tree: func(t *Tree, _ *Call) Answer {
		return Answer{N: int64(t.Reach)}
	}, real: func(c *Call) Answer {
		return Answer{N: int64(system.Reach(c.Handle))}
	}},
	TryFlock: {name: "flock", handle: true, tree: (*Tree).flock, real: onHandle(system.TryFlock)},
	Watch:    {name: "watch", paths: 1, opens: true, tree: (*Tree).watch},
	Await:    {name: "await", handle: true, tree: (*Tree).await},
	Unwatch:  {name: "unwatch", handle: true, tree: (*Tree).close},
	Funlock:  {name: "funlock", node: "flock", handle: true, tree: (*Tree).funlock, real: onHandle(system.Funlock)},
}

// What follows makes of this computer's calls what answers them.

var system filesystem.OS

func opens(name, mode string, how flags, real func(string) (filesystem.Handle, error)) row {
	tree := func(t *Tree, c *Call) Answer { return t.open(c.Path, how) }
	return row{name: name, mode: mode, paths: 1, opens: true, tree: tree, real: opening(real)}
}

func opening(real func(string) (filesystem.Handle, error)) func(*Call) Answer {
	return func(c *Call) Answer {
		h, err := real(c.Path)
		return answer(Answer{Handle: h}, err)
	}
}

func onHandle(real func(filesystem.Handle) error) func(*Call) Answer {
	return func(c *Call) Answer { return answer(Answer{}, real(c.Handle)) }
}

func onPath(real func(string) error) func(*Call) Answer {
	return func(c *Call) Answer { return answer(Answer{}, real(c.Path)) }
}

func onPaths(real func(from, to string) error) func(*Call) Answer {
	return func(c *Call) Answer { return answer(Answer{}, real(c.Path, c.Dest)) }
}

func finds(real func(string) (string, error)) func(*Call) Answer {
	return func(c *Call) Answer {
		found, err := real(c.Path)
		return answer(Answer{Data: found}, err)
	}
}

func described(s filesystem.Stat, id filesystem.Identity, err error) Answer {
	return answer(Answer{
		Type: s.Type, Size: s.Size, Identity: id,
		Atime: s.AccessTime.UnixNano(), Mtime: s.ModTime.UnixNano(), Ctime: s.ChangeTime.UnixNano(),
	}, err)
}

func answer(a Answer, err error) Answer {
	if err != nil {
		return Fails(err)
	}
	return a
}

// Name returns what transcripts call it.
func (o Op) Name() string { return strings.TrimSpace(rows[o].name + " " + rows[o].mode) }

// Traced returns what traces and faults call it, and for an open the mode, which is one
// argument more. Nothing else has a mode there.
func (o Op) Traced() (name, mode string) {
	r := &rows[o]
	if r.trace != "" {
		return r.trace, ""
	}
	return r.name, r.mode
}

// Find returns the Op that Traced gives the name and the mode of.
func Find(name, mode string) (Op, bool) {
	for o := range Ops {
		if n, m := o.Traced(); n == name && m == mode && n != "" {
			return o, true
		}
	}
	return 0, false
}

// Names returns what Traced calls the system calls that there are.
func Names() []string {
	var names []string
	for o := range Ops {
		if name, _ := o.Traced(); name != "" && (rows[o].tree != nil || o == Kill) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// OnHandle reports whether it is about a handle.
func (o Op) OnHandle() bool { return rows[o].handle }

// Lasts reports whether it takes time.
func (o Op) Lasts() bool { return o == Wait || o == Await }

// Opens reports whether it is answered by a handle.
func (o Op) Opens() bool { return rows[o].opens }

// Paths returns about how many paths it is.
func (o Op) Paths() int { return rows[o].paths }

// node is what errors call it.
func (o Op) node() string { return cmp.Or(rows[o].node, rows[o].name) }

// Names returns the names in the directory that a Readdir has read.
func (a *Answer) Names() []string {
	return strings.FieldsFunc(a.Data, func(r rune) bool { return r == '/' })
}

// Real makes a call of this computer's filesystem.
func Real(c Call) Answer { return rows[c.Op].real(&c) }

// Perform makes a call of the filesystem, as its actor. Handles are the actor's own.
func (t *Tree) Perform(c *Call) Answer { return rows[c.Op].tree(t, c) }

// Error describes a call that has failed as Node does. It is nil if it has not.
func (c *Call) Error(a *Answer) error {
	switch {
	case a.Err != nil:
		return a.Err
	case a.Code == "":
		return nil
	case c.Op == TryGuard && a.Code == guarded:
		return filesystem.ErrGuarded
	case c.Op == TryFlock && a.Code == guarded:
		return filesystem.ErrFlocked
	case c.Op == TryGuard && a.Code == unguardable:
		return filesystem.ErrUnguardable
	case a.Inner != 0:
		return callerror.Linux(a.Code, a.Inner.node(), a.Data, "")
	}
	return callerror.Linux(a.Code, c.Op.node(), c.Path, c.Dest)
}

// The calls as engines make them. filesystem.OS says what each is to do.

func (s System) OpenExclusive(path string) (filesystem.Handle, error) {
	return s.open(OpenExclusive, path)
}
func (s System) OpenRead(path string) (filesystem.Handle, error) { return s.open(OpenRead, path) }
func (s System) OpenNoFollow(path string) (filesystem.Handle, error) {
	return s.open(OpenNoFollow, path)
}
func (s System) OpenTruncate(path string) (filesystem.Handle, error) {
	return s.open(OpenTruncate, path)
}
func (s System) OpenDirectory(path string) (filesystem.Handle, error) {
	return s.open(OpenDirectory, path)
}
func (s System) Pin(path string) (filesystem.Handle, error)    { return s.open(Pin, path) }
func (s System) PinNew(path string) (filesystem.Handle, error) { return s.open(PinNew, path) }
func (s System) PinDirectory(path string) (filesystem.Handle, error) {
	return s.open(PinDirectory, path)
}
func (s System) PinForFlock(path string) (filesystem.Handle, error) {
	return s.open(PinForFlock, path)
}

func (s System) Close(h filesystem.Handle) error { return s.try(Call{Op: Close, Handle: h}) }

func (s System) Read(h filesystem.Handle, limit int) ([]byte, error) {
	a, err := s.do(Call{Op: Read, Handle: h, N: int64(limit)})
	return []byte(a.Data), err
}

func (s System) Write(h filesystem.Handle, data []byte) error {
	return s.try(Call{Op: Write, Handle: h, Data: string(data)})
}

func (s System) Fstat(h filesystem.Handle) (filesystem.Stat, error) {
	stat, _, err := s.FstatIdentity(h)
	return stat, err
}

func (s System) FstatIdentity(h filesystem.Handle) (filesystem.Stat, filesystem.Identity, error) {
	return s.stat(Call{Op: Fstat, Handle: h})
}

func (s System) Stat(path string) (filesystem.Stat, error) {
	stat, _, err := s.StatIdentity(path)
	return stat, err
}

func (s System) StatIdentity(path string) (filesystem.Stat, filesystem.Identity, error) {
	return s.stat(Call{Op: Stat, Path: path})
}

func (s System) Lstat(path string) (filesystem.Stat, error) {
	stat, _, err := s.LstatIdentity(path)
	return stat, err
}

func (s System) LstatIdentity(path string) (filesystem.Stat, filesystem.Identity, error) {
	return s.stat(Call{Op: Lstat, Path: path})
}

func (s System) Utimes(path string, ms int64) error {
	return s.try(Call{Op: Utimes, Path: path, N: ms})
}

func (s System) Futimes(h filesystem.Handle, path string, atime, mtime time.Time) error {
	return s.try(Call{Op: Futimes, Handle: h, Path: path, Atime: atime.UnixNano(), N: mtime.UnixNano()})
}

func (s System) Mkdir(path string) error      { return s.try(Call{Op: Mkdir, Path: path}) }
func (s System) Rmdir(path string) error      { return s.try(Call{Op: Rmdir, Path: path}) }
func (s System) Unlink(path string) error     { return s.try(Call{Op: Unlink, Path: path}) }
func (s System) Link(from, to string) error   { return s.try(Call{Op: Link, Path: from, Dest: to}) }
func (s System) Rename(from, to string) error { return s.try(Call{Op: Rename, Path: from, Dest: to}) }

func (s System) RenameNoReplace(from, to string) error {
	return s.try(Call{Op: RenameNoReplace, Path: from, Dest: to})
}

func (s System) Readdir(path string) ([]string, error) {
	a, err := s.do(Call{Op: Readdir, Path: path})
	return a.Names(), err
}

func (s System) Realpath(path string) (string, error) { return s.find(Realpath, path) }
func (s System) Resolve(path string) (string, error)  { return s.find(Resolve, path) }

func (s System) TryGuard(directory filesystem.Handle) (filesystem.Handle, error) {
	a, err := s.do(Call{Op: TryGuard, Handle: directory})
	return a.Handle, err
}

func (s System) Unguard(guard filesystem.Handle) error {
	return s.try(Call{Op: Unguard, Handle: guard})
}

func (s System) Reach(directory filesystem.Handle) filesystem.Reach {
	return filesystem.Reach(s.Do(Call{Op: Reach, Handle: directory}).N)
}

func (s System) TryFlock(h filesystem.Handle) error { return s.try(Call{Op: TryFlock, Handle: h}) }
func (s System) Funlock(h filesystem.Handle) error  { return s.try(Call{Op: Funlock, Handle: h}) }

func (s System) do(c Call) (Answer, error) {
	a := s.Do(c)
	return a, c.Error(&a)
}

func (s System) try(c Call) error {
	_, err := s.do(c)
	return err
}

func (s System) open(o Op, path string) (filesystem.Handle, error) {
	a, err := s.do(Call{Op: o, Path: path})
	return a.Handle, err
}

func (s System) find(o Op, path string) (string, error) {
	a, err := s.do(Call{Op: o, Path: path})
	if err != nil {
		return "", err
	}
	return a.Data, nil
}

func (s System) stat(c Call) (filesystem.Stat, filesystem.Identity, error) {
	a, err := s.do(c)
	if err != nil {
		return filesystem.Stat{}, filesystem.Identity{}, err
	}
	return filesystem.Stat{
		Type: a.Type, Size: a.Size,
		AccessTime: time.Unix(0, a.Atime), ModTime: time.Unix(0, a.Mtime), ChangeTime: time.Unix(0, a.Ctime),
	}, a.Identity, nil
}
