//go:build !(darwin || freebsd || linux || windows)

package filesystem

func reach(Handle) Reach { return ReachUnknown }
