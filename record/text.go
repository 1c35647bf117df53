package record

import (
	"fmt"
	"strings"

	"github.com/flagos-ai/flagos-trace/internal/plain"
)

// Printable is plain.Text. Names of kernels and processes are the program's, not ours.
func Printable(text string, lines bool) string { return plain.Text(text, lines) }

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
