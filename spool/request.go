package spool

import "bytes"

// ParseRequest reads a Request, and reports whether the line is one: an object of
// JSON. Members that Request does not have are passed over, and not looked at closely.
// It is made for the traced process, as Reply.Encode is.
func ParseRequest(line []byte) (q Request, ok bool) {
	rest, ok := cut(line, '{')
	if !ok {
		return q, false
	}
	if end, ok := cut(rest, '}'); ok {
		return q, len(trim(end)) == 0
	}
	for {
		var key, value []byte
		if key, rest, ok = cutText(rest); !ok {
			return Request{}, false
		}
		if rest, ok = cut(rest, ':'); !ok {
			return Request{}, false
		}
		if string(key) != "command" {
			rest, ok = cutValue(rest)
		} else if value, rest, ok = cutText(rest); ok {
			q.Command = string(value)
		}
		if !ok {
			return Request{}, false
		}
		if next, more := cut(rest, ','); more {
			rest = next
			continue
		}
		if rest, ok = cut(rest, '}'); !ok || len(trim(rest)) > 0 {
			return Request{}, false
		}
		return q, true
	}
}

func trim(b []byte) []byte { return bytes.Trim(b, " \t\r\n") }

// cut takes a character off that comes next.
func cut(b []byte, c byte) (rest []byte, ok bool) {
	b = trim(b)
	if len(b) == 0 || b[0] != c {
		return b, false
	}
	return b[1:], true
}

// cutText takes a text off that comes next. Escapes in it are left as they are: no
// command and no name of a member has one.
func cutText(b []byte) (text, rest []byte, ok bool) {
	if b, ok = cut(b, '"'); !ok {
		return nil, b, false
	}
	for i := 0; i < len(b); i++ {
		switch {
		case b[i] == '\\':
			i++
		case b[i] == '"':
			return b[:i], b[i+1:], true
		case b[i] < ' ':
			return nil, b, false
		}
	}
	return nil, b, false
}

// cutValue takes any value off that comes next.
func cutValue(b []byte) (rest []byte, ok bool) {
	depth := 0
	for b = trim(b); len(b) > 0; b = trim(b) {
		switch c := b[0]; c {
		case '"':
			if _, b, ok = cutText(b); !ok {
				return b, false
			}
		case '{', '[':
			depth++
			b = b[1:]
			continue
		case '}', ']':
			depth--
			b = b[1:]
		case ',', ':':
			if depth == 0 {
				return b, false
			}
			b = b[1:]
			continue
		default:
			n := bytes.IndexAny(b, "\"{}[],: \t\r\n")
			if n < 0 {
				return b, false
			}
			b = b[n:]
		}
		if depth <= 0 {
			return b, depth == 0
		}
	}
	return b, false
}
