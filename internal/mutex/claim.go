package mutex

import (
	"hash/fnv"
	"path/filepath"
	"strconv"
	"time"

	"github.com/seed-c461eb89/nodelock/compat/nodeerror"
	"github.com/seed-c461eb89/nodelock/internal/filesystem"
	"github.com/seed-c461eb89/nodelock/internal/nodetime"
)

// A mark is what a lock is known by.
type mark struct {
	identity filesystem.Identity
	// mtime is as the filesystem gave it back. Whoever renews the lock changes it.
	mtime time.Time
}

func markOf(s filesystem.Stat, id filesystem.Identity) mark { return mark{id, s.ModTime} }

// same says whether m and other are the same lock, not renewed between.
func (m mark) same(other mark) bool {
	return m.identity == other.identity && m.mtime.Equal(other.mtime)
}

// A verdict is what came of looking at what is at a path, or of trying to remove it.
type verdict uint8

const (
	gone    verdict = iota // there is nothing
	another                // it is somebody else's, who has it still
	stale                  // it may be taken over
	removed                // it was there, and is not any more
)

// A claim is the removal of one lock.
type claim struct {
	*Engine
	protocol
	path, aside string
	// guarded says that nobody else of this engine's kind is at it.
	guarded bool
	// patience is after what age what lies aside is taken for left behind, if not
	// guarded.
	patience time.Duration
}

// aside returns the name that a lock has between being claimed and being removed. It is
// the same each time, so that what a crash leaves is found without looking for it, and
// no name that one of the protocols makes of another.
func aside(path string) string {
	const suffix, longest = ".nodelock-claim", 255
	directory, name := filepath.Split(path)
	if len(name)+len(suffix) > longest {
		hash := fnv.New64a()
		hash.Write([]byte(name))
		name = strconv.FormatUint(hash.Sum64(), 16)
	}
	return directory + name + suffix
}

// remove removes the lock at the path if it is m. The caller has its file open, so that
// no other can be taken for it.
//
// Between looking at the lock and renaming it somebody who knows no guard may replace
// it: then the wrong one is renamed, which is seen, and it is put back. If its place is
// taken by then, there are two who believe to hold the lock; of them it is the one that
// cannot be at the path, and goes.
func (c *claim) remove(m mark) (verdict, error) {
	for attempts := 0; ; attempts++ {
		err := c.filesystem.RenameNoReplace(c.path, c.aside)
		switch nodeerror.Code(err) {
		case "":
			return c.removeAside(m)
		case "ENOENT":
			return gone, nil
		case "EINVAL", "ENOSYS", "ENOTSUP", "EXDEV": // EXDEV: of another layer of an overlay
			if c.linkable() {
				return c.removeLinked(m)
			}
			return c.removeDirectly(m)
		case "EEXIST":
			if attempts > 0 {
				return another, err
			}
			if done, err := c.clear(); !done {
				return another, err
			}
		default:
			return another, err
		}
	}
}

// removeAside removes what has been renamed, or puts it back.
func (c *claim) removeAside(m mark) (verdict, error) {
	found, err := c.look(c.aside)
	if nodeerror.Code(err) == "ENOENT" {
		return gone, nil
	}
	if err == nil && found.same(m) {
		err = c.protocol.remove(c.filesystem, c.aside)
		if err == nil || nodeerror.Code(err) == "ENOENT" {
			return removed, nil
		}
		// There is something in the directory.
	}
	backErr := c.filesystem.RenameNoReplace(c.aside, c.path)
	if nodeerror.Code(backErr) == "EEXIST" {
		backErr = c.protocol.remove(c.filesystem, c.aside)
	}
	if err == nil {
		err = backErr
	}
	return another, err
}

func (c *claim) look(path string) (mark, error) {
	stat, id, err := c.filesystem.LstatIdentity(path)
	return markOf(stat, id), err
}

// clear removes what lies aside: what another has renamed and, since he has ended, not
// removed. There is no need to put it back, since the path is taken: whoever held it has
// lost it and finds out by himself.
//
// Without a guard he may not have ended, and it is left to lie for a while. The ctime is
// when it was renamed.
func (c *claim) clear() (bool, error) {
	if !c.guarded {
		stat, _, err := c.filesystem.LstatIdentity(c.aside)
		if nodeerror.Code(err) == "ENOENT" {
			return true, nil
		}
		if err != nil || c.since(nodetime.Milliseconds(stat.ChangeTime)) <= c.patience {
			return false, err
		}
	}
	err := c.protocol.remove(c.filesystem, c.aside)
	if err == nil || nodeerror.Code(err) == "ENOENT" {
		return true, nil
	}
	return false, err
}

// removeLinked is for files, where the system cannot rename without replacing: a second
// name instead of another. It has no need to put anything back. Somebody who knows no
// guard and replaces the lock between the look and the unlink loses what he put there.
func (c *claim) removeLinked(m mark) (verdict, error) {
	err := c.filesystem.Link(c.path, c.aside)
	if nodeerror.Code(err) == "EEXIST" {
		if done, err := c.clear(); !done {
			return another, err
		}
		err = c.filesystem.Link(c.path, c.aside)
	}
	switch nodeerror.Code(err) {
	case "":
	case "ENOENT":
		return gone, nil
	case "EPERM", "ENOSYS", "ENOTSUP":
		return c.removeDirectly(m) // no second names either
	default:
		return another, err
	}
	result := another
	found, err := c.look(c.aside)
	if err == nil && found.same(m) {
		if err = c.protocol.remove(c.filesystem, c.path); err == nil || nodeerror.Code(err) == "ENOENT" {
			result, err = removed, nil
		}
	}
	if asideErr := c.protocol.remove(c.filesystem, c.aside); err == nil && nodeerror.Code(asideErr) != "ENOENT" {
		err = asideErr
	}
	return result, err
}

// removeDirectly is for where nothing else is possible: it looks and removes. Somebody
// who knows no guard and replaces the lock between the two loses what he put there.
func (c *claim) removeDirectly(m mark) (verdict, error) {
	found, err := c.look(c.path)
	switch {
	case nodeerror.Code(err) == "ENOENT":
		return gone, nil
	case err != nil:
		return another, err
	case !found.same(m):
		return another, nil
	}
	err = c.protocol.remove(c.filesystem, c.path)
	switch nodeerror.Code(err) {
	case "":
		return removed, nil
	case "ENOENT":
		return gone, nil
	}
	return another, err
}
