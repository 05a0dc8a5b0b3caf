package lockdir

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// printable makes a name from disk fit for a message (§6): C0, DEL and C1 become \xNN,
// and everything else is as it is.
//
// What the contract leaves open is decided so that no two names look the same. A byte
// that is not valid UTF-8 is \xNN too (Node never sees one), but \x{NN} from 80 to 9f,
// which are C1's. A backslash is as it is, except where it would read as the start of
// one of these: there it is \x5c. Digits are lowercase.
func printable(name string) string {
	var b strings.Builder
	for i := 0; i < len(name); {
		r, size := utf8.DecodeRuneInString(name[i:])
		switch {
		case r == utf8.RuneError && size == 1 && name[i] < 0xa0:
			fmt.Fprintf(&b, `\x{%02x}`, name[i])
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, name[i])
		case r < 0x20 || r >= 0x7f && r < 0xa0 || looksEscaped(name[i:]):
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			b.WriteString(name[i : i+size])
		}
		i += size
	}
	return b.String()
}

// looksEscaped reports whether text starts with what could be an escape: \xNN or \x{NN}.
func looksEscaped(text string) bool {
	digits, ok := strings.CutPrefix(text, `\x`)
	if !ok {
		return false
	}
	digits = strings.TrimPrefix(digits, "{")
	return len(digits) >= 2 && isHex(digits[0]) && isHex(digits[1])
}

func isHex(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' }
