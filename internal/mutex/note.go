package mutex

import (
	"time"

	"github.com/seed-c461eb89/nodelock/internal/filesystem"
	"github.com/seed-c461eb89/nodelock/internal/nodetime"
)

// The holder's note.
//
// A holder has the kernel's lock (flock) on its own lock, which dies with it, and says so
// in the lock's atime, which no Node program reads: the second of the mtime and a day, and
// 420,000,000 ns and the number of its process. It is set together with every mtime, and
// not before the flock is had. So whoever finds the note, and gets the flock, knows that
// the holder is dead:
//
//	holder:    open, flock, utimes (mtime, note)   …   rename, unlink, close
//	contender:                                  stat, flock: refused, the holder lives
//	contender, after the holder's end:          stat, flock: had, it is dead
//
// Where the note is not found nothing follows. Node's own calls set both times alike, or
// leave the atime as it was made; a filesystem with coarse times does not keep it; the
// readers of a directory move its atime on some mounts, but not to such a value. On a
// filesystem that is not known to be this kernel's, a flock says nothing about the holders
// of other machines and mounts: there no note is made, and none is believed.
const (
	noteAhead = 24 * time.Hour
	noteBase  = 420_000_000
	// maxPid is the highest number that Linux gives to a process.
	maxPid = 1 << 22
)

// noted returns the atime that goes with an mtime.
func noted(mtime time.Time, pid int) time.Time {
	return mtime.Truncate(time.Second).Add(noteAhead + time.Duration(noteBase+pid))
}

// noteOf returns the number of the process that the note in a lock's times names, or 0 if
// there is none.
func noteOf(s filesystem.Stat) int {
	if s.AccessTime.Unix()-s.ModTime.Unix() != int64(noteAhead/time.Second) {
		return 0
	}
	if pid := s.AccessTime.Nanosecond() - noteBase; pid > 0 && pid <= maxPid {
		return pid
	}
	return 0
}

// stamp sets the times of a lock that h has open, which is at path: to now, and with the note if the holder
// has the flock.
func (e *Engine) stamp(h filesystem.Handle, path string, now int64, flocked bool) error {
	mtime := nodetime.Stored(now)
	atime := mtime
	if flocked {
		atime = noted(mtime, e.Pid)
	}
	return e.filesystem.Futimes(h, path, atime, mtime)
}

// holderIsDead reports whether the holder of the lock, which was found as stat and id, is known to be dead. It needs a handle of its own: the one that the lock was looked
// at by is not open for reading.
func (c *contention) holderIsDead(stat filesystem.Stat, id filesystem.Identity) bool {
	files := c.engine.filesystem
	c.dead = false
	if !c.kernel || noteOf(stat) == 0 {
		return false
	}
	h, err := files.PinForFlock(c.path)
	if err != nil {
		return false
	}
	defer files.Close(h)
	// Another lock may be at the path by now.
	if _, found, err := files.FstatIdentity(h); err != nil || found != id {
		return false
	}
	c.dead = files.TryFlock(h) == nil
	return c.dead
}

// grain returns how exact a file time is, going by what it shows: a filesystem of whole
// seconds shows no fraction, one of two seconds (FAT) no odd second. A lock may be so much
// younger than it looks.
func grain(t time.Time) time.Duration {
	switch {
	case t.Nanosecond() != 0:
		return time.Duration(0)
	case t.Unix()%2 != 0:
		return time.Second
	}
	return 2 * time.Second
}
