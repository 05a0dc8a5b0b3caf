package lockdir

import (
	"context"
	"slices"

	"github.com/seed-c461eb89/nodelock/compat/nodeerror"
	"github.com/seed-c461eb89/nodelock/internal/filesystem"
	"github.com/seed-c461eb89/nodelock/internal/lease"
)

// Acquire makes one bounded acquisition (§4).
func (l *Lock) Acquire(ctx context.Context) (*Lease, error) {
	taken, _, err := l.acquire(ctx)
	if ended, ok := err.(lease.WaitEnded); ok {
		err = ended.Cause
	}
	return taken, err
}

// acquire is Acquire, and returns the record of the holder if there is one.
func (l *Lock) acquire(ctx context.Context) (*Lease, entry, error) {
	lease.CheckContext(ctx)
	if ctx.Err() != nil {
		return nil, entry{}, lease.WaitEnded{Cause: context.Cause(ctx)}
	}
	now := l.clock.Now()
	id := l.mint(now)
	a := &attempt{Lock: l, ctx: ctx, id: id, record: id + recordSuffix, body: l.body(id, now)}
	err := a.acquire()
	if err != nil {
		if a.doubt {
			a.withdraw()
		}
		return nil, a.holder, err
	}
	return a.lease, entry{}, nil
}

// An attempt is one call of Acquire.
type attempt struct {
	*Lock
	ctx    context.Context
	id     string
	record string // the name of this participant's record
	body   []byte
	// lease is the lock once it has been taken, and holder the record of the participant
	// that has it. reclaimed says that a stale record was removed. They make no difference to
	// what an attempt does.
	lease     *Lease
	holder    entry
	reclaimed bool

	// retries is how often the directory would not empty: the budget of the whole call,
	// for every way to meet it (§4.F).
	retries int
	// plain: publishing does not work here.
	plain bool
	// doubt: the record may be in the lock directory although the call that put it there,
	// or looked for it, did not say so.
	doubt bool
}

// An outcome is what came of a step that has no error.
type outcome int

const (
	again    outcome = iota // go on with the next round
	held                    // this participant has the lock
	occupied                // there is a directory
)

// acquire makes the rounds.
func (a *attempt) acquire() error {
	for range a.options.Rounds {
		if o, err := a.round(); o == held || err != nil {
			return err
		}
	}
	return a.conflict(ErrChurn)
}

// round makes a directory with this participant's record in it, or else removes the one
// that is there if nobody holds it (§4.A to F).
func (a *attempt) round() (outcome, error) {
	if o, err := a.find(); o != occupied || err != nil {
		return o, err
	}
	entries, o, err := a.look()
	if o != occupied || err != nil {
		return o, err
	}
	if err := a.sweep(entries); err != nil {
		return again, err
	}
	return again, a.remove(entries)
}

// taking makes a step that may take the lock. A clean-up of the process that begins
// meanwhile waits for it, and finds the lock.
func (a *attempt) taking(step func() (outcome, error)) (outcome, error) {
	a.registry.Begin(a.Engine)
	defer a.registry.End()
	o, err := step()
	if o == held && err == nil {
		a.hold()
	}
	return o, err
}

// find makes the directory, or finds one (§4.A).
func (a *attempt) find() (outcome, error) {
	stat, err := a.filesystem.Lstat(a.dir)
	if err != nil {
		// There is none, as a rule.
		if o, err := a.taking(a.claim); o != occupied || err != nil {
			return o, err
		}
		if stat, err = a.filesystem.Lstat(a.dir); err != nil {
			return a.vanished(err)
		}
	}
	if stat.Type != filesystem.Directory {
		// A link is not followed: what it leads to is not ours to clear.
		return again, notDirectory(a.dir)
	}
	return occupied, nil
}

// look looks at everything in the directory, changes nothing, and returns what there is
// if nobody holds the lock, nobody may be about to, and nothing is there that is not to be
// swept (§4.B to D).
func (a *attempt) look() ([]entry, outcome, error) {
	names, err := a.filesystem.Readdir(a.dir)
	if err != nil {
		o, err := a.vanished(err)
		return nil, o, err
	}
	if slices.Contains(names, a.record) {
		o, err := a.taking(func() (outcome, error) { return a.settle(names) })
		return nil, o, err
	}
	entries, err := a.judge(names)
	if err != nil {
		return nil, again, err
	}
	if a.incoming(names) {
		return nil, again, a.conflict(ErrIncoming)
	}
	if err := a.refuseDirectories(entries); err != nil {
		return nil, again, err
	}
	return entries, occupied, nil
}

// vanished goes on if the directory has been removed meanwhile.
func (a *attempt) vanished(err error) (outcome, error) {
	if missing(err) {
		return again, nil
	}
	return again, err
}

// notDirectory is what the system says of a path that is to be a directory and is not,
// here also of a link to one.
func notDirectory(path string) error {
	return &nodeerror.Error{Code: "ENOTDIR", Syscall: "scandir", Path: path}
}

// judge reads every record before anything is changed, and ends with a conflict at the
// first one that is fresh (§4.C). The other names come back unread.
func (a *attempt) judge(names []string) ([]entry, error) {
	entries := make([]entry, len(names))
	for i, name := range names {
		entries[i] = entry{name: name}
		if !isRecordName(name) {
			continue
		}
		e := a.read(a.dir, name)
		if e.kind == record && !a.stale(e, e.mtime) {
			a.holder = e
			return nil, a.conflict(ErrHeld, e.process())
		}
		entries[i] = e
	}
	return entries, nil
}

// withdraw removes this participant's record, also if another has just moved it aside, and
// then the directory if nothing else is in it. A directory that had no record of ours may
// be a rival's that has just made it.
func (a *attempt) withdraw() {
	path := a.join(a.dir, a.record)
	err := a.filesystem.Unlink(path)
	if missing(err) {
		err = a.filesystem.Unlink(path + quarantineSuffix)
	}
	if err == nil {
		_ = a.filesystem.Rmdir(a.dir)
	}
	a.doubt = false
}

// park waits before something is tried for the n-th time again.
func (a *attempt) park(n int) error { return lease.Wait(a.ctx, a.clock, a.backoff(n)) }
