package record

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printable returns text that does nothing to a terminal: control characters and
// bytes that are not UTF-8 become escapes as Go writes them. Line ends stay where
// lines is true. Names of kernels and processes are the program's, not ours.
func Printable(text string, lines bool) string {
	ok := func(r rune) bool { return !unicode.IsControl(r) || lines && r == '\n' }
	clean := utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return !ok(r) })
	if clean {
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
		default: // the C1 set
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		text = text[n:]
	}
	return b.String()
}

// line is Printable for what must not begin a line of its own.
func line(text string) string { return Printable(text, false) }

// plainWord are the characters that no shell takes for anything but themselves.
const plainWord = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:@%+,-="

// shellWord quotes a path so that a shell reads it as one word. What does not
// print is written in the form $'...', which bash, zsh and ksh know.
func shellWord(path string) string {
	if path != "" && strings.Trim(path, plainWord) == "" {
		return path
	}
	if line(path) == path {
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	var b strings.Builder
	b.WriteString("$'")
	for i := range len(path) {
		switch c := path[i]; {
		case c == '\'' || c == '\\':
			b.WriteString(`\` + string(c))
		case c < ' ' || c >= 0x7f:
			fmt.Fprintf(&b, `\%03o`, c) // of fixed length, unlike \x
		default:
			b.WriteByte(c)
		}
	}
	return b.String() + "'"
}
