// Package benchmark measures how long it takes to wait for a lock, and what it costs, among
// real processes. Node and another Go library are measured beside it, so it is a module of
// its own, on which the library does not depend.
//
// Run "npm ci" in conformance/node first, and then, in this directory,
//
//	go test -bench 'HandOff|Contention|Idle|Uncontended' -benchtime 1x
//
// The processes are this test, and participant.js of this directory.
package benchmark
