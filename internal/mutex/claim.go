package mutex

import (
	"hash/fnv"
	"path/filepath"
	"strconv"
	"time"

	"github.com/seed-c461eb89/nodelock/compat/nodeerror"
	"github.com/seed-c461eb89/nodelock/internal/filesystem"
)

// A mark is what a lock is known by.
type mark struct {
	identity filesystem.Identity
	// mtime is as the filesystem gave it back. A participant that renews the lock changes
	// it.
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
	another                // it is another's, which has it still
	stale                  // it may be taken over
	removed                // it was there, and is not any more
)

// A claim is the removal of one lock. It is renamed aside, replacing nothing; then it is
// seen whether that was the right one, and only then is it removed. Where no second name
// can be had, for whatever reason, it is looked at and removed in its place: that is weaker
// against participants that know no guard, and better than to leave it.
type claim struct {
	*Engine
	protocol
	path string
	// guarded says that no other participant of this engine's kind is at it.
	guarded bool
	// complete says that a lock is to be at its path only when it is complete.
	complete bool
}

// Names beside the lock. They are the same each time, so that what a crash leaves is found
// without looking for it, and no names that one of the protocols makes of another.
const (
	// asideSuffix is for a lock that was renamed in order to be removed.
	asideSuffix = ".nodelock-claim"
	// newSuffix is for a lock that is to be renamed when it is complete.
	newSuffix = ".nodelock-new"
)

func beside(path, suffix string) string {
	const longest = 255
	directory, name := filepath.Split(path)
	if len(name)+len(suffix) > longest {
		hash := fnv.New64a()
		hash.Write([]byte(name))
		name = strconv.FormatUint(hash.Sum64(), 16)
	}
	return directory + name + suffix
}

func aside(path string) string { return beside(path, asideSuffix) }

// remove removes the lock m from the path. It returns removed if it has; gone if there was
// none; and another if it was not that one, or not to be removed. With an error the lock may
// be at the path, aside, or removed.
//
// Between looking at the lock and renaming it a participant that knows no guard may replace
// it: then the wrong one is renamed, which is seen, and it is put back. If its place is
// taken by then, there are two that believe to hold the lock; of them it is the one that
// cannot be at the path, and goes.
func (c *claim) remove(m mark) (verdict, error) {
	aside := aside(c.path)
	err := c.filesystem.RenameNoReplace(c.path, aside)
	if nodeerror.Code(err) == "EEXIST" && c.clear(aside) {
		err = c.filesystem.RenameNoReplace(c.path, aside)
	}
	if nodeerror.Code(err) == "ENOENT" {
		return gone, nil
	}
	found, lookErr := c.look(aside)
	if err != nil && (lookErr != nil || !found.same(m)) {
		return c.removeInPlace(m)
	}
	// It is there, and if the renaming has failed, it has had its effect all the same.
	err = lookErr
	if err == nil && found.same(m) {
		err = c.protocol.remove(c.filesystem, aside)
		if err == nil || nodeerror.Code(err) == "ENOENT" {
			return removed, nil
		}
		// There is something in the directory, or another program has it open.
	}
	if nodeerror.Code(err) == "ENOENT" {
		return gone, nil
	}
	if nodeerror.Code(c.filesystem.RenameNoReplace(aside, c.path)) == "EEXIST" {
		_ = c.protocol.remove(c.filesystem, aside)
	}
	return another, err
}

// removeAside removes the lock m if it lies aside.
func (c *claim) removeAside(m mark) error {
	found, err := c.look(aside(c.path))
	if err == nil && found.same(m) {
		err = c.protocol.remove(c.filesystem, aside(c.path))
	}
	if nodeerror.Code(err) == "ENOENT" {
		return nil
	}
	return err
}

func (c *claim) look(path string) (mark, error) {
	stat, id, err := c.filesystem.LstatIdentity(path)
	return markOf(stat, id), err
}

// clear removes what lies beside the lock, and reports whether it has: what another
// participant has made or renamed there and, since it has ended, not removed. There is no
// need to put it back, since the path is taken: its holder has lost it and finds out by
// itself. Without a guard it may not have ended, and what can be no lock is another
// program's: both are left alone.
func (c *claim) clear(beside string) bool {
	if !c.guarded {
		return false
	}
	stat, _, err := c.filesystem.LstatIdentity(beside)
	return err == nil && c.wrong(beside, stat) == nil && c.protocol.remove(c.filesystem, beside) == nil
}

// removeInPlace looks and removes. A participant that knows no guard and replaces the lock
// between the two loses what it put there.
func (c *claim) removeInPlace(m mark) (verdict, error) {
	found, err := c.look(c.path)
	switch {
	case nodeerror.Code(err) == "ENOENT":
		return gone, nil
	case err != nil || !found.same(m):
		return another, err
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
