package lockdir

import "time"

// POSIX returns the platform of every system but Windows.
func POSIX() Platform {
	return Platform{Stale: 120 * time.Second, Syntax: Syntax{Separator: '/'}}
}

// Windows returns what the protocol does on Windows, with the paths of POSIX: for a
// simulated system. On Windows itself [System] has the paths too.
func Windows() Platform {
	p := POSIX()
	p.Stale, p.RetryRemoval = 60*time.Second, true
	return p
}
