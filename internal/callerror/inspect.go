package callerror

import (
	"fmt"
	"strings"
	"unicode/utf16"

	"github.com/seed-c461eb89/nodelock/internal/printable"
)

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
		case printable.IsControl(r):
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
