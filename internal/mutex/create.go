package mutex

import (
	"errors"

	"github.com/seed-c461eb89/nodelock/compat/nodeerror"
	"github.com/seed-c461eb89/nodelock/internal/filesystem"
)

var (
	// errGone says that a lock was created, and removed by another participant.
	errGone = errors.New("mutex: the lock is gone again")
	// errNoName says that there is no second name for a lock.
	errNoName = errors.New("mutex: there is no second name for the lock")
)

// create makes the lock and opens it, and has prepare called for it. If there is one it
// fails with EEXIST.
//
// It is made beside its place, prepared, and renamed, if the rest of the lock's life depends
// on that (see Lease.claim); else it is made in its place. So it is, too, where no second
// name can be had. If its times cannot be set there, it has those of the filesystem until
// its first heartbeat.
func (c *claim) create(prepare func(h filesystem.Handle, path string) error) (filesystem.Handle, error) {
	if c.guarded && c.complete {
		h, err := c.createBeside(prepare)
		if err == nil || nodeerror.Code(err) == "EEXIST" {
			return h, err
		}
	}
	h, err := c.make(c.filesystem, c.path)
	if err == nil {
		_ = prepare(h, c.path)
	}
	return h, err
}

// createBeside fails with EEXIST if there is a lock in its place.
func (c *claim) createBeside(prepare func(h filesystem.Handle, path string) error) (filesystem.Handle, error) {
	files, complete := c.filesystem, beside(c.path, newSuffix)
	h, err := c.make(files, complete)
	if nodeerror.Code(err) == "EEXIST" && c.clear(complete) {
		h, err = c.make(files, complete)
	}
	if err != nil {
		c.clear(complete) // it may have had its effect
		return noHandle, errNoName
	}
	if err = prepare(h, complete); err == nil {
		if err = files.RenameNoReplace(complete, c.path); err == nil || c.has(c.path, h) {
			return h, nil
		}
	}
	_ = c.protocol.remove(files, complete)
	_ = files.Close(h)
	return noHandle, err
}

// has reports whether what h has open is at path: a renaming may have had its effect
// although it failed.
func (c *claim) has(path string, h filesystem.Handle) bool {
	_, id, err := c.filesystem.FstatIdentity(h)
	if err != nil {
		return false
	}
	found, err := c.look(path)
	return err == nil && found.identity == id
}
