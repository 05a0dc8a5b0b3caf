package nodeerror

import (
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Escape makes a name fit to be printed: C0 and C1 control characters, DEL and
// bytes that are not valid UTF-8 become \xNN. Everything else, a backslash
// included, stays as it is, so that two names may print alike: what is printed is for
// people and does not name a file.
func Escape(s string) string {
	if !needsEscape(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case isControl(r):
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			b.WriteString(s[i : i+size])
		}
		i += size
	}
	return b.String()
}

func needsEscape(s string) bool {
	for i, r := range s {
		if isControl(r) || r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD") {
			return true
		}
	}
	return false
}

func isControl(r rune) bool { return r < 0x20 || r >= 0x7f && r < 0xa0 }

// inspect prints a string as Node's errors show an argument: in the quotes that need
// no escaping if there are such, and cut short after 128 characters. (Node also
// breaks a long string after its newlines, which is not done here.)
func inspect(s string) string {
	quote := '\''
	switch {
	case !strings.ContainsRune(s, '\''):
	case !strings.ContainsRune(s, '"'):
		quote = '"'
	case !strings.ContainsRune(s, '`') && !strings.Contains(s, "${"):
		quote = '`'
	}
	var b strings.Builder
	b.WriteRune(quote)
	for _, r := range s {
		switch {
		case r == '\b':
			b.WriteString(`\b`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\f':
			b.WriteString(`\f`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\\':
			b.WriteString(`\\`)
		case r == '\'' && quote == '\'':
			b.WriteString(`\'`)
		case isControl(r):
			fmt.Fprintf(&b, `\x%02X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteRune(quote)
	return shorten(b.String())
}

// shorten cuts a string off after 128 UTF-16 code units, which are JavaScript's
// characters.
func shorten(s string) string {
	units := 0
	for i, r := range s {
		units += utf16.RuneLen(r)
		if units > 128 {
			return s[:i] + "..."
		}
	}
	return s
}
