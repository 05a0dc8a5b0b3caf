package lockdir

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/seed-c461eb89/nodelock/compat/nodeerror"
	"github.com/seed-c461eb89/nodelock/internal/callerror"
	"github.com/seed-c461eb89/nodelock/internal/filesystem"
)

// directorySuffix ends the name of every lock directory, and of nothing else.
const directorySuffix = ".lockdir"

// A Lock is something that can be locked. It never changes.
type Lock struct {
	*Engine
	options Options // with the defaults, and this participant's hostname
	target  string  // as it was given: for records and messages
	dir     string  // absolute
}

// Dir returns the path of the lock directory.
func (l *Lock) Dir() string { return l.dir }

// Vault returns the lock of target in a vault (§1), and creates the directory that the
// vault's lock directories are in, unless it would be outside of the vault.
func (e *Engine) Vault(vault, target string, o Options) (*Lock, error) {
	o, err := e.prepare(o, vault, target)
	if err != nil {
		return nil, err
	}
	root, locks, exists, err := e.contain(vault)
	if err != nil {
		return nil, err
	}
	path, err := e.locate(target)
	if err != nil {
		return nil, err
	}
	relative := strings.ReplaceAll(e.platform.Syntax.relative(root, path), `\`, "/")
	if !utf8.ValidString(relative) {
		return nil, notUTF8(relative)
	}
	hash := sha256.Sum256([]byte(relative))
	l := &Lock{Engine: e, options: o, target: target, dir: e.join(locks, hex.EncodeToString(hash[:])+directorySuffix)}
	if exists {
		l.clearStagings()
	} else if err := e.mkdirAll(locks); err != nil {
		return nil, err
	}
	return l, nil
}

// Directory returns the lock that is the directory dir, which target is locked by. Its
// parent must exist when it is acquired.
func (e *Engine) Directory(dir, target string, o Options) (*Lock, error) {
	o, err := e.prepare(o, dir, target)
	if err != nil {
		return nil, err
	}
	if dir, err = e.filesystem.Resolve(dir); err != nil {
		return nil, err
	}
	if name := e.platform.Syntax.base(dir); !strings.HasSuffix(name, directorySuffix) {
		// Whoever acquires a lock removes what is in its directory, so it must not
		// be somebody's home by mistake.
		return nil, invalid("dir", "must be a path that ends in "+directorySuffix, dir)
	}
	l := &Lock{Engine: e, options: o, target: target, dir: dir}
	l.clearStagings()
	return l, nil
}

// prepare checks what a lock is asked for with, and completes the options.
func (e *Engine) prepare(o Options, place, target string) (Options, error) {
	for _, path := range []string{place, target} {
		switch {
		case path == "":
			return o, invalid("path", "must not be empty", path)
		case strings.IndexByte(path, 0) >= 0:
			return o, callerror.NullByte("realpath", path)
		}
	}
	if !utf8.ValidString(target) {
		return o, notUTF8(target)
	}
	o, err := o.withDefaults(e.platform)
	if err == nil && o.Hostname == "" {
		o.Hostname, err = e.host.Hostname()
	}
	return o, err
}

func invalid(argument, rule, got string) error {
	return &nodeerror.Error{
		Code:    nodeerror.ErrInvalidArgument.Code,
		Path:    got,
		Message: fmt.Sprintf("The argument '%s' %s. Received '%s'", argument, rule, got),
	}
}

// notUTF8 refuses a path that Node would turn into another one before it hashes it (§9
// number 15).
func notUTF8(path string) error {
	return &nodeerror.Error{
		Code:    "EILSEQ",
		Path:    path,
		Message: "EILSEQ: illegal byte sequence, a path to be locked must be UTF-8 '" + path + "'",
	}
}

// locate returns where target is: without links if it exists or at least what it is to
// be in does (§1).
func (e *Engine) locate(target string) (string, error) {
	if path, err := e.filesystem.Realpath(target); err == nil {
		return path, nil
	}
	path, err := e.filesystem.Resolve(target)
	if err != nil {
		return "", err
	}
	if parent, err := e.filesystem.Realpath(e.platform.Syntax.dir(path)); err == nil {
		return e.join(parent, e.platform.Syntax.base(path)), nil
	}
	return path, nil
}

// contain returns the root of a vault, without links if it exists, the directory for its
// lock directories, without links, and whether that exists. The error is ErrContainment
// if it is not in the vault.
//
// Between this and what is created there afterwards somebody may put a link in the way.
// The path that was checked is the one that is used, which leaves no more to chance than
// the contract does.
func (e *Engine) contain(vault string) (root, locks string, exists bool, err error) {
	root, err = e.filesystem.Realpath(vault)
	canonical := root
	if err != nil {
		// As given, and so relative to the working directory.
		if root, err = e.filesystem.Resolve(vault); err == nil {
			canonical, _, err = e.canonical(root)
		}
		if err != nil {
			return "", "", false, err
		}
	}
	locks, exists, err = e.canonical(e.join(root, ".palee", "locks"))
	if err == nil && !e.platform.Syntax.within(canonical, locks) {
		err = outside(locks)
	}
	return root, locks, exists, err
}

func outside(path string) error {
	return &nodeerror.Error{
		Code:    ErrContainment.Code,
		Message: ErrContainment.Message + ": " + printable(path),
	}
}

// canonical resolves the links in as much of an absolute path as there is. A link that
// leads nowhere, or in a circle, could lead anywhere tomorrow: it counts as leading
// outside.
func (e *Engine) canonical(path string) (resolved string, exists bool, err error) {
	resolved, err = e.filesystem.Realpath(path)
	if err == nil {
		return resolved, true, nil
	}
	if nodeerror.Code(err) == "ELOOP" {
		return "", false, outside(path)
	}
	parent := e.platform.Syntax.dir(path)
	if !missing(err) || parent == path {
		return "", false, err
	}
	if _, err := e.filesystem.Lstat(path); err == nil {
		return "", false, outside(path)
	}
	above, _, err := e.canonical(parent)
	if err != nil {
		return "", false, err
	}
	return e.join(above, e.platform.Syntax.base(path)), false, nil
}

// mkdirAll makes a directory and those that it is in. That one is there already, or is
// made by somebody else meanwhile, is as good.
func (e *Engine) mkdirAll(path string) error {
	err := e.filesystem.Mkdir(path)
	if missing(err) {
		parent := e.platform.Syntax.dir(path)
		if parent == path {
			return err
		}
		if err := e.mkdirAll(parent); err != nil {
			return err
		}
		err = e.filesystem.Mkdir(path)
	}
	if nodeerror.Code(err) == "EEXIST" {
		return nil
	}
	return err
}

// clearStagings removes what participants have left beside the lock directory that died
// while they made one (see claim.go). It is nothing that keeps anybody from anything, so
// no error matters.
func (l *Lock) clearStagings() {
	syntax := l.platform.Syntax
	parent, prefix := syntax.dir(l.dir), syntax.base(l.dir)+".L-"
	names, _ := l.filesystem.Readdir(parent)
	for _, name := range names {
		if strings.HasPrefix(name, prefix) {
			l.clearStaging(l.join(parent, name))
		}
	}
}

// clearStaging removes a directory of that kind if its maker is known to be dead, or has
// not been heard of for as long as makes a lock stale. If he lives after all he finds it
// gone, and makes the lock directory in the other way.
func (l *Lock) clearStaging(path string) {
	stat, err := l.filesystem.Lstat(path)
	if err != nil || stat.Type != filesystem.Directory {
		return
	}
	names, err := l.filesystem.Readdir(path)
	switch {
	case err != nil || len(names) > 1:
		return
	case len(names) == 0:
		if l.age(mtimeOf(stat)) <= l.options.Stale {
			return
		}
	default:
		e := l.read(path, names[0])
		if e.kind != record || !isRecordName(e.name) || !l.stale(e, e.mtime) {
			return
		}
		_ = l.filesystem.Unlink(l.join(path, e.name))
	}
	_ = l.filesystem.Rmdir(path)
}
