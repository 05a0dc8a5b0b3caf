//go:build unix

package filesystem

import (
	"path"
	"strings"
)

// checksRoot says that realpath looks at the root too.
const checksRoot = false

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
