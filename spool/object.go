package spool

import (
	"strconv"
	"unicode/utf8"
)

// object writes JSON as package encoding/json does, which is a heavy guest: its types
// and what it learns of ours are memory that the traced process touches while it waits
// for the agent. Fields go through it in the order of their struct; TestEncode holds
// the two against each other.
type object struct {
	b     []byte
	begun bool
}

func newObject() object { return object{b: append(make([]byte, 0, 512), '{')} }

func (o *object) end() []byte { return append(o.b, '}') }

func (o *object) key(name string) {
	if o.begun {
		o.b = append(o.b, ',')
	}
	o.begun = true
	o.b = append(appendString(o.b, name), ':')
}

func (o *object) text(name, v string) {
	o.key(name)
	o.b = appendString(o.b, v)
}

func (o *object) number(name string, v int64) {
	o.key(name)
	o.b = strconv.AppendInt(o.b, v, 10)
}

func (o *object) count(name string, v uint64) {
	o.key(name)
	o.b = strconv.AppendUint(o.b, v, 10)
}

func (o *object) yes(name string, v bool) {
	o.key(name)
	o.b = strconv.AppendBool(o.b, v)
}

// texts writes a list; one that is nil is null.
func (o *object) texts(name string, list []string) {
	o.key(name)
	o.b = appendStrings(o.b, list)
}

func (o *object) raw(name string, v []byte) {
	o.key(name)
	o.b = append(o.b, v...)
}

func appendStrings(b []byte, list []string) []byte {
	if list == nil {
		return append(b, "null"...)
	}
	b = append(b, '[')
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, s)
	}
	return append(b, ']')
}

const hex = "0123456789abcdef"

func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			switch {
			case r == utf8.RuneError && n == 1:
				b = append(b, `\ufffd`...)
			case r == '\u2028' || r == '\u2029':
				b = append(b, `\u202`...)
				b = append(b, hex[r&0xf])
			default:
				b = append(b, s[i:i+n]...)
			}
			i += n
			continue
		}
		i++
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c == '\b':
			b = append(b, `\b`...)
		case c == '\f':
			b = append(b, `\f`...)
		case c == '\n':
			b = append(b, `\n`...)
		case c == '\r':
			b = append(b, `\r`...)
		case c == '\t':
			b = append(b, `\t`...)
		case c < ' ' || c == '<' || c == '>' || c == '&':
			b = append(b, `\u00`...)
			b = append(b, hex[c>>4], hex[c&0xf])
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}
