package printable

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestText(t *testing.T) {
	for _, row := range []struct{ name, want string }{
		{"", ""},
		{"L-20250101T000000-0a1b2c3d.json", "L-20250101T000000-0a1b2c3d.json"},
		{"\x00\x07\x1f", `\x00\x07\x1f`},
		{" ~", " ~"},
		{"\x7f", `\x7f`},
		{"\u0080\u009f\u00a0", `\x80\x9f` + "\u00a0"},
		{"\x1b]0;title\x07", `\x1b]0;title\x07`},
		{"a\nb\tc\rd", `a\x0ab\x09c\x0dd`},
		{"é漢😀\ufffd", "é漢😀\ufffd"},
		{"\x80\xff", `\x80\xff`},
		{"\xc3", `\xc3`},                 // cut off
		{"\xed\xa0\x80", `\xed\xa0\x80`}, // half a surrogate pair
		{"\xc0\xaf", `\xc0\xaf`},         // overlong
		{`a\b`, `a\b`},
		{`\x07`, `\x07`}, // prints as BEL does
		{"\u2028\u202e", "\u2028\u202e"},
	} {
		if got := Text(row.name); got != row.want {
			t.Errorf("Text(%q) = %q, want %q", row.name, got, row.want)
		}
	}
}

// What is printed does nothing to a terminal, and a name that needs no escaping is
// printed as it is.
func FuzzText(f *testing.F) {
	for _, s := range []string{"", "a", "\x00", "\x7f", "\x80", "\u0085", "\xed\xa0\x80", `\x07`, "\ufffd", "é\xc3", "\xf0\x9f\x98"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		escaped := Text(s)
		if !utf8.ValidString(escaped) {
			t.Errorf("Text(%q) = %q is not UTF-8", s, escaped)
		}
		if i := strings.IndexFunc(escaped, func(r rune) bool { return r < 0x20 || r >= 0x7f && r <= 0x9f }); i >= 0 {
			t.Errorf("Text(%q) = %q has a control character at %d", s, escaped, i)
		}
		harmless := utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return r < 0x20 || r >= 0x7f && r <= 0x9f })
		if harmless != (escaped == s) {
			t.Errorf("Text(%q) = %q", s, escaped)
		}
		if again := Text(escaped); again != escaped {
			t.Errorf("Text(%q) = %q", escaped, again)
		}
	})
}
