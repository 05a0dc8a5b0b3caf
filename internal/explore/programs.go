package explore

import (
	"context"

	"github.com/seed-c461eb89/nodelock/internal/lockfile"
	"github.com/seed-c461eb89/nodelock/internal/properlockfile"
)

// The lock that all programs here are about.
const (
	target   = "a"
	lockPath = "a.lock"
)

// properLockfile is a program that locks with proper-lockfile, holds the lock and
// releases it.
func properLockfile(o properlockfile.Options) func(*Process) {
	return func(p *Process) {
		e := properlockfile.New(p.System, p.System, p.System)
		p.Contend()
		o := o
		o.OnCompromised = p.Lose
		lease, err := e.Lock(context.Background(), target, &o)
		if err != nil {
			p.End(err)
			return
		}
		_ = p.Hold(context.Background(), holdTime)
		p.Release()
		p.End(lease.NodeRelease())
	}
}

// lockfileLock is a program that locks with lockfile's asynchronous lock, or with
// lockSync.
func lockfileLock(sync bool, o lockfile.Options) func(*Process) {
	return func(p *Process) {
		e := lockfile.New(p.System, p.System, p.System, lockfile.Ctime)
		p.Contend()
		o := o
		var err error
		if sync {
			_, err = e.LockSync(lockPath, &o)
		} else {
			_, err = e.Lock(context.Background(), lockPath, &o)
		}
		if err != nil {
			p.End(err)
			return
		}
		_ = p.Hold(context.Background(), holdTime)
		p.Release()
		if sync {
			e.UnlockSync(lockPath)
		} else {
			err = e.Unlock(lockPath)
		}
		p.End(err)
	}
}

// lockfileUnlock is a program that releases the lock that is there in the beginning: it
// is its owner, who took his time.
func lockfileUnlock(p *Process) {
	e := lockfile.New(p.System, p.System, p.System, lockfile.Ctime)
	p.Release()
	p.End(e.Unlock(lockPath))
}
