package properlockfile

import "time"

// A Lease is a lock that was taken: what Node's release function knows.
type Lease struct {
	engine *Engine
	settings
	file      string
	path      string
	precision precision

	// The rest is guarded by the engine's mutex.

	// listed says that the lock is what is held for its file, and no other is.
	listed bool
	// armed says that the pacemaker is set, and rules by what its heartbeat goes.
	armed bool
	// released says that Node counts the lock as released, and over that nothing happens
	// to it any more. They differ for a lock whose release ended another (see Release).
	released, over bool

	order     uint64
	pacemaker *pacemaker
	rules     *settings
	delay     time.Duration // until the next heartbeat; 0: as the rules say
	// mtime is what the directory's is to be, and lastUpdate when it was set, in ms.
	mtime, lastUpdate int64
	// err is why the last update failed (for 1.2.0), and once it is over, why it ended.
	err  error
	done chan struct{}
}

// File returns the file that is locked, resolved.
func (l *Lease) File() string { return l.file }

// Path returns where the lock's directory is.
func (l *Lease) Path() string { return l.path }

// Done returns a channel that is closed when the lock has ended.
func (l *Lease) Done() <-chan struct{} {
	l.engine.mutex.Lock()
	defer l.engine.mutex.Unlock()
	if l.done == nil {
		l.done = make(chan struct{})
		if l.over {
			close(l.done)
		}
	}
	return l.done
}

// Err returns nil, or why the lock has ended.
func (l *Lease) Err() error {
	l.engine.mutex.Lock()
	defer l.engine.mutex.Unlock()
	if !l.over {
		return nil
	}
	return l.err
}

// Release gives the lock back (P14, P15). Like Node's it removes its own directory, but
// ends what is held for the file by now, be it another lock (P2): that one is not
// renewed any more, and its directory stays.
func (l *Lease) Release() error {
	e := l.engine
	e.mutex.Lock()
	if l.released {
		e.mutex.Unlock()
		return ErrReleased
	}
	current := e.current(l)
	if current == nil {
		e.mutex.Unlock()
		return ErrNotAcquired
	}
	e.release(current)
	e.end(l, ErrReleased)
	e.mutex.Unlock()
	return remove(l.files, l.path)
}

// Unlock releases the lock that is held for file, and removes the directory where o
// says that the lock is (P16).
func (e *Engine) Unlock(file string, o *Options) error {
	files := e.callsOf(o)
	file, err := e.resolve(files, file, o)
	if err != nil {
		return err
	}
	e.mutex.Lock()
	current := e.held[o.Contract][file]
	if current == nil {
		e.mutex.Unlock()
		return ErrNotAcquired
	}
	e.release(current)
	e.mutex.Unlock()
	return remove(files, o.lockPath(file))
}

// UnlockSync is Unlock as a synchronous call (P18).
func (e *Engine) UnlockSync(file string, o *Options) error {
	if o.refusesRetries(false) {
		return ErrSyncRetries
	}
	return e.Unlock(file, o)
}

// current returns the lock that is held for the file of l: l itself, or another that has
// taken its place, or nil.
func (e *Engine) current(l *Lease) *Lease {
	if l.listed {
		return l
	}
	return e.held[l.contract][l.file]
}

// release ends a lock that is held.
func (e *Engine) release(l *Lease) {
	l.released = true
	e.end(l, ErrReleased)
}
