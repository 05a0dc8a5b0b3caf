package lockdir

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestPrintable(t *testing.T) {
	for name, want := range map[string]string{
		"plain":                      "plain",
		"":                           "",
		"\x00\x1b[31m\x1f":           `\x00\x1b[31m\x1f`,
		"\x7f\u0080\u009f":           `\x7f\x80\x9f`,
		"\u00a0\u00ff café 😀 \ufffd": "\u00a0\u00ff café 😀 \ufffd",
		"\xff\xa0":                   `\xff\xa0`,
		"\x80\x9f":                   `\x{80}\x{9f}`,
		"\xc2":                       `\xc2`,
		`C:\path\n`:                  `C:\path\n`,
		`\x`:                         `\x`,
		`\x0`:                        `\x0`,
		`\x0G`:                       `\x0G`,
		`\x0A`:                       `\x0A`,
		`\x0a`:                       `\x5cx0a`,
		`\x{9f}`:                     `\x5cx{9f}`,
		`\x5cx0a`:                    `\x5cx5cx0a`,
	} {
		if got := printable(name); got != want {
			t.Errorf("printable(%q) = %s, want %s", name, got, want)
		}
	}
}

// FuzzConflictText: nothing that could be taken for anything but text is in a message,
// and different names stay different.
func FuzzConflictText(f *testing.F) {
	for _, names := range [][2]string{
		{"a", "b"}, {"\x01", `\x01`}, {"\u0080", "\x80"}, {`\x{80}`, "\x80"}, {`\`, `\\`}, {"\xff", `\xff`},
		{"\x1b]0;x\x07", "\u009b31m"}, {"\ufffd", "\xff"}, {`\x`, `\x5c`},
	} {
		f.Add(names[0], names[1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, name := range []string{a, b} {
			if got := unprintable(printable(name)); got != name {
				t.Errorf("%q is printed as %s, which reads as %q", name, printable(name), got)
			}
		}
		l := &Lock{options: Options{Retries: 5, Rounds: 20}, target: a}
		for _, err := range []error{
			l.conflict(ErrUnclearable, a, b), l.conflict(ErrDirectory, a), l.conflict(ErrNotRestored, b, "EIO"),
			l.conflict(ErrHeld, "unknown"), l.conflict(ErrIncoming), l.conflict(ErrChurn),
		} {
			text := err.Error()
			if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return r < 0x20 || r >= 0x7f && r < 0xa0 }) {
				t.Errorf("a message has in it what should be escaped: %q", text)
			}
			if !strings.HasPrefix(text, "Lock conflict: ") || !strings.Contains(text, printable(a)) {
				t.Errorf("a message reads %q", text)
			}
		}
		if one, other := l.conflict(ErrDirectory, a).Error(), l.conflict(ErrDirectory, b).Error(); a != b && one == other {
			t.Errorf("%q and %q look the same: %s", a, b, one)
		}
	})
}

// unprintable reads what printable writes: that it can be read shows that no two names
// look the same.
func unprintable(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		rest := text[i:]
		digits, braced := "", false
		if len(rest) >= 6 && strings.HasPrefix(rest, `\x{`) && rest[5] == '}' {
			digits, braced = rest[3:5], true
		} else if len(rest) >= 4 && strings.HasPrefix(rest, `\x`) {
			digits = rest[2:4]
		}
		n, err := strconv.ParseUint(digits, 16, 8)
		switch {
		case err != nil || digits != fmt.Sprintf("%02x", n):
			b.WriteByte(text[i])
			i++
		case braced:
			b.WriteByte(byte(n))
			i += 6
		case n >= 0xa0:
			b.WriteByte(byte(n))
			i += 4
		default:
			b.WriteRune(rune(n))
			i += 4
		}
	}
	return b.String()
}

// A directory may have any number of names in it; a message has not.
func TestListIsBounded(t *testing.T) {
	names := make([]string, 250)
	for i := range names {
		names[i] = fmt.Sprint("n", i)
	}
	if got := list(names[:3]); got != "n0, n1, n2" {
		t.Errorf("got %s", got)
	}
	if got := list(names); !strings.HasSuffix(got, ", n99, and 150 more") {
		t.Errorf("got …%s", got[len(got)-30:])
	}
	if got := list(names[:100]); !strings.HasSuffix(got, ", n99") {
		t.Errorf("got …%s", got[len(got)-30:])
	}
}
