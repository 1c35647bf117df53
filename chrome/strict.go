package chrome

import (
	"math/bits"
	"unicode/utf8"
)

// appendMembers appends raw members of an object (what timeline.Args stores) so
// that the document stays strict JSON on one line, whatever they came from: text
// that is fine is copied as it is; control characters, bad UTF-8, bad escapes
// and words like NaN are mended, and what is not a list of members at all becomes
// the string "malformed". ok is false if anything but white space was changed.
func appendMembers(dst, raw []byte) (out []byte, ok bool) {
	if len(raw) == 0 {
		return dst, true
	}
	if strictMembers(raw) {
		return append(dst, raw...), true
	}
	m := WalkMembers(raw)
	for m.Next() {
	}
	// WalkMembers would take an object with its braces as well.
	first := skipSpace(raw, 0)
	if m.Broken() || skipSpace(raw, m.at) < len(raw) || first < len(raw) && raw[first] == '{' {
		dst = append(dst, `"malformed": "`...)
		dst, _ = appendText(dst, raw)
		return append(dst, '"'), false
	}
	return appendTokens(dst, raw)
}

// appendValue appends one raw value with a space after ':' and ',' and none
// elsewhere, mended like members. What is not one value becomes a string.
func appendValue(dst, raw []byte) (out []byte, ok bool) {
	i := skipSpace(raw, 0)
	end, s := skipValue(raw, i, 0)
	if s == short && end == len(raw) && looseScalar(raw[i:end]) {
		s = done
	}
	if s != done || skipSpace(raw, end) < len(raw) {
		dst = append(dst, '"')
		dst, _ = appendText(dst, raw)
		return append(dst, '"'), false
	}
	return appendTokens(dst, raw[i:end])
}

// appendTokens rewrites text that skipValue or WalkMembers have accepted.
func appendTokens(dst, raw []byte) (out []byte, ok bool) {
	ok = true
	for i := 0; i < len(raw); {
		switch c := raw[i]; c {
		case ' ', '\n', '\t', '\r':
			i++
		case ',', ':':
			dst = append(dst, c, ' ')
			i++
		case '{', '}', '[', ']':
			dst = append(dst, c)
			i++
		case '"':
			end, _ := skipString(raw, i)
			var good bool
			dst, good = appendMended(dst, raw[i:end])
			ok = ok && good
			i = end
		default:
			end := i + 1
			for end < len(raw) && scalarByte[raw[end]] {
				end++
			}
			if word := raw[i:end]; strictScalar(word) {
				dst = append(dst, word...)
			} else {
				dst = append(dst, '"')
				dst, _ = appendText(dst, word)
				dst = append(dst, '"')
				ok = false
			}
			i = end
		}
	}
	return dst, ok
}

// appendMended copies a raw string, quotes included, and mends it.
func appendMended(dst, s []byte) (out []byte, ok bool) {
	ok = true
	dst = append(dst, '"')
	s = s[1 : len(s)-1]
	for i := 0; ; {
		j := plainEnd(s, i)
		dst = append(dst, s[i:j]...)
		if j >= len(s) {
			return append(dst, '"'), ok
		}
		switch c := s[j]; {
		case c == '\\':
			n := escapeLen(s, j)
			if n == 0 {
				dst = append(dst, '\\', '\\')
				ok = false
				n = 1
			} else {
				dst = append(dst, s[j:j+n]...)
			}
			i = j + n
		case c < utf8.RuneSelf:
			dst = appendEscape(dst, c)
			ok = false
			i = j + 1
		default:
			n := runeLen(s, j)
			if n == 0 {
				dst = append(dst, "\uFFFD"...)
				ok = false
				n = 1
			} else {
				dst = append(dst, s[j:j+n]...)
			}
			i = j + n
		}
	}
}

// escapeLen is the length of the escape at s[i], 0 if JSON has no such escape.
func escapeLen(s []byte, i int) int {
	if i+1 >= len(s) {
		return 0
	}
	switch s[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if _, ok := hex4(s, i+2); ok {
			return 6
		}
	}
	return 0
}

// strictMembers reports whether b, between braces, is a strict JSON object on one
// line in UTF-8.
func strictMembers(b []byte) bool {
	for i := strictSpace(b, 0); ; {
		if i = strictKey(b, i); i < 0 {
			return false
		}
		if i = strictValue(b, i, 0); i < 0 {
			return false
		}
		i = strictSpace(b, i)
		if i == len(b) {
			return true
		}
		if b[i] != ',' {
			return false
		}
		i = strictSpace(b, i+1)
	}
}

// strictSpace steps over blanks. Other white space is left to fail, so that an
// event stays on one line.
func strictSpace(b []byte, i int) int {
	for i < len(b) && b[i] == ' ' {
		i++
	}
	return i
}

func strictKey(b []byte, i int) int {
	if i >= len(b) || b[i] != '"' {
		return -1
	}
	if i = strictString(b, i); i < 0 {
		return -1
	}
	if i = strictSpace(b, i); i >= len(b) || b[i] != ':' {
		return -1
	}
	return strictSpace(b, i+1)
}

// strictValue returns the end of the value at b[i], -1 if it is not strict JSON.
func strictValue(b []byte, i, depth int) int {
	if i >= len(b) || depth > maxDepth {
		return -1
	}
	c := b[i]
	switch c {
	case '"':
		return strictString(b, i)
	case '{', '[':
	default:
		end := i
		for end < len(b) && scalarByte[b[end]] {
			end++
		}
		if !strictScalar(b[i:end]) {
			return -1
		}
		return end
	}
	closing := c + 2 // '}' and ']' follow their openings so in ASCII
	i = strictSpace(b, i+1)
	if i < len(b) && b[i] == closing {
		return i + 1
	}
	for {
		if c == '{' {
			if i = strictKey(b, i); i < 0 {
				return -1
			}
		}
		if i = strictValue(b, i, depth+1); i < 0 {
			return -1
		}
		if i = strictSpace(b, i); i >= len(b) {
			return -1
		}
		switch b[i] {
		case closing:
			return i + 1
		case ',':
			i = strictSpace(b, i+1)
		default:
			return -1
		}
	}
}

func strictString(b []byte, i int) int {
	// Most are short, and end with the first byte that is anything but plain.
	for i++; i+8 <= len(b); i += 8 {
		if m := special(load64(b, i)); m != 0 {
			i += bits.TrailingZeros64(m) >> 3
			if b[i] == '"' {
				return i + 1
			}
			break
		}
	}
	for {
		if i = plainEnd(b, i); i >= len(b) {
			return -1
		}
		var n int
		switch c := b[i]; {
		case c == '"':
			return i + 1
		case c == '\\':
			n = escapeLen(b, i)
		case c >= utf8.RuneSelf:
			n = runeLen(b, i)
		}
		if n == 0 {
			return -1
		}
		i += n
	}
}

// strictScalar reports whether b is a number, true, false or null.
func strictScalar(b []byte) bool {
	switch string(b) {
	case "true", "false", "null":
		return true
	}
	i := 0
	if i < len(b) && b[i] == '-' {
		i++
	}
	whole := digitsEnd(b, i)
	if whole == i || b[i] == '0' && whole > i+1 {
		return false
	}
	i = whole
	if i < len(b) && b[i] == '.' {
		end := digitsEnd(b, i+1)
		if end == i+1 {
			return false
		}
		i = end
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		end := digitsEnd(b, i)
		if end == i {
			return false
		}
		i = end
	}
	return i == len(b)
}
