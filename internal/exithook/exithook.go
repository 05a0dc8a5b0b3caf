// Package exithook runs clean-up when the process is about to end.
package exithook

// A Cleaner has something to undo before the process ends. Clean may be called from
// any goroutine, at most once for one end of the process, and must not block.
type Cleaner interface{ Clean() }
