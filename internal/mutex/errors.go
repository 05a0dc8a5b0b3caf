package mutex

import (
	"errors"

	"github.com/seed-c461eb89/nodelock/compat/nodeerror"
)

// The errors that callers can tell apart, beside those that the protocols have for a lock
// that is held.
var (
	ErrCompromised = &nodeerror.Error{Code: "ECOMPROMISED", Message: "The lock is lost: it was removed, replaced or touched by another"}
	ErrReleased    = &nodeerror.Error{Code: "ERELEASED", Message: "Lock is already released"}
	ErrGuardBusy   = &nodeerror.Error{Code: "EGUARDBUSY", Message: "the lock's directory is guarded by another process, which does not go on"}
	// ErrHeartbeatHangs is the error of a release that waits for a heartbeat in vain.
	ErrHeartbeatHangs = &nodeerror.Error{Code: "EHEARTBEATHANGS", Message: "a heartbeat of the lock hangs in a system call"}
	// ErrNotLock says that what is at the path of the lock is no lock.
	ErrNotLock = errors.New("it is no lock")
)

// errHeartbeatHangs is why a lock is lost whose heartbeat hangs beyond the threshold.
var errHeartbeatHangs = compromised(ErrHeartbeatHangs)

// compromised says why a lock is lost.
func compromised(why error) error {
	return &nodeerror.Error{Code: ErrCompromised.Code, Message: "The lock is lost: " + why.Error(), Err: why}
}
