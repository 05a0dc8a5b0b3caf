package properlockfile

import (
	"time"

	"github.com/seed-c461eb89/nodelock/compat/nodeerror"
	"github.com/seed-c461eb89/nodelock/internal/nodetime"
	"github.com/seed-c461eb89/nodelock/internal/properlock"
)

// Check reports whether somebody holds the lock of file (P17).
func (e *Engine) Check(file string, o *Options) (bool, error) {
	files := e.callsOf(o)
	file, err := e.resolve(files, file, o)
	if err != nil {
		return false, err
	}
	stat, err := files.Stat(o.lockPath(file))
	switch {
	case nodeerror.Code(err) == "ENOENT":
		return false, nil
	case err != nil:
		return false, err
	}
	return !e.isStale(nodetime.Milliseconds(stat.ModTime), properlock.Stale(o.Stale)), nil
}

// CheckSync is Check as a synchronous call (P18).
func (e *Engine) CheckSync(file string, o *Options) (bool, error) {
	if o.refusesRetries(false) {
		return false, ErrSyncRetries
	}
	return e.Check(file, o)
}

// isStale says whether a lock with this mtime may be taken over (P6).
func (e *Engine) isStale(mtime int64, stale time.Duration) bool { return e.since(mtime) > stale }
