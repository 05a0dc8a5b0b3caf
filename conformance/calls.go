package conformance

import (
	"errors"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/seed-c461eb89/nodelock/internal/callerror"
	"github.com/seed-c461eb89/nodelock/internal/filesystem"
	"github.com/seed-c461eb89/nodelock/internal/nodetime"
	"github.com/seed-c461eb89/nodelock/internal/sim"
)

// A Handle is an open file of the world.
type Handle = filesystem.Handle

// A Stat is what the world says of a file.
type Stat = filesystem.Stat

var errClosed = errors.New("conformance: the run is over")

// A failure is how an operation of the world went wrong: the code and, where that is
// not the call that was made, the call and the path that Node names.
type failure struct {
	code, call, path string
}

func failed(code string) *failure {
	if code == "" {
		return nil
	}
	return &failure{code: code}
}

// callNames are the names that Node's errors have for calls, where they differ.
var callNames = map[string]string{
	"utimes": "utime", "readdir": "scandir", "realpath": "lstat", "renameNoReplace": "rename",
}

// pathlessCalls are those whose errors have no path.
var pathlessCalls = []string{"close", "fstat", "write", "read", "kill"}

// call makes a system call: it counts it for the faults, performs it unless a fault
// prevents that, traces it, and delivers it.
func (w *World) call(name string, args []any, path, dest string, perform func() *failure) error {
	if w.closed {
		return errClosed
	}
	w.happenOn(name, path, dest, false)
	fault := w.fault(name, path, dest)
	w.failing = fault != nil
	var result *failure
	if fault == nil || fault.After || name == "close" {
		result = perform()
	}
	if fault != nil {
		result = &failure{code: fault.Code}
		if name == "realpath" {
			result.path = absolute(path)
		}
	}
	ret := "ok"
	if result != nil {
		ret = result.code
	}
	w.record(Event{Sys: name, Args: args, Ret: ret})
	w.happenOn(name, path, dest, true)
	w.deliver()
	if result == nil {
		return nil
	}
	if result.call == "" {
		result.call = name
		if known, ok := callNames[name]; ok {
			result.call = known
		}
	}
	if result.path == "" && !slices.Contains(pathlessCalls, name) {
		result.path = path
	}
	return callerror.Linux(result.code, result.call, result.path, dest)
}

func absolute(path string) string {
	if strings.HasPrefix(path, "/") {
		return path
	}
	return root + "/" + strings.Join(sim.Components(path), "/")
}

// fault counts a call and returns the fault that it meets, or nil.
func (w *World) fault(name, path, dest string) *Fault {
	var met *Fault
	for i := range w.scenario.Faults {
		f := &w.scenario.Faults[i]
		if f.Syscall != name || f.Path != "" && !samePath(f.Path, path) && !(dest != "" && samePath(f.Path, dest)) {
			continue
		}
		w.faults[i]++
		n := w.faults[i]
		if met == nil && (n == f.Call || f.From > 0 && n >= f.From || f.Call == 0 && f.From == 0) {
			met = f
		}
	}
	return met
}

func samePath(a, b string) bool {
	return slices.Equal(sim.Components(strings.TrimPrefix(a, root)), sim.Components(strings.TrimPrefix(b, root)))
}

// simple makes a call of one path that has no result but its error.
func (w *World) simple(name, path string, op func(path string) string) error {
	return w.call(name, []any{relative(path)}, path, "", func() *failure { return failed(op(path)) })
}

func (w *World) openFile(path, flags string, op func(path string) (Handle, string)) (Handle, error) {
	var h Handle
	err := w.call("open", []any{relative(path), flags}, path, "", func() *failure {
		var code string
		h, code = op(path)
		if w.failing {
			// The program will not hear of the descriptor, so it must not be left open.
			w.files.Close(h)
		}
		return failed(code)
	})
	if err != nil {
		return 0, err
	}
	return h, nil
}

// OpenExclusive creates a file that must not exist, and opens it for writing.
func (w *World) OpenExclusive(path string) (Handle, error) {
	return w.openFile(path, "wx", w.files.OpenExclusive)
}

// OpenRead opens a file for reading. It follows symlinks.
func (w *World) OpenRead(path string) (Handle, error) {
	return w.openFile(path, "r", w.files.OpenRead)
}

// Close closes a file, also where it reports an error.
func (w *World) Close(h Handle) error {
	return w.call("close", nil, w.pathOf(h), "", func() *failure { return failed(w.files.Close(h)) })
}

func (w *World) pathOf(h Handle) string {
	if o := w.files.Open(h); o != nil {
		return o.Path
	}
	return ""
}

// Fstat describes an open file.
func (w *World) Fstat(h Handle) (stat Stat, err error) {
	err = w.call("fstat", nil, w.pathOf(h), "", func() *failure {
		o := w.files.Open(h)
		if o == nil {
			return failed("EBADF")
		}
		stat = statOf(&w.files.Nodes[o.Node])
		return nil
	})
	return stat, err
}

func statOf(node *sim.Node) Stat {
	return Stat{Type: node.Kind, ModTime: time.Unix(0, node.Mtime), ChangeTime: time.Unix(0, node.Ctime)}
}

func (w *World) stat(name, path string, follow bool) (stat Stat, err error) {
	err = w.call(name, []any{relative(path)}, path, "", func() *failure {
		at, code := w.files.Find(path, follow)
		if code == "" {
			stat = statOf(&w.files.Nodes[at.Node])
		}
		return failed(code)
	})
	return stat, err
}

// Stat describes a file. It follows symlinks.
func (w *World) Stat(path string) (Stat, error) { return w.stat("stat", path, true) }

// Lstat describes a file, or a symlink itself.
func (w *World) Lstat(path string) (Stat, error) { return w.stat("lstat", path, false) }

// Unlink removes a name of a file that is no directory.
func (w *World) Unlink(path string) error { return w.simple("unlink", path, w.files.Unlink) }

// Mkdir creates a directory.
func (w *World) Mkdir(path string) error {
	return w.simple("mkdir", path, func(path string) string {
		_, code := w.files.Create(path, filesystem.Directory, "")
		return code
	})
}

// Rmdir removes an empty directory.
func (w *World) Rmdir(path string) error { return w.simple("rmdir", path, w.files.Rmdir) }

// Link gives a file another name, which must not exist.
func (w *World) Link(from, to string) error {
	return w.call("link", []any{relative(from), relative(to)}, from, to, func() *failure {
		return failed(w.files.Link(from, to))
	})
}

// Rename renames a file as rename(2) does.
func (w *World) Rename(from, to string) error {
	return w.call("rename", []any{relative(from), relative(to)}, from, to, func() *failure {
		return failed(w.files.Rename(from, to))
	})
}

// Utimes sets the times of a file to ms since 1970, as Node does for a Date.
func (w *World) Utimes(path string, ms int64) error {
	return w.call("utimes", []any{relative(path), ms - w.scenario.Epoch}, path, "", func() *failure {
		return failed(w.files.Utimes(path, nodetime.Stored(ms).UnixNano()))
	})
}

// Realpath resolves a path's symlinks. The result is absolute.
func (w *World) Realpath(path string) (resolved string, err error) {
	err = w.call("realpath", []any{relative(path)}, path, "", func() *failure {
		var f failure
		resolved, f.code, f.call, f.path = w.files.Realpath(path)
		if f.code == "" {
			return nil
		}
		return &f
	})
	if err != nil {
		return "", err
	}
	return resolved, nil
}

// Getwd returns the world's root. It is not a call that a trace shows.
func (w *World) Getwd() (string, error) { return root, nil }

// Resolve makes a path absolute without a call: Node's path.resolve.
func (w *World) Resolve(name string) (string, error) {
	if !path.IsAbs(name) {
		name = root + "/" + name
	}
	return path.Clean(name), nil
}

// Readdir lists a directory, in the order of names that Node gives.
func (w *World) Readdir(path string) (names []string, err error) {
	err = w.call("readdir", []any{relative(path)}, path, "", func() *failure {
		var code string
		names, code = w.files.Readdir(path)
		return failed(code)
	})
	return names, err
}

func milliseconds(ns int64) int64 { return nodetime.Milliseconds(time.Unix(0, ns)) }
