// Package nodetime converts between file times and the whole milliseconds that a
// Node program sees, with Node's rounding in both directions.
//
// The rounding is part of the protocols: a time that is read one millisecond off is
// another participant's.
package nodetime

import (
	"math"
	"time"
)

// Milliseconds returns a file time as Node's stat reports it: computed in double
// precision and rounded half up to the millisecond, so that x.9995 s is the next
// whole second.
func Milliseconds(t time.Time) int64 {
	ms := float64(t.Unix())*1000 + float64(t.Nanosecond())/1e6
	return int64(math.Floor(ms + 0.5))
}

// Stored returns the file time that Node asks the system to set for a Date of ms:
// Node hands libuv seconds in a double, and libuv cuts them to the microsecond. So
// what is set for …,076 ms is often …,075.999 ms. (Not so on Windows, nor from libuv
// 1.52 on, which is Node 24's: that cuts nothing. Either reads back as ms.)
func Stored(ms int64) time.Time {
	seconds := float64(ms) / 1000
	whole := math.Trunc(seconds)
	nanoseconds := int64((seconds - whole) * 1e9)
	nanoseconds -= nanoseconds % 1000
	return time.Unix(int64(whole), nanoseconds)
}

// Delay returns how long a Node timer of d waits: whole milliseconds, and 1 ms at
// the least.
func Delay(d time.Duration) time.Duration {
	if d < time.Millisecond {
		return time.Millisecond
	}
	return d.Truncate(time.Millisecond)
}

// Duration converts whole milliseconds, and those beyond a Duration's range to the
// longest there is.
func Duration(ms int64) time.Duration {
	switch {
	case ms > math.MaxInt64/int64(time.Millisecond):
		return math.MaxInt64
	case ms < math.MinInt64/int64(time.Millisecond):
		return math.MinInt64
	}
	return time.Duration(ms) * time.Millisecond
}

// Add returns a + b, or the longest duration there is if that is beyond it. Neither is
// negative.
func Add(a, b time.Duration) time.Duration {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
