// Package filesystem is the seam between the engines and the system's files: one
// method for each system call that the protocols make.
//
// Each engine declares an interface of the methods that it calls. [OS] has them all
// and calls the system; package conformance has one for its virtual world, where every
// call can be seen, counted and made to fail.
//
// Errors are *nodeerror.Error with the code, number and text of libuv, on Windows
// with libuv's mapping of the system's errors. A failed call leaves nothing open and
// has created nothing. A path is in the error as it was given; on Windows Node mostly
// has the absolute one there.
//
// A path with a NUL in it is refused with ERR_INVALID_ARG_VALUE before any call is
// made, as by Node. On Windows paths go to the system as Node's do: absolute and
// behind \\?\, so that their length is not limited and no name means a device.
package filesystem

import "time"

// OS is the system's filesystem. Every method costs its system call: nothing is
// buffered, cached or tried twice (save that a call broken off by a signal goes on).
type OS struct{}

// A Handle is an open file.
type Handle uintptr

// A Type says what a name stands for.
type Type uint8

// The types that the protocols tell apart.
const (
	Other Type = iota
	File
	Directory
	Symlink
)

// A Stat is what the system says of a file. Times are as the filesystem stores them;
// nodetime.Milliseconds gives them as Node does.
type Stat struct {
	Type       Type
	Size       int64 // of a file, in bytes
	AccessTime time.Time
	ModTime    time.Time
	ChangeTime time.Time // on Windows NTFS's ChangeTime, as libuv reports it
}
