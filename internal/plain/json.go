package plain

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// JSON writes a value as a JSON document, indented, in which hidden characters are
// escapes and markup is left as it is. Bytes that are not UTF-8 are U+FFFD in it: JSON
// has no form for them. Errors are w's, or about a value that JSON cannot hold.
func JSON(w io.Writer, v any, indent string) error {
	e := json.NewEncoder(escaper{w})
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	return e.Encode(v)
}

// escaper escapes what encoding/json writes as it is: it knows of C0 and of separators
// of lines only. Outside of strings the encoder writes ASCII, and it writes a document
// at once, so no character is cut in two.
type escaper struct{ w io.Writer }

func (e escaper) Write(p []byte) (int, error) {
	hidden := func(r rune) bool { return r >= 0x7f && Hidden(r) }
	text := string(p)
	if !strings.ContainsFunc(text, hidden) {
		return e.w.Write(p)
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case !hidden(r):
			b.WriteRune(r)
		case r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	if _, err := io.WriteString(e.w, b.String()); err != nil {
		return 0, err
	}
	return len(p), nil
}
