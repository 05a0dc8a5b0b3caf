package lockdir

import (
	"github.com/seed-c461eb89/nodelock/compat/nodeerror"
)

// refuseDirectories ends with a conflict if there is a directory among the entries
// (§4.E). PALEE makes none, nobody here removes one, and waiting does not help. It is
// found out before anything is touched (§9 numbers 3 and 4), which also keeps unlink from
// directories on systems where it removes them.
func (a *attempt) refuseDirectories(entries []entry) error {
	for _, e := range entries {
		if !isRecordName(e.name) {
			stat, err := a.filesystem.Lstat(a.join(a.dir, e.name))
			if err == nil {
				e.kind = kindOf(stat.Type)
			}
		}
		if e.kind == directory {
			return a.conflict(ErrDirectory, e.name)
		}
	}
	return nil
}

// sweep removes stale records and residue, by name and only those that this round's
// listing has (§4.E). What cannot be removed is left to remove to find.
//
// A record is moved aside before it is removed, and looked at once more, because its
// holder may have touched it since it was judged:
//
//	B: stat(a.json)                         stale
//	A: utimes(a.json)                       A was only slow
//	B: rename(a.json, a.json.quarantine)
//	B: lstat(a.json.quarantine)             fresh: put it back
//
// Until it is back, A's heartbeat finds no record (W2).
func (a *attempt) sweep(entries []entry) error {
	for _, e := range entries {
		path := a.join(a.dir, e.name)
		if e.kind != record {
			_ = a.filesystem.Unlink(path)
			continue
		}
		if err := a.sweepRecord(e, path); err != nil {
			return err
		}
	}
	return nil
}

func (a *attempt) sweepRecord(e entry, path string) error {
	aside := path + quarantineSuffix
	if a.filesystem.Rename(path, aside) != nil {
		return nil // a rival was faster, as a rule
	}
	stat, err := a.filesystem.Lstat(aside)
	switch {
	case err == nil && a.stale(e, mtimeOf(stat)):
		if a.filesystem.Unlink(aside) == nil {
			a.reclaimed = true
		}
		return nil
	case missing(err):
		return nil // a rival has it (§9 number 6)
	}
	if err := a.restore(aside, path); err != nil {
		return a.conflict(ErrNotRestored, e.name, nodeerror.Code(err))
	}
	return nil
}

// restore puts a record back without replacing anything (§9 number 7), as far as the
// filesystem can: with a rename that refuses, with a link that does, or else as PALEE does.
// Ids are unique, so that there is nothing to replace.
func (a *attempt) restore(aside, path string) error {
	err := a.filesystem.RenameNoReplace(aside, path)
	if err == nil || notEmpty(err) || missing(err) {
		return err
	}
	err = a.filesystem.Link(aside, path)
	if err == nil {
		_ = a.filesystem.Unlink(aside)
		return nil
	}
	if notEmpty(err) || missing(err) {
		return err
	}
	return a.filesystem.Rename(aside, path)
}

// remove removes the directory, which is to be empty now (§4.F). Without an error, the
// next round finds out what there is instead.
func (a *attempt) remove(entries []entry) error {
	err := a.filesystem.Rmdir(a.dir)
	switch {
	case err == nil || missing(err):
		return nil
	case notEmpty(err):
		return a.spend(entries)
	case a.platform.RetryRemoval && busy(err):
		return a.retryRemoval(err, entries)
	}
	return err
}

// busy reports whether err is one of those that Windows has while somebody has the
// directory open.
func busy(err error) bool {
	code := nodeerror.Code(err)
	return code == "EPERM" || code == "EBUSY"
}

// retryRemoval tries it again, and if nothing comes of that returns the error that
// there was to begin with, which is no conflict (ADR-0036 leaves it so).
func (a *attempt) retryRemoval(original error, entries []entry) error {
	for n := range a.options.RemoveRetries {
		if err := a.park(n); err != nil {
			return err
		}
		err := a.filesystem.Rmdir(a.dir)
		switch {
		case err == nil || missing(err):
			return nil
		case notEmpty(err):
			return a.spend(entries)
		case !busy(err):
			return err
		}
	}
	return original
}

// spend takes from the one budget for a directory that would not empty, and waits.
// Somebody may have a file open, or may have been faster and hold the lock by now.
func (a *attempt) spend(entries []entry) error {
	if a.retries == a.options.Retries {
		names := make([]string, len(entries))
		for i, e := range entries {
			names[i] = e.name
		}
		return a.conflict(ErrUnclearable, names...)
	}
	err := a.park(a.retries)
	a.retries++
	return err
}
