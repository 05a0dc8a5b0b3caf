package main

// rows are the rows of the contracts, in a few words. Each must be shown by at least
// one recording.
var rows = []struct{ api, id, says string }{
	{"lockfile", "L1", "a lock is an O_EXCL open and a close whose error is ignored"},
	{"lockfile", "L2", "an open error other than EEXIST is returned at once"},
	{"lockfile", "L3", "a held lock is polled with wait, else the open's EEXIST"},
	{"lockfile", "L4", "the wait starts once and sleeps min(wait, pollPeriod)"},
	{"lockfile", "L5", "pollPeriod: 100 ms by default, 1 ms at the least"},
	{"lockfile", "L6", "retries: more rounds after any error, each with the whole wait"},
	{"lockfile", "L7", "stale when age > stale; the future never is"},
	{"lockfile", "L8", "takeover: .STALE, look again, unlink, link, unlink"},
	{"lockfile", "L9", "a lock that vanished: no more stale checks in this call"},
	{"lockfile", "L10", "any other stat error is returned"},
	{"lockfile", "L11", "takeover whose unlink fails: the error, .STALE stays"},
	{"lockfile", "L12", "takeover whose link fails: the error, .STALE goes"},
	{"lockfile", "L13", ".STALE obeys the same options, and can be taken over"},
	{"lockfile", "L14", "refreshed under .STALE: wait again, .STALE stays"},
	{"lockfile", "L15", "exit tracks what open created, under the path given"},
	{"lockfile", "L16", "unlock: forget, unlink; an error other than ENOENT is returned"},
	{"lockfile", "L17", "unlockSync: unlink, errors suppressed, forget"},
	{"lockfile", "L18", "check: open for reading, fstat where stale is given"},
	{"lockfile", "L19", "checkSync: as check; wait is an error"},
	{"lockfile", "L20", "lockSync: takeover without .STALE; stale rounded up to seconds"},
	{"lockfile", "L21", "lockSync retries at once, after any error"},
	{"lockfile", "L22", "filetime ctime or mtime, switched at run time"},
	{"lockfile", "L23", "exit unlinks what is tracked"},
	{"lockfile", "L24", "calls write into the options object"},
	{"lockfile", "L25", "paths are used as given"},
	{"lockfile", "L26", "the same process contends like another"},
	{"lockfile", "L27", "a symlink is a held lock; check follows it"},
	{"lockfile", "L28", "negative values"},
}
