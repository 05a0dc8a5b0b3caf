package sim

import (
	"strings"

	"github.com/seed-c461eb89/nodelock/internal/filesystem"
)

// A Do answers calls.
type Do func(Call) Answer

// What follows makes of an answering function one whose system lacks something. An engine
// is shown to need a part of it by going without.

// Refuse fails calls before anybody else hears of them.
func Refuse(do Do, code string, ops ...Op) Do {
	return func(c Call) Answer {
		for _, o := range ops {
			if c.Op == o {
				return Answer{Code: code}
			}
		}
		return do(c)
	}
}

// WithoutGuard has no guard.
func WithoutGuard(do Do) Do { return Refuse(do, unguardable, TryGuard) }

// WithoutClaim has no name for a lock that is claimed.
func WithoutClaim(do Do) Do {
	none := Refuse(do, "ENOSYS", RenameNoReplace, Link)
	return func(c Call) Answer {
		if strings.HasSuffix(c.Dest, ".nodelock-claim") {
			return none(c)
		}
		return do(c)
	}
}

// WithoutIdentity takes whatever is at a path for what the process has had open last.
func WithoutIdentity(do Do) Do {
	var known Answer
	return func(c Call) Answer {
		a := do(c)
		switch {
		case a.Code != "":
		case c.Op == Fstat && c.Handle != Root:
			known = a
		case c.Op == Lstat:
			a.Identity, a.Mtime = known.Identity, known.Mtime
		}
		return a
	}
}

// WithoutSecondLook has watches that begin when they are first awaited, though what they watch
// is settled before, as in a kernel: a look that comes between does not help. So it is as
// if there were none.
func WithoutSecondLook(do Do) Do {
	begun := true
	return func(c Call) Answer {
		switch {
		case c.Op == Watch:
			begun = false
		case c.Op == Await && !begun:
			begun = true
			do(Call{Op: Watch, Handle: c.Handle})
		}
		return do(c)
	}
}

// WithoutNote has no filesystem that is known to be the kernel's own.
func WithoutNote(do Do) Do {
	return func(c Call) Answer {
		if c.Op == Reach {
			return Answer{N: int64(filesystem.ReachUnknown)}
		}
		return do(c)
	}
}
