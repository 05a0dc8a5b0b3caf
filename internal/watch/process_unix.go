//go:build unix

package watch

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/seed-c461eb89/nodelock/internal/nodetime"
)

// Process watches for everything in this process that waits.
var Process Notifier

// linger is for how long a session is kept that nobody uses: those who wait for a lock in
// turns begin and end a watch each time.
const linger = 100 * time.Millisecond

// A Notifier is a [Watcher] of this system. The zero value is one. It uses nothing of the
// system while there is no watch, and for a moment after.
type Notifier struct {
	mutex   sync.Mutex
	current *session
}

// A session has one watcher of fsnotify's.
type session struct {
	owner *Notifier
	open  sync.Once
	// notify and err come of the opening.
	notify *fsnotify.Watcher
	err    error

	// calling is held while fsnotify is called, which has a lock of its own around the same
	// system calls: nothing waits here that would not wait there. It is not held by the
	// goroutine that takes fsnotify's events, since fsnotify may be waiting for that one.
	calling sync.Mutex

	// The rest is guarded by the owner's mutex.

	users int
	idle  *time.Timer
	// paths has the watches of each path that is watched.
	paths map[string]map[*watch]struct{}
	// spent are paths whose watches have fired, which fsnotify may watch still. None of them
	// is in paths.
	spent map[string]struct{}
}

type watch struct {
	session *session
	path    string
	fired   chan struct{}
}

// Watch implements [Watcher].
//
// Another watch of the same path may be there already. Then what is at the path now is what
// that one watches, or it is about to fire, and this one with it.
func (n *Notifier) Watch(path string) (Watch, error) {
	s := n.enter()
	s.open.Do(s.start)
	if s.err != nil {
		n.leave(s)
		return nil, s.err
	}
	w := &watch{session: s, path: path, fired: make(chan struct{})}
	s.calling.Lock()
	defer s.calling.Unlock()
	n.mutex.Lock()
	first := s.paths[path] == nil
	if first {
		s.paths[path] = map[*watch]struct{}{}
	}
	s.paths[path][w] = struct{}{}
	spent := s.takeSpent()
	n.mutex.Unlock()
	s.forget(spent)
	if first {
		if err := s.notify.Add(path); err != nil {
			n.mutex.Lock()
			delete(s.paths, path)
			n.mutex.Unlock()
			n.leave(s)
			return nil, err
		}
	}
	return w, nil
}

func (n *Notifier) enter() *session {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	s := n.current
	if s == nil {
		s = &session{owner: n, paths: map[string]map[*watch]struct{}{}, spent: map[string]struct{}{}}
		n.current = s
	}
	s.users++
	if s.idle != nil {
		s.idle.Stop()
	}
	return s
}

func (n *Notifier) leave(s *session) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if s.users--; s.users == 0 {
		s.idle = time.AfterFunc(linger, s.end)
	}
}

// start opens fsnotify's watcher.
func (s *session) start() {
	if s.notify, s.err = fsnotify.NewWatcher(); s.err == nil {
		go s.listen()
	}
}

// end closes a session that has no user. The next one has a session of its own by then.
func (s *session) end() {
	n := s.owner
	n.mutex.Lock()
	over := s.users == 0 && n.current == s
	if over {
		n.current = nil
	}
	n.mutex.Unlock()
	if over && s.notify != nil {
		_ = s.notify.Close()
	}
}

// listen fires watches until the session is closed. An error may have cost an event. If it
// was many, everything fires; else whoever waits finds out when it looks again.
func (s *session) listen() {
	for {
		select {
		case e, ok := <-s.notify.Events:
			if !ok {
				return
			}
			s.owner.mutex.Lock()
			s.fire(e.Name)
			s.fire(filepath.Dir(e.Name))
			s.owner.mutex.Unlock()
		case err, ok := <-s.notify.Errors:
			if !ok {
				return
			}
			if errors.Is(err, fsnotify.ErrEventOverflow) {
				s.fireAll()
			}
		}
	}
}

func (s *session) fireAll() {
	s.owner.mutex.Lock()
	defer s.owner.mutex.Unlock()
	for path := range s.paths {
		s.fire(path)
	}
}

// fire fires the watches of a path. What is there next is watched anew.
func (s *session) fire(path string) {
	watches := s.paths[path]
	if watches == nil {
		return
	}
	for w := range watches {
		close(w.fired)
	}
	delete(s.paths, path)
	s.spent[path] = struct{}{}
}

// takeSpent returns the spent paths, which are so no longer. It is called in the same
// section of the owner's mutex in which a path gets a watch: else that path could be spent
// in between, stay so, and be forgotten later although it is watched.
func (s *session) takeSpent() []string {
	spent := slices.Collect(maps.Keys(s.spent))
	clear(s.spent)
	return spent
}

// forget has fsnotify forget paths. It has forgotten those by itself that were removed or
// renamed.
func (s *session) forget(paths []string) {
	for _, path := range paths {
		_ = s.notify.Remove(path)
	}
}

// Await implements [Watch].
func (w *watch) Await(ctx context.Context, d time.Duration) (bool, error) {
	timer := time.NewTimer(nodetime.Delay(d))
	defer timer.Stop()
	select {
	case <-w.fired:
		return true, nil
	case <-timer.C:
		return false, nil
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
}

// Close implements [Watch].
func (w *watch) Close() {
	s, n := w.session, w.session.owner
	s.calling.Lock()
	n.mutex.Lock()
	if watches := s.paths[w.path]; watches != nil {
		if delete(watches, w); len(watches) == 0 {
			delete(s.paths, w.path)
			s.spent[w.path] = struct{}{}
		}
	}
	spent := s.takeSpent()
	n.mutex.Unlock()
	s.forget(spent)
	s.calling.Unlock()
	n.leave(s)
}
