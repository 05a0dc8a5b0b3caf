package explore

import (
	"context"
	"time"

	"github.com/seed-c461eb89/nodelock/internal/exithook"
	"github.com/seed-c461eb89/nodelock/internal/filesystem"
	"github.com/seed-c461eb89/nodelock/internal/mutex"
)

// The methods that follow are those of the mutexes' filesystem.

// TryGuard opens the directory and locks it in one step: nobody can tell that it was
// opened before.
func (p *Process) TryGuard(directory string) (filesystem.Handle, error) {
	a := p.ask(request{call: callTryGuard, path: directory})
	switch a.code {
	case "":
		return a.handle, nil
	case "EAGAIN":
		return 0, filesystem.ErrGuarded
	}
	return 0, p.failed(a.code, request{call: callTryGuard, path: directory})
}

// Unguard ends the guard.
func (p *Process) Unguard(h filesystem.Handle) error {
	_, err := p.call(request{call: callUnguard, handle: h})
	return err
}

// Pin opens what is at path.
func (p *Process) Pin(path string) (filesystem.Handle, error) { return p.open(callPin, path) }

// PinDirectory opens the directory at path.
func (p *Process) PinDirectory(path string) (filesystem.Handle, error) {
	return p.open(callPin, path)
}

// FstatIdentity describes and identifies what h has open.
func (p *Process) FstatIdentity(h filesystem.Handle) (filesystem.Stat, filesystem.Identity, error) {
	return p.identity(request{call: callFstat, handle: h})
}

// LstatIdentity describes and identifies what is at path.
func (p *Process) LstatIdentity(path string) (filesystem.Stat, filesystem.Identity, error) {
	return p.identity(request{call: callLstat, path: path})
}

func (p *Process) identity(r request) (filesystem.Stat, filesystem.Identity, error) {
	a, err := p.call(r)
	if err != nil {
		return filesystem.Stat{}, filesystem.Identity{}, err
	}
	return statOf(&a), filesystem.Identity{File: [2]uint64{uint64(a.inode)}}, nil
}

// Futimes touches what h has open.
func (p *Process) Futimes(h filesystem.Handle, ms int64) error {
	_, err := p.call(request{call: callFutimes, handle: h, ms: ms})
	return err
}

// RenameNoReplace renames, and replaces nothing.
func (p *Process) RenameNoReplace(from, to string) error {
	_, err := p.call(request{call: callRenameNoReplace, path: from, dest: to})
	return err
}

// The options of the mutexes. Settle is what the public packages have.
var mutexOptions = mutex.Options{
	Stale: staleTime, Update: staleTime / 2, Poll: staleTime / 2, Settle: 5 * time.Millisecond,
}

// plainRename is a filesystem that cannot rename without replacing.
type plainRename struct{ *Process }

func (p plainRename) RenameNoReplace(from, to string) error {
	return p.failed("EINVAL", request{call: callRenameNoReplace, path: from, dest: to})
}

// mutexLock is a program that locks with a Mutex, waiting or not.
func mutexLock(t mutex.Target, wait bool, omit mutex.Part) func(*Process) {
	return mutexOn(func(p *Process) mutex.Filesystem { return p }, t, wait, omit)
}

func mutexOn(files func(*Process) mutex.Filesystem, t mutex.Target, wait bool, omit mutex.Part) func(*Process) {
	return func(p *Process) {
		e := mutex.New(files(p), p.Clock(), exithook.None{})
		e.Random = func() float64 { return 1 }
		e.Omit = omit
		m := e.Mutex(t, mutexOptions)
		p.Contend()
		lock := m.TryLock
		if wait {
			lock = m.Lock
		}
		l, err := lock(context.Background())
		if err != nil {
			p.End(err)
			return
		}
		if err := p.Hold(l.Context(), holdTime); err != nil {
			p.Lose(err)
		}
		p.Release()
		p.End(l.Release())
	}
}
