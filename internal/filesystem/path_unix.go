//go:build unix

package filesystem

import (
	"path"
	"strings"
)

const (
	// identified says that identify tells files apart.
	identified = true
	// checksRoot says that realpath looks at the root too.
	checksRoot = false
)

// An identity tells a file from all others.
type identity struct{ device, inode uint64 }

// resolve returns p as an absolute path without ".", ".." and doubled or trailing
// slashes, p being relative to the absolute path base.
func resolve(base, p string) string {
	if strings.HasPrefix(p, "/") {
		return path.Clean(p)
	}
	return path.Clean(base + "/" + p)
}

func isAbsolute(p string) bool { return strings.HasPrefix(p, "/") }

// rootLength returns how much of an absolute path is its root.
func rootLength(string) int { return 1 }

func isSeparator(c byte) bool { return c == '/' }
