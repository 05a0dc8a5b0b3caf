//go:build unix && !linux

package exithook

// stackFault is a signal that there is on Linux only.
const stackFault = 0
