//go:build unix

package lockfile

const defaultFiletime = Ctime
