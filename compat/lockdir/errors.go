package lockdir

import (
	"github.com/seed-c461eb89/nodelock/compat/nodeerror"
	engine "github.com/seed-c461eb89/nodelock/internal/lockdir"
)

// An Error is a failed call as Node describes it: Code, Errno, Syscall and Path are Node's
// fields. A conflict unwraps to one of ErrHeld and what follows it, and errors.As finds Go's
// own account of a failed system call. See [nodeerror.Error] for all of the fields.
type Error = nodeerror.Error

// The errors that a program may want to tell apart; use errors.Is.
var (
	// ErrLocked is every conflict: the lock cannot be had now. Code ECONFLICT, exit code 4.
	ErrLocked error = engine.ErrLocked
	// ErrContainment: the locks of the vault would not be in the vault. Code
	// ECONTAINMENT, exit code 3. Nothing was created.
	ErrContainment error = engine.ErrContainment
	// ErrCompromised: the lock is lost, because its record was removed. Code ELOST, exit
	// code 5. A loss that [Lease.Verify] finds by another's record is a conflict, and matches
	// this too.
	ErrCompromised error = engine.ErrCompromised
	// ErrReleased: the lease has ended by Release. Code ERELEASED, exit code 5.
	ErrReleased error = engine.ErrReleased
)

// What a conflict is, for errors.Is (§6). Each is an ErrLocked too.
var (
	// ErrHeld: another participant has a record that is fresh, or unreadable and young. The
	// text has the number of its process if the record says it. C1.
	ErrHeld = engine.ErrHeld
	// ErrIncoming: another participant may be making the directory, or judging a record in
	// it. It is over after 5 s without changes. C2.
	ErrIncoming = engine.ErrIncoming
	// ErrUnclearable: the directory cannot be emptied. After five pauses it still had the
	// entries in it that the text names. C3.
	ErrUnclearable = engine.ErrUnclearable
	// ErrDirectory: there is a directory in the lock directory, which the text names.
	// Nothing here removes it, and nothing was changed: it is for a human to look at. It is
	// an ErrUnclearable too. C3.
	ErrDirectory = engine.ErrDirectory
	// ErrNotRestored: a record that turned out to be fresh after it was moved aside could
	// not be moved back. Its holder will find that it has lost the lock. C4.
	ErrNotRestored = engine.ErrNotRestored
	// ErrChurn: in 20 rounds the directory was always another's in the end. C5.
	ErrChurn = engine.ErrChurn
)

// ExitCode returns the status that the PALEE CLI exits with for an error (§6): 0 for nil,
// 4 for a conflict, 3 for ErrContainment, and 5 for anything else. A conflict is known by
// its code, anywhere in err's chain, or by its text, which may begin with "OCC conflict:"
// too.
func ExitCode(err error) int { return engine.ExitCode(err) }
