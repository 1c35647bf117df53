package chrome

import (
	"bytes"
	"unicode/utf8"
)

// mended is the set of what had to be mended in a value.
type mended uint8

const (
	mendedQuote mended = 1 << iota
	mendedControl
	mendedUTF8
	mendedEscape
	mendedNumber
	mendedComma
)

var mendedRules = [...]struct{ rule, text string }{
	{RuleQuote, "a quote inside a string was not escaped"},
	{RuleControl, "a string holds a raw control character"},
	{RuleUTF8, "bytes that are not UTF-8 were replaced"},
	{RuleEscape, "a backslash escapes nothing"},
	{RuleNumber, "a value that is no JSON number became text"},
	{RuleComma, "a comma too many or missing inside an event"},
}

// mender rewrites a value that is almost JSON as strict JSON.
type mender struct {
	b     []byte
	final bool // nothing comes behind b
	short bool // b ends inside the value
	array bool // the value is an element of an array
	what  mended
	out   []byte
}

// maxMend is the largest string that a mender looks for the end of, bytes.
const maxMend = 1 << 20

// mendEvent mends the event at l.text[i], reads it, and returns its end there, or
// where it cannot be read.
func (l *lexer) mendEvent(i int, final bool) (int, state) {
	b := l.text[:l.limit]
	failed, st := skipValue(b, i, 0)
	if st == short && (!final || len(b)-i > maxMend) {
		if final {
			return failed, wrong
		}
		return i, short
	}
	m := mender{b: b, final: final, out: l.out[:0]}
	end := m.value(i, 0)
	l.out = m.out[:0]
	switch {
	case m.short && !final:
		return i, short
	case end < 0:
		return max(failed, i), wrong
	}
	off := len(l.text)
	l.text = append(l.text, m.out...)
	if l.event(l.text, off) < 0 {
		return end, wrong
	}
	for k, r := range mendedRules {
		if m.what&(1<<k) != 0 {
			l.note(r.rule, r.text, i)
		}
	}
	l.finish(l.text, i)
	return end, done
}

func (m *mender) value(i, depth int) int {
	if i = skipSpace(m.b, i); i >= len(m.b) {
		m.short = true
		return -1
	}
	if depth > maxDepth {
		return -1
	}
	switch c := m.b[i]; c {
	case '"':
		return m.text(i, false)
	case '{', '[':
		return m.container(i, depth)
	}
	start := i
	for i < len(m.b) && scalarByte[m.b[i]] {
		i++
	}
	word := m.b[start:i]
	switch {
	case i == len(m.b):
		m.short = true
		return -1
	case len(word) == 0:
		return -1
	case strictScalar(word):
		m.out = append(m.out, word...)
	default:
		m.what |= mendedNumber
		m.out = append(m.out, '"')
		m.out, _ = appendText(m.out, word)
		m.out = append(m.out, '"')
	}
	return i
}

func (m *mender) container(i, depth int) int {
	open := m.b[i]
	closing := open + 2
	m.out = append(m.out, open)
	i++
	first, comma := true, false
	for {
		if i = skipSpace(m.b, i); i >= len(m.b) {
			m.short = true
			return -1
		}
		c := m.b[i]
		if c == closing {
			if comma {
				m.what |= mendedComma
			}
			m.out = append(m.out, closing)
			return i + 1
		}
		if c == ',' {
			if comma || first {
				m.what |= mendedComma
			}
			comma = true
			i++
			continue
		}
		if !first {
			if !comma {
				m.what |= mendedComma
			}
			m.out = append(m.out, ", "...)
		}
		first, comma = false, false
		if open == '{' {
			if c != '"' {
				return -1
			}
			if i = m.text(i, true); i < 0 {
				return -1
			}
			if i = skipSpace(m.b, i); i >= len(m.b) {
				m.short = true
				return -1
			}
			if m.b[i] != ':' {
				return -1
			}
			m.out = append(m.out, ": "...)
			i++
		}
		m.array = open == '['
		if i = m.value(i, depth+1); i < 0 {
			return -1
		}
	}
}

// text mends a string: it ends at the first quote behind which the text goes on
// as it must behind a key or a value.
func (m *mender) text(i int, key bool) int {
	start, array := i+1, m.array
	for q := start; ; q++ {
		k := bytes.IndexByte(m.b[q:min(len(m.b), start+maxMend)], '"')
		if k < 0 {
			m.short = len(m.b) < start+maxMend
			return -1
		}
		q += k
		slashes := 0
		for j := q; j > start && m.b[j-1] == '\\'; j-- {
			slashes++
		}
		ends, short := m.endsHere(q+1, key, slashes&1 == 1, array)
		if short && !m.final {
			m.short = true
			return -1
		}
		if ends {
			m.content(m.b[start:q])
			return q + 1
		}
		// A string that goes on over the beginning of another event is none.
		if j := skipSpaceBack(m.b, q); j > start && m.b[j-1] == '{' && followsEvent(m.b, j-1) && beginsEvent(m.b, j-1) {
			return -1
		}
	}
}

// endsHere reports whether a string may end before b[i]. Behind a quote that is
// escaped, only a further member is taken for the end: a path that ends in a
// backslash.
func (m *mender) endsHere(i int, key, escaped, array bool) (ends, short bool) {
	if i = skipSpace(m.b, i); i >= len(m.b) {
		return false, true
	}
	switch c := m.b[i]; {
	case key:
		return c == ':' && !escaped, false
	case c == ',':
		return m.memberAt(i+1, array, escaped)
	case escaped:
		return false, false
	case c == '}' || c == ']':
		if i = skipSpace(m.b, i+1); i >= len(m.b) {
			return true, true
		}
		c = m.b[i]
		return c == ',' || c == '}' || c == ']', false
	}
	return false, false
}

// memberAt reports whether a key and its colon, or a further element of an array,
// stand at b[i].
func (m *mender) memberAt(i int, array, escaped bool) (is, short bool) {
	if i = skipSpace(m.b, i); i >= len(m.b) {
		return false, true
	}
	switch c := m.b[i]; {
	case c == '"':
		q := bytes.IndexByte(m.b[i+1:min(len(m.b), i+200)], '"')
		if q < 0 {
			return false, len(m.b) < i+200
		}
		j := skipSpace(m.b, i+q+2)
		if j >= len(m.b) {
			return false, true
		}
		return m.b[j] == ':' || array && !escaped && (m.b[j] == ',' || m.b[j] == ']'), false
	case !array && (c == '}' || c == ','):
		return true, false // a comma too many
	case array && !escaped && (c == '{' || c == '[' || c-'0' <= 9 || c == '-' || c == 't' || c == 'f' || c == 'n' || c == ']'):
		return true, false
	}
	return false, false
}

// content appends the inside of a string, mended, with its quotes.
func (m *mender) content(s []byte) {
	m.out = append(m.out, '"')
	for i := 0; i < len(s); {
		j := plainEnd(s, i)
		m.out = append(m.out, s[i:j]...)
		if j >= len(s) {
			break
		}
		n := 1
		switch c := s[j]; {
		case c == '\\':
			if n = escapeLen(s, j); n == 0 {
				m.what |= mendedEscape
				m.out = append(m.out, '\\', '\\')
				n = 1
			} else {
				m.out = append(m.out, s[j:j+n]...)
			}
		case c == '"':
			m.what |= mendedQuote
			m.out = append(m.out, '\\', '"')
		case c < utf8.RuneSelf:
			m.what |= mendedControl
			m.out = appendEscape(m.out, c)
		default:
			if n = runeLen(s, j); n == 0 {
				m.what |= mendedUTF8
				m.out = append(m.out, "\uFFFD"...)
				n = 1
			} else {
				m.out = append(m.out, s[j:j+n]...)
			}
		}
		i = j + n
	}
	m.out = append(m.out, '"')
}

// eventKeys are keys that an event begins with.
var eventKeys = map[string]bool{
	"ph": true, "cat": true, "name": true, "pid": true, "tid": true, "ts": true, "dur": true, "id": true, "args": true,
}

// beginsEvent reports whether an event seems to begin at b[i], which is '{'.
func beginsEvent(b []byte, i int) bool {
	i = skipSpace(b, i+1)
	if i >= len(b) || b[i] != '"' {
		return false
	}
	rest := b[i+1 : min(len(b), i+7)]
	q := bytes.IndexByte(rest, '"')
	return q > 0 && eventKeys[string(rest[:q])]
}

// nextEvent finds where the next event seems to begin from b[i] on: behind a
// brace and a comma. -1: nowhere.
func nextEvent(b []byte, i int) int {
	for {
		k := bytes.IndexByte(b[min(i, len(b)):], '{')
		if k < 0 {
			return -1
		}
		i += k
		if followsEvent(b, i) && beginsEvent(b, i) {
			return i
		}
		i++
	}
}

// followsEvent reports whether a brace and a comma stand before b[i].
func followsEvent(b []byte, i int) bool {
	i = skipSpaceBack(b, i)
	if i == 0 || b[i-1] != ',' {
		return false
	}
	i = skipSpaceBack(b, i-1)
	return i > 0 && b[i-1] == '}'
}

func skipSpaceBack(b []byte, i int) int {
	for i > 0 && (b[i-1] == ' ' || b[i-1] == '\n' || b[i-1] == '\t' || b[i-1] == '\r') {
		i--
	}
	return i
}
