package explore

import (
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/seed-c461eb89/nodelock/internal/callerror"
	"github.com/seed-c461eb89/nodelock/internal/filesystem"
	"github.com/seed-c461eb89/nodelock/internal/nodetime"
	"github.com/seed-c461eb89/nodelock/internal/sim"
)

// A call is what a process can ask for.
type call uint8

const (
	// callWait waits for ms, and callSection only lets others go first.
	callWait call = iota + 1
	callSection
	callOpenExclusive
	callOpenRead
	callClose
	callFstat
	callStat
	callLstat
	callUnlink
	callLink
	callRename
	callRenameNoReplace
	callMkdir
	callRmdir
	callUtimes
	callFutimes
	callTryGuard
	callUnguard
	callPin
	callRealpath
)

// names has what transcripts call them, and nodeNames what errors do.
var names = [...]string{
	callWait: "wait", callSection: "work", callOpenExclusive: "open wx", callOpenRead: "open r",
	callClose: "close", callFstat: "fstat", callStat: "stat", callLstat: "lstat", callUnlink: "unlink",
	callLink: "link", callRename: "rename", callRenameNoReplace: "rename noreplace", callMkdir: "mkdir",
	callRmdir: "rmdir", callUtimes: "utimes", callFutimes: "futimes", callTryGuard: "guard",
	callUnguard: "unguard", callPin: "open", callRealpath: "realpath",
}

var nodeNames = map[call]string{
	callOpenExclusive: "open", callOpenRead: "open", callRenameNoReplace: "rename", callUtimes: "utime",
	callFutimes: "futime", callTryGuard: "open", callUnguard: "close", callRealpath: "lstat",
}

// A request is a call with its arguments.
type request struct {
	call       call
	path, dest string
	handle     filesystem.Handle
	ms         int64
}

// An answer is what came of a call. What a call does not have is zero.
type answer struct {
	code         string
	kind         filesystem.Type
	mtime, ctime int64
	inode        int32
	handle       filesystem.Handle
}

// perform makes a call as the filesystem's actor.
func perform(f *sim.Tree, r *request) (a answer) {
	// The handles of a process are numbered from 1, whoever it is.
	actor := filesystem.Handle(f.Actor) << handleBits
	var h filesystem.Handle
	switch r.call {
	case callOpenExclusive:
		h, a.code = f.OpenExclusive(r.path)
		a.handle = h &^ actor
	case callOpenRead, callPin:
		h, a.code = f.OpenRead(r.path)
		a.handle = h &^ actor
	case callTryGuard:
		if h, a.code = f.OpenRead(r.path); a.code == "" {
			if a.code = f.TryLock(h); a.code != "" {
				f.Close(h)
				h = 0
			}
		}
		a.handle = h &^ actor
	case callClose, callUnguard:
		a.code = f.Close(actor | r.handle)
	case callFstat:
		if o := f.Open(actor | r.handle); o != nil {
			a.describe(f, o.Node)
		} else {
			a.code = "EBADF"
		}
	case callStat, callLstat:
		at, code := f.Find(r.path, r.call == callStat)
		if a.code = code; code == "" {
			a.describe(f, at.Node)
		}
	case callUnlink:
		a.code = f.Unlink(r.path)
	case callLink:
		a.code = f.Link(r.path, r.dest)
	case callRename:
		a.code = f.Rename(r.path, r.dest)
	case callRenameNoReplace:
		a.code = f.RenameNoReplace(r.path, r.dest)
	case callMkdir:
		_, a.code = f.Create(r.path, filesystem.Directory, "")
	case callRmdir:
		a.code = f.Rmdir(r.path)
	case callUtimes:
		a.code = f.Utimes(r.path, nodetime.Stored(r.ms).UnixNano())
	case callFutimes:
		a.code = f.Futimes(actor|r.handle, nodetime.Stored(r.ms).UnixNano())
	case callRealpath:
		_, a.code = f.Find(r.path, true)
	}
	return a
}

const handleBits = 24

func (a *answer) describe(f *sim.Tree, node int32) {
	n := &f.Nodes[node]
	a.kind, a.mtime, a.ctime, a.inode = n.Kind, n.Mtime, n.Ctime, node
}

// call makes a call and describes its failure as Node does.
func (p *Process) call(r request) (answer, error) {
	a := p.ask(r)
	if a.code == "" {
		return a, nil
	}
	return a, p.failed(a.code, r)
}

func (p *Process) failed(code string, r request) error {
	name, ok := nodeNames[r.call]
	if !ok {
		name = names[r.call]
	}
	return callerror.Linux(code, name, r.path, r.dest)
}

func (p *Process) simple(c call, path string) error {
	_, err := p.call(request{call: c, path: path})
	return err
}

func (p *Process) open(c call, path string) (filesystem.Handle, error) {
	a, err := p.call(request{call: c, path: path})
	return a.handle, err
}

func (p *Process) stat(r request) (filesystem.Stat, error) {
	a, err := p.call(r)
	if err != nil {
		return filesystem.Stat{}, err
	}
	return statOf(&a), nil
}

func statOf(a *answer) filesystem.Stat {
	return filesystem.Stat{Type: a.kind, ModTime: time.Unix(0, a.mtime), ChangeTime: time.Unix(0, a.ctime)}
}

// The methods that follow are those of the engines' filesystems.

func (p *Process) OpenExclusive(path string) (filesystem.Handle, error) {
	return p.open(callOpenExclusive, path)
}

func (p *Process) OpenRead(path string) (filesystem.Handle, error) {
	return p.open(callOpenRead, path)
}

func (p *Process) Close(h filesystem.Handle) error {
	_, err := p.call(request{call: callClose, handle: h})
	return err
}

func (p *Process) Fstat(h filesystem.Handle) (filesystem.Stat, error) {
	return p.stat(request{call: callFstat, handle: h})
}

func (p *Process) Stat(path string) (filesystem.Stat, error) {
	return p.stat(request{call: callStat, path: path})
}

func (p *Process) Lstat(path string) (filesystem.Stat, error) {
	return p.stat(request{call: callLstat, path: path})
}

func (p *Process) Unlink(path string) error { return p.simple(callUnlink, path) }
func (p *Process) Mkdir(path string) error  { return p.simple(callMkdir, path) }
func (p *Process) Rmdir(path string) error  { return p.simple(callRmdir, path) }

func (p *Process) Link(from, to string) error {
	_, err := p.call(request{call: callLink, path: from, dest: to})
	return err
}

func (p *Process) Rename(from, to string) error {
	_, err := p.call(request{call: callRename, path: from, dest: to})
	return err
}

func (p *Process) Utimes(path string, ms int64) error {
	_, err := p.call(request{call: callUtimes, path: path, ms: ms})
	return err
}

// Realpath makes no call for the root, which is always there.
func (p *Process) Realpath(path string) (string, error) {
	if path == "/" {
		return path, nil
	}
	return path, p.simple(callRealpath, path)
}

// Resolve makes no call. The working directory is the root.
func (p *Process) Resolve(name string) (string, error) { return path.Join("/", name), nil }

// describe writes a call as transcripts have it.
func (r *request) describe(a *answer, now int64) string {
	var b strings.Builder
	b.WriteString(names[r.call])
	switch {
	case r.path != "":
		b.WriteString(" " + shown(r.path))
	case r.handle != 0:
		fmt.Fprintf(&b, " #%d", r.handle)
	}
	if r.dest != "" {
		b.WriteString(" -> " + shown(r.dest))
	}
	switch r.call {
	case callWait:
		fmt.Fprintf(&b, " %d ms: over", r.ms)
		return b.String()
	case callSection:
		return b.String()
	case callUtimes, callFutimes:
		b.WriteString(" to " + ago(r.ms, now))
	}
	switch {
	case a.code != "":
		b.WriteString(": " + a.code)
	case a.handle != 0:
		fmt.Fprintf(&b, ": #%d", a.handle)
	case a.kind != filesystem.Other:
		fmt.Fprintf(&b, ": modified %s, changed %s",
			ago(nodetime.Milliseconds(time.Unix(0, a.mtime)), now), ago(nodetime.Milliseconds(time.Unix(0, a.ctime)), now))
	default:
		b.WriteString(": ok")
	}
	return b.String()
}

func ago(ms, now int64) string {
	switch {
	case ms == now:
		return "now"
	case ms < now:
		return fmt.Sprintf("%d ms ago", now-ms)
	}
	return fmt.Sprintf("%d ms ahead", ms-now)
}

func shown(path string) string {
	if path == "/" {
		return path
	}
	return strings.TrimPrefix(path, "/")
}
