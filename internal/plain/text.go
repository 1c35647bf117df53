package plain

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text returns text in which control characters (C0, C1, DEL), marks of direction and
// others that are not seen, separators of lines, and bytes that are not UTF-8 are
// escapes as Go writes them. Line ends stay where lines is true.
func Text(text string, lines bool) string {
	ok := func(r rune) bool { return !Hidden(r) || lines && r == '\n' }
	if utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return !ok(r) }) {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, text[0])
		case ok(r):
			b.WriteString(text[:n])
		case strings.ContainsRune("\a\b\f\n\r\t\v", r):
			b.WriteString(strings.Trim(fmt.Sprintf("%q", r), "'"))
		case r < utf8.RuneSelf:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		text = text[n:]
	}
	return b.String()
}

// Hidden reports whether a character acts instead of being seen: a control character,
// a mark of format (among them all that turn the direction of writing), or a separator
// of lines or paragraphs.
func Hidden(r rune) bool {
	if r < utf8.RuneSelf {
		return r < ' ' || r == 0x7f
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}
