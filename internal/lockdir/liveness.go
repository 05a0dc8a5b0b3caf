package lockdir

import "github.com/seed-c461eb89/nodelock/compat/nodeerror"

// stale judges a record that had mtime when it was looked at last (§3).
//
// A process that is there proves nothing: its number may be a stranger's by now. A
// process that is not there proves that the holder is gone, if it ran on this host, and
// the name of the host is all that there is to know that by (W7).
func (l *Lock) stale(e entry, mtime int64) bool {
	if mtime == 0 {
		return true
	}
	return l.gone(e) || l.age(mtime) > l.options.Stale
}

// gone reports whether the record names this host, and a process that is not there.
func (l *Lock) gone(e entry) bool {
	return e.pid != 0 && e.host == l.options.Hostname && nodeerror.Code(l.host.Kill(e.pid)) == "ESRCH"
}

// incoming reports whether somebody may be at work in the directory who has nothing
// to show for it yet: a holder who has made it and not written his record, or a
// sweeper who has moved a record aside and not decided (§4.D). Both leave it changed
// just now.
func (l *Lock) incoming(names []string) bool {
	suspicious := len(names) == 0
	for _, name := range names {
		suspicious = suspicious || isQuarantineName(name)
	}
	if !suspicious {
		return false
	}
	stat, err := l.filesystem.Lstat(l.dir)
	return err == nil && l.age(mtimeOf(stat)) < l.options.Incoming
}
