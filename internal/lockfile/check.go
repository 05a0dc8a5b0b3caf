package lockfile

import (
	"github.com/seed-c461eb89/nodelock/compat/nodeerror"
	"github.com/seed-c461eb89/nodelock/internal/filesystem"
)

// Check reports whether path is locked (L18). An error of close comes beside the
// answer.
func (e *Engine) Check(path string, o *Options) (bool, error) {
	h, err := e.filesystem.OpenRead(path)
	if err != nil {
		return false, unlessMissing(err)
	}
	if o.Stale == 0 {
		return true, e.filesystem.Close(h)
	}
	stat, err := e.filesystem.Fstat(h)
	closeErr := e.filesystem.Close(h)
	if err != nil {
		return false, err
	}
	return e.held(stat, o), closeErr
}

// CheckSync reports whether path is locked (L19).
func (e *Engine) CheckSync(path string, o *Options) (bool, error) {
	if o.Wait != 0 {
		return false, ErrSyncWait
	}
	h, err := e.filesystem.OpenRead(path)
	if err != nil {
		return false, unlessMissing(err)
	}
	if o.Stale == 0 {
		_ = e.filesystem.Close(h)
		return true, nil
	}
	stat, err := e.filesystem.Fstat(h)
	// Node closes in a finally block: an error there takes the place of fstat's.
	if closeErr := e.filesystem.Close(h); closeErr != nil {
		err = closeErr
	}
	return err == nil && e.held(stat, o), err
}

func (e *Engine) held(stat filesystem.Stat, o *Options) bool {
	return e.age(e.filetimeOf(stat, o)) <= o.Stale
}

func unlessMissing(err error) error {
	if nodeerror.Code(err) == "ENOENT" {
		return nil
	}
	return err
}
