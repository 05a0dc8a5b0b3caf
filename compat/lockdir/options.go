package lockdir

import "time"

// Options are the protocol's constants (§2). The zero value has the originals; a field
// that is 0 has its original. Participants need not agree on all of them, but one that
// has a shorter Stale than another's Heartbeat takes that one's locks while they are good.
//
// A duration is cut to whole milliseconds, and must be 1 ms at the least and 36 years at
// the most. A count must be from 1 to 1000. New and NewDirectory refuse anything else
// with ERR_OUT_OF_RANGE.
type Options struct {
	// Heartbeat is how often the record of a held lock is touched. Original: 15 s.
	Heartbeat time.Duration
	// Stale is the age beyond which a record is abandoned. It must be greater than
	// Heartbeat. Original: 120 s, on Windows 60 s.
	Stale time.Duration
	// Incoming is up to which age a directory that is empty, or has a record in it
	// that was moved aside, is somebody's who is about to take it. Original: 5 s.
	Incoming time.Duration
	// Retries is how often, in one call, a directory that is not empty after all is
	// given more time, however that shows. Original: 5.
	Retries int
	// RemoveRetries is how often, in one round, a directory is given more time that
	// cannot be removed because somebody has it open. It is for Windows only.
	// Original: 5.
	RemoveRetries int
	// Rounds bounds how often a call starts over. It must be greater than Retries + 1.
	// Original: 20.
	Rounds int
	// Backoff is the first pause. Each further one is twice as long, all have 25 % of
	// jitter, and then none is longer than BackoffLimit. Originals: 50 ms, 300 ms.
	Backoff, BackoffLimit time.Duration

	// PutBack is how long a record that is missing may be on its way back (W2).
	// The protocol does not know it. Default: 1 s.
	PutBack time.Duration
	// WaitLimit is the longest pause between the attempts of AcquireWait, less its jitter.
	// The protocol does not know it. Default: 300 ms.
	WaitLimit time.Duration

	// Hostname is what the record says, and what the records of this machine's processes
	// say. It must differ from those of other machines, and containers, that use the
	// vault (W7). Default: the name of the host.
	Hostname string
}
