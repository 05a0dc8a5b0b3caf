package lockdir

import (
	"errors"
	"fmt"
	"strings"

	"github.com/seed-c461eb89/nodelock/compat/nodeerror"
)

// What a conflict is about. The conflict unwraps to one of these.
var (
	ErrHeld        = errors.New("a record of another participant is fresh")                       // C1
	ErrIncoming    = errors.New("another participant is about to take or to sweep the directory") // C2
	ErrUnclearable = errors.New("the directory cannot be emptied")                                // C3, C3b
	ErrDirectory   = fmt.Errorf("%w: there is a directory in it", ErrUnclearable)                 // C3
	ErrNotRestored = errors.New("another participant's record could not be put back")             // C4
	ErrChurn       = errors.New("the directory changed in every round")                           // C5
)

// Errors that are known by their code.
var (
	ErrLocked      = &nodeerror.Error{Code: "ECONFLICT", Message: "Lock conflict"}
	ErrContainment = &nodeerror.Error{Code: "ECONTAINMENT", Message: "Security error: refusing to write outside the vault"}
	ErrCompromised = &nodeerror.Error{Code: "ELOST", Message: "The lock is lost: its record is gone"}
	ErrReleased    = &nodeerror.Error{Code: "ERELEASED", Message: "The lock is released"}
)

// conflict builds every conflict (§6). What the detail is depends on the reason.
func (l *Lock) conflict(reason error, detail ...string) *nodeerror.Error {
	target := printable(l.target)
	var text string
	switch reason {
	case ErrHeld: // detail: the pid
		text = fmt.Sprintf("%s is locked by PID %s", target, detail[0])
	case ErrIncoming:
		text = target + " is locked by an incoming process"
	case ErrDirectory: // detail: the entry
		text = fmt.Sprintf("the lock directory of %s cannot be cleared: it has a directory in it: %s", target, printable(detail[0]))
	case ErrUnclearable: // detail: the entries
		text = fmt.Sprintf("the lock directory of %s would not empty after %d retries; still present: %s",
			target, l.options.Retries, list(detail))
	case ErrNotRestored: // detail: the entry, and the code of what went wrong
		text = fmt.Sprintf("%s has another process's record %s, which was moved aside and could not be put back: %s",
			target, printable(detail[0]), detail[1])
	case ErrChurn:
		text = fmt.Sprintf("the lock directory of %s changed in each of %d rounds", target, l.options.Rounds)
	}
	return &nodeerror.Error{Code: ErrLocked.Code, Message: conflictPrefix + text, Err: reason}
}

// maxListed is how many names a message may have: directories have no limit, and
// messages end up on terminals.
const maxListed = 100

func list(names []string) string {
	shown := make([]string, 0, min(len(names), maxListed))
	for _, name := range names[:min(len(names), maxListed)] {
		shown = append(shown, printable(name))
	}
	text := strings.Join(shown, ", ")
	if more := len(names) - maxListed; more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	return text
}

const conflictPrefix = "Lock conflict: "

// ExitCode returns the status that PALEE's CLI exits with for an error (§6).
func ExitCode(err error) int {
	const (
		ok          = 0
		containment = 3
		conflict    = 4
		other       = 5
	)
	switch {
	case err == nil:
		return ok
	case nodeerror.Code(err) == ErrLocked.Code,
		strings.HasPrefix(err.Error(), conflictPrefix), strings.HasPrefix(err.Error(), "OCC conflict:"):
		return conflict
	case nodeerror.Code(err) == ErrContainment.Code:
		return containment
	}
	return other
}
