package lockdir

import (
	"slices"

	"github.com/seed-c461eb89/nodelock/compat/nodeerror"
)

// Two ways to make a lock directory (W1).
//
// PALEE makes the directory and then writes the record into it. Between the two the
// directory is empty, and after 5 s anybody may sweep it:
//
//	A: mkdir(lock)         ok
//	A: (stops for 6 s)
//	B: readdir(lock)       empty, and no longer young
//	B: rmdir(lock)         ok
//	B: mkdir(lock)         ok
//	B: write(lock/b.json)  ok: B holds the lock
//	A: write(lock/a.json)  ok: A holds it too
//
// So here the directory is made under another name, a staging directory, the record is
// written into it, and it is renamed to its own name, unless there is something already.
// Nobody ever sees it empty, and there is nothing to remove under A. If A's staging
// directory is removed while A stops, A's rename fails.
//
// Where no rename refuses to replace, the directory is made as PALEE does, and the lock
// counts as held when a look into it has found the record, and no other. Of two that
// follow this rule, each writes before it looks, so that at least one sees the other;
// and whoever sees another gives way, because PALEE never looks and never will. One gap
// is left, in which B is PALEE's: A looks, and then B writes. Verify looks again.
//
// The look follows a rename too. It costs one call, and makes certain of a directory
// that somebody else had good reason to sweep.

// claim makes the lock directory, or finds it occupied (§4.A).
func (a *attempt) claim() (outcome, error) {
	o := again
	if !a.plain {
		o = a.publish()
	}
	if o == again {
		var err error
		if o, err = a.make(); err != nil {
			return o, err
		}
	}
	if o != held {
		return o, nil
	}
	a.doubt = true // until it has been looked at
	names, err := a.filesystem.Readdir(a.dir)
	if err != nil {
		return a.vanished(err)
	}
	return a.settle(names)
}

// publish makes the staging directory and renames it. Whatever stands in the way of that
// (a filesystem that cannot, a name that is too long, somebody who has cleared the staging
// directory away) is no error of the call, which goes the other way then, and for good.
func (a *attempt) publish() outcome {
	// The name does not end as a lock directory's does, so nobody takes it for one.
	staging := a.dir + "." + a.id
	err := a.filesystem.Mkdir(staging)
	if err == nil {
		err = a.write(staging)
	}
	written := err == nil
	if written {
		if err = a.filesystem.RenameNoReplace(staging, a.dir); err == nil {
			return held
		}
	}
	gone := a.filesystem.Unlink(a.join(staging, a.record))
	_ = a.filesystem.Rmdir(staging)
	if written && gone != nil {
		a.doubt = true // a network filesystem may have renamed it, and lost the answer
	}
	if written && notEmpty(err) {
		return occupied
	}
	a.plain = true
	return again
}

// make makes the directory and writes the record into it.
func (a *attempt) make() (outcome, error) {
	err := a.filesystem.Mkdir(a.dir)
	if nodeerror.Code(err) == "EEXIST" {
		return occupied, nil
	}
	if err == nil {
		if err = a.write(a.dir); err == nil {
			return held, nil
		}
		_ = a.filesystem.Unlink(a.join(a.dir, a.record))
		if missing(err) {
			return again, nil // the directory was swept
		}
		_ = a.filesystem.Rmdir(a.dir) // §9 number 11
	}
	return again, err
}

// write writes this participant's record into dir. The file need not be new, as in PALEE:
// nobody else has an id like it.
func (a *attempt) write(dir string) error {
	h, err := a.filesystem.OpenTruncate(a.join(dir, a.record))
	if err != nil {
		return err
	}
	err = a.filesystem.Write(h, a.body)
	if closeErr := a.filesystem.Close(h); err == nil {
		err = closeErr
	}
	return err
}

// settle decides whether the lock is held, now that this participant's record should be
// among names.
func (a *attempt) settle(names []string) (outcome, error) {
	if !slices.Contains(names, a.record) {
		// Swept away, or moved aside and about to come back: the next round knows.
		return again, nil
	}
	if other, ok := a.other(names, a.record); ok {
		a.withdraw()
		a.holder = other
		return again, a.conflict(ErrHeld, other.process())
	}
	a.doubt = false
	return held, nil
}

// other returns the first record in the directory that is not own.
func (l *Lock) other(names []string, own string) (entry, bool) {
	for _, name := range names {
		if name == own || !isRecordName(name) {
			continue
		}
		if e := l.read(l.dir, name); e.kind == record && !e.vanished {
			return e, true
		}
	}
	return entry{}, false
}
