package chrome

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Value is one raw JSON value: exactly its text. Nil is a value that is absent.
type Value []byte

// IsString reports whether the value is a JSON string.
func (v Value) IsString() bool { return len(v) > 1 && v[0] == '"' }

// Text returns the decoded text of a string, the text as it stands of anything
// else. The result is part of v, or of scratch (grown as needed) when there were
// escapes to decode; it must not become the next call's scratch, for that would
// write into v. An escape that JSON does not know stays as it is.
func (v Value) Text(scratch []byte) []byte {
	if !v.IsString() {
		return v
	}
	in := v[1 : len(v)-1]
	i := 0
	for i < len(in) && in[i] != '\\' {
		i++
	}
	if i == len(in) {
		return in
	}
	out := append(scratch[:0], in[:i]...)
	for i < len(in) {
		c := in[i]
		if c != '\\' || i+1 == len(in) {
			out = append(out, c)
			i++
			continue
		}
		i += 2
		switch e := in[i-1]; e {
		case '"', '\\', '/':
			out = append(out, e)
		case 'n':
			out = append(out, '\n')
		case 't':
			out = append(out, '\t')
		case 'r':
			out = append(out, '\r')
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'u':
			r, ok := hex4(in, i)
			if !ok {
				out = append(out, '\\', 'u')
				continue
			}
			i += 4
			if utf16.IsSurrogate(r) {
				low, ok := rune(0), false
				if i+1 < len(in) && in[i] == '\\' && in[i+1] == 'u' {
					low, ok = hex4(in, i+2)
				}
				if r = utf16.DecodeRune(r, low); ok && r != utf8.RuneError {
					i += 6
				}
			}
			out = utf8.AppendRune(out, r)
		default:
			out = append(out, '\\', e)
		}
	}
	return out
}

func hex4(b []byte, i int) (rune, bool) {
	if i+4 > len(b) {
		return 0, false
	}
	var r rune
	for _, c := range b[i : i+4] {
		d := unhex(c)
		if d < 0 {
			return 0, false
		}
		r = r<<4 | d
	}
	return r, true
}

func unhex(c byte) rune {
	switch {
	case c-'0' <= 9:
		return rune(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return rune(c|0x20-'a') + 10
	}
	return -1
}

// bare is a value without the quotes some writers put around numbers.
func (v Value) bare() []byte {
	if v.IsString() {
		return v[1 : len(v)-1]
	}
	return v
}

// Int returns the value of an integer, quoted or not; ok is false for anything
// else and for what an int64 does not hold.
func (v Value) Int() (n int64, ok bool) {
	b := v.bare()
	if n, ok := digits(b); ok {
		return n, true
	}
	if len(b) == 0 || len(b) > 20 {
		return 0, false
	}
	n, err := strconv.ParseInt(string(b), 10, 64) // does not escape: no allocation
	return n, err == nil
}

// Nanoseconds reads a ts or dur, which are microseconds, exactly as ns. Digits
// beyond the nanosecond are rounded. Errors wrap ErrTime.
func (v Value) Nanoseconds() (int64, error) { return parseMicros(v.bare()) }

// Is reports whether the value is the string s, compared as it stands: s must
// not need escaping.
func (v Value) Is(s string) bool {
	return len(v) == len(s)+2 && v[0] == '"' && string(v[1:len(v)-1]) == s
}
