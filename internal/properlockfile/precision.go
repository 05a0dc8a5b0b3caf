package properlockfile

import (
	"reflect"
	"sync"
	"sync/atomic"

	"github.com/seed-c461eb89/nodelock/internal/nodetime"
)

// A precision is that of the file times of an fs object, which the heartbeat of 4.1.2
// keeps to (P10).
type precision uint8

const (
	unknown precision = iota
	milliseconds
	seconds
)

// round returns the time that a heartbeat sets.
func (p precision) round(ms int64) int64 {
	if p == seconds {
		return wholeSecond(ms)
	}
	return ms
}

// wholeSecond rounds up to the second.
func wholeSecond(ms int64) int64 {
	over := ms % 1000
	if over > 0 {
		over -= 1000
	}
	return ms - over
}

// A knownPrecision is what an fs object remembers, and the first lock finds out.
type knownPrecision struct{ value atomic.Uint32 }

func (k *knownPrecision) get() precision {
	if k == nil {
		return unknown
	}
	return precision(k.value.Load())
}

func (k *knownPrecision) set(p precision) {
	if k != nil {
		k.value.CompareAndSwap(uint32(unknown), uint32(p))
	}
}

// maxRemembered bounds how many of the callers' fs objects are remembered. Beyond it
// they are all forgotten, and probed again when they are met.
const maxRemembered = 64

// precisions are those that the fs objects remember.
type precisions struct {
	system knownPrecision
	mutex  sync.Mutex
	others map[FS]*knownPrecision
}

// of returns what is known of an fs object; nil is the system's. One that cannot be
// compared is met for the first time each time.
func (p *precisions) of(fs FS) *knownPrecision {
	if fs == nil {
		return &p.system
	}
	if !reflect.ValueOf(fs).Comparable() {
		return nil
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if known := p.others[fs]; known != nil {
		return known
	}
	if p.others == nil || len(p.others) == maxRemembered {
		p.others = map[FS]*knownPrecision{}
	}
	known := new(knownPrecision)
	p.others[fs] = known
	return known
}

// probe finds out the mtime of a directory just made, and on the way the precision of
// file times if it is not known: a time that does not fall on a whole second is set,
// and comes back as one or does not. It lies up to 1.005 s in the future.
func (l *Lease) probe(known *knownPrecision) error {
	l.precision = known.get()
	if l.precision == unknown {
		if err := l.files.Utimes(l.path, wholeSecond(l.engine.now())+5); err != nil {
			return err
		}
	}
	stat, err := l.files.Stat(l.path)
	if err != nil {
		return err
	}
	l.mtime = nodetime.Milliseconds(stat.ModTime)
	if l.precision == unknown {
		l.precision = milliseconds
		if l.mtime%1000 == 0 {
			l.precision = seconds
		}
		known.set(l.precision)
	}
	return nil
}
