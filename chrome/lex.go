package chrome

import (
	"bytes"
)

// state says how lexing a value ended.
type state uint8

const (
	done  state = iota
	short       // the text ends inside the value
	wrong       // the text is not JSON
)

// maxDepth bounds the nesting of values.
const maxDepth = 200

// skipSpace returns the index of the first byte from i on that is not white
// space.
func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// skipValue finds the end of the value that starts at b[i]. It is as lenient as
// readers of such documents are: strings may hold anything but a quote, numbers
// are not checked digit by digit, and Python's NaN and Infinity pass. On short
// and wrong, end is where lexing stopped.
func skipValue(b []byte, i, depth int) (end int, s state) {
	if i >= len(b) {
		return i, short
	}
	switch c := b[i]; c {
	case '"':
		return skipString(b, i)
	case '{', '[':
		return skipContainer(b, i, depth)
	default:
		return skipScalar(b, i)
	}
}

func skipString(b []byte, i int) (int, state) {
	start := i + 1
	for i = start; ; i++ {
		k := bytes.IndexByte(b[i:], '"')
		if k < 0 {
			return len(b), short
		}
		i += k
		// A quote after an odd number of backslashes belongs to the string.
		j := i
		for j > start && b[j-1] == '\\' {
			j--
		}
		if (i-j)&1 == 0 {
			return i + 1, done
		}
	}
}

func skipContainer(b []byte, i, depth int) (int, state) {
	if depth >= maxDepth {
		return i, wrong
	}
	object := b[i] == '{'
	closing := byte(']')
	if object {
		closing = '}'
	}
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == closing {
		return i + 1, done
	}
	for {
		var s state
		if object {
			if i, s = skipKey(b, i); s != done {
				return i, s
			}
		}
		if i, s = skipValue(b, i, depth+1); s != done {
			return i, s
		}
		if i = skipSpace(b, i); i >= len(b) {
			return i, short
		}
		switch b[i] {
		case closing:
			return i + 1, done
		case ',':
			i = skipSpace(b, i+1)
		default:
			return i, wrong
		}
	}
}

// skipKey steps over a key and its colon, to the value.
func skipKey(b []byte, i int) (int, state) {
	if i >= len(b) {
		return i, short
	}
	if b[i] != '"' {
		return i, wrong
	}
	i, s := skipString(b, i)
	if s != done {
		return i, s
	}
	if i = skipSpace(b, i); i >= len(b) {
		return i, short
	}
	if b[i] != ':' {
		return i, wrong
	}
	return skipSpace(b, i+1), done
}

// scalarByte marks the bytes of numbers and of the words true, false, null, NaN
// and Infinity.
var scalarByte = func() (t [256]bool) {
	for _, c := range "0123456789+-.eEtrufalsnNIity" {
		t[c] = true
	}
	return t
}()

func skipScalar(b []byte, i int) (int, state) {
	start := i
	for i < len(b) && scalarByte[b[i]] {
		i++
	}
	switch {
	case i == len(b):
		return i, short // it may go on
	case !looseScalar(b[start:i]):
		return start, wrong
	}
	return i, done
}

func looseScalar(b []byte) bool {
	if len(b) == 0 {
		return false
	}
	if c := b[0]; c-'0' <= 9 || (c == '-' || c == '+' || c == '.') && len(b) > 1 && (b[1]-'0' <= 9 || b[1] == '.') {
		for _, c := range b {
			if !(c-'0' <= 9 || c == '+' || c == '-' || c == '.' || c == 'e' || c == 'E') {
				return false
			}
		}
		return true
	}
	switch string(b) {
	case "true", "false", "null", "NaN", "nan", "Infinity", "-Infinity", "inf", "-inf":
		return true
	}
	return false
}
