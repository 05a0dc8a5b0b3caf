package conformance

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-c461eb89/nodelock/internal/filesystem"
	"github.com/seed-c461eb89/nodelock/internal/nodetime"
	"github.com/seed-c461eb89/nodelock/internal/sim"
)

// A Call is a system call of the world: one that a trace has, with the same name and
// arguments. See FORMAT.md.
type Call struct {
	// Sys is its name: "open", "stat", and so on.
	Sys string
	// Mode is how an open opens: "wx", "r", "w" or "nofollow".
	Mode string
	Path string
	// Dest is the second path of link, rename and renameNoReplace.
	Dest string
	// FD is what close, fstat, read, write, futimes and flock are about.
	FD int
	// Mtime is what utimes and futimes set, in ms since 1970.
	Mtime int64
	// Data is what is written, and Limit how much is read at most.
	Data  string
	Limit int
	// Pid is the process that kill asks for.
	Pid int
}

// An Answer is what comes of a [Call], as far as that says anything.
type Answer struct {
	FD int
	// Type is "file", "dir", "symlink" or "fifo".
	Type         string
	Mtime, Ctime time.Time
	// Data is what was read.
	Data string
	// Names are those in a directory.
	Names []string
	// Path is what realpath returns.
	Path string
}

// Do makes a system call. The error is an [*Error].
func (w *World) Do(c Call) (Answer, error) {
	op, ok := sim.Find(c.Sys, c.Mode)
	if !ok {
		return Answer{}, fmt.Errorf("conformance: there is no call %q, %q", c.Sys, c.Mode)
	}
	call := sim.Call{Op: op, Handle: filesystem.Handle(c.FD), Path: c.Path, Dest: c.Dest, Data: c.Data}
	switch op {
	case sim.Utimes:
		call.N = c.Mtime
	case sim.Futimes:
		call.N = nodetime.Stored(c.Mtime).UnixNano()
		call.Atime = call.N
	case sim.Read:
		call.N = int64(c.Limit)
	case sim.Kill:
		call.N = int64(c.Pid)
	}
	a := w.do(call)
	if err := call.Error(&a); err != nil {
		return Answer{}, err
	}
	answer := Answer{FD: int(a.Handle)}
	switch op {
	case sim.Stat, sim.Lstat, sim.Fstat:
		answer.Type, answer.Mtime, answer.Ctime = typeNames[a.Type], time.Unix(0, a.Mtime), time.Unix(0, a.Ctime)
	case sim.Read:
		answer.Data = a.Data
	case sim.Realpath:
		answer.Path = a.Data
	case sim.Readdir:
		answer.Names = a.Names()
	}
	return answer, nil
}

// Now returns the wall clock's time.
func (w *World) Now() time.Time { return w.system.Now() }

// Wait returns after d, which is 1 ms at the least, or at once if ctx has ended.
func (w *World) Wait(ctx context.Context, d time.Duration) error { return w.system.Wait(ctx, d) }

// AfterFunc calls f in a goroutine of the world's after d, which is 1 ms at the least.
func (w *World) AfterFunc(d time.Duration, f func()) Timer { return w.system.AfterFunc(d, f) }

// A Timer is a call to come.
type Timer interface {
	// Stop prevents the call, and reports whether it was in time to.
	Stop() bool
	// Reset has the call made after d, and again if it was made already.
	Reset(d time.Duration)
}

// Random fills p as the machine's random bytes do, and Fraction returns the next of the
// numbers in [0, 1) that chance gives. Both are for lockdir only.
func (w *World) Random(p []byte) { w.system.Random(p) }

// Fraction is described with [World.Random].
func (w *World) Fraction() float64 { return w.system.Fraction() }

// Compromised records that the compromise of the lock of step of was reported.
func (w *World) Compromised(of int, err error) {
	if !w.tasks.Closed() {
		w.record(Event{Compromised: recordError(err), Of: &of})
	}
}
