// Package printable makes text fit to be printed: names that come from users and from disk
// do nothing to a terminal.
package printable

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Text escapes a name, or a text that has names in it: C0 and C1 control characters, DEL and
// bytes that are not valid UTF-8 become \xNN. Everything else, a backslash
// included, stays as it is, so that two names may print alike: what is printed is for
// people and does not name a file.
func Text(s string) string {
	if !needsText(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case IsControl(r):
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			b.WriteString(s[i : i+size])
		}
		i += size
	}
	return b.String()
}

func needsText(s string) bool {
	for i, r := range s {
		if IsControl(r) || r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD") {
			return true
		}
	}
	return false
}

// IsControl reports whether r is a control character: C0, DEL or C1.
func IsControl(r rune) bool { return r < 0x20 || r >= 0x7f && r < 0xa0 }
