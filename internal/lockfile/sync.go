package lockfile

import (
	"context"
	"errors"
	"time"

	"github.com/seed-c461eb89/nodelock/compat/nodeerror"
	"github.com/seed-c461eb89/nodelock/internal/filesystem"
	"github.com/seed-c461eb89/nodelock/internal/nodetime"
)

// maxFailedUnlinks is how often in a row LockSync may fail to remove a stale lock.
// One failure may pass, as when a scanner holds the file open.
const maxFailedUnlinks = 2

// LockSync is the synchronous lock (L20, L21).
//
// Its takeover looks at the lock once and then removes whatever is at path: of
// several participants that see the same stale lock, more than one may end up
// holding it. This is Node's, and the mirror does the same.
func (e *Engine) LockSync(path string, o *Options) (*Lease, error) {
	if o.Wait != 0 || o.RetryWait != 0 {
		return nil, ErrSyncWait
	}
	failedUnlinks, reclaimed := 0, false
	for {
		err := e.create(path)
		if err == nil {
			return e.hold(context.Background(), path, reclaimed), nil
		}
		if nodeerror.Code(err) == "EEXIST" && o.Stale != 0 {
			stat, statErr := e.filesystem.Stat(path)
			if statErr != nil {
				return nil, statErr
			}
			if e.staleSync(stat, o) {
				unlinkErr := e.removeStale(path)
				if unlinkErr == nil {
					failedUnlinks, reclaimed = 0, true
					continue // without spending a retry
				}
				failedUnlinks++
				if stat.Type != filesystem.Directory && failedUnlinks < maxFailedUnlinks {
					continue
				}
				// Node would go round until its stack overflows.
				err = withCause(err, unlinkErr)
				failedUnlinks = 0
			}
		}
		if o.Retries <= 0 {
			return nil, err
		}
		o.Retries--
	}
}

// staleSync says whether the lock is stale. A file time on a whole second probably
// comes from a filesystem that keeps nothing finer, so the threshold is rounded up
// to one as well; and it stays so, as Node writes it into the options (L24).
func (e *Engine) staleSync(stat filesystem.Stat, o *Options) bool {
	filetime := e.filetimeOf(stat, o)
	if over := o.Stale % time.Second; filetime%1000 == 0 && over != 0 {
		o.Stale -= over
		if over > 0 {
			o.Stale = nodetime.Add(o.Stale, time.Second)
		}
	}
	return e.age(filetime) > o.Stale
}

// removeStale is UnlockSync, but tells what came of it. A lease of this process that the
// lock belongs to is lost.
func (e *Engine) removeStale(path string) error {
	err := e.filesystem.Unlink(path)
	e.forget(path, ErrCompromised)
	return err
}

// withCause adds a further cause to the error of the open that failed.
func withCause(err, cause error) error {
	var e *nodeerror.Error
	if !errors.As(err, &e) {
		return err
	}
	both := *e
	both.Err = errors.Join(e.Err, cause)
	return &both
}
