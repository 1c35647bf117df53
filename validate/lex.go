package validate

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"unicode/utf8"
)

// status says how lexing ended.
type status uint8

const (
	done  status = iota
	short        // the text ends inside
	wrong        // the text is not JSON here; see lexer.errAt
)

// maxDepth bounds the nesting of values.
const maxDepth = 200

// lexer walks over JSON text and notes what strict JSON does not allow without
// stopping at it. Only a broken structure stops it.
type lexer struct {
	b    []byte
	base int64 // offset in the document of b[0]

	issues []issue
	more   int // issues beyond maxIssues

	errAt   int    // index in b where the structure broke
	errWhat string // what was expected there

	nested []keySet // of the open objects below args or a member, reused
}

// issue is a breach of strict JSON.
type issue struct {
	rule   ruleID
	at     int64
	detail string
}

// maxIssues bounds what is kept of one event.
const maxIssues = 32

func (x *lexer) issue(rule ruleID, at int, format string, args ...any) {
	if len(x.issues) == maxIssues {
		x.more++
		return
	}
	x.issues = append(x.issues, issue{rule, x.base + int64(at), fmt.Sprintf(format, args...)})
}

func (x *lexer) fail(at int, what string) (int, status) {
	x.errAt, x.errWhat = at, what
	return at, wrong
}

// found describes the text at a place where the structure broke.
func found(b []byte, at int) string {
	if at >= len(b) {
		return "the end"
	}
	return fmt.Sprintf("%q", b[at:min(at+16, len(b))])
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && b[i] <= ' ' && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
		i++
	}
	return i
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// str returns the index behind the string that starts at b[i].
func (x *lexer) str(i int) (int, status) {
	b := x.b
	i++
	for {
		// Eight bytes at a time up to one that is a quote, a backslash, a control
		// character or not ASCII. The lowest bit set in m is always right.
		for i+8 <= len(b) {
			w := binary.LittleEndian.Uint64(b[i:])
			q, s := w^(ones*'"'), w^(ones*'\\')
			m := ((q-ones)&^q | (s-ones)&^s | (w-ones*0x20)&^w | w) & highs
			if m != 0 {
				i += bits.TrailingZeros64(m) >> 3
				break
			}
			i += 8
		}
		if i >= len(b) {
			return len(b), short
		}
		switch c := b[i]; {
		case c == '"':
			return i + 1, done
		case c == '\\':
			n, st := x.escape(i)
			if st != done {
				return len(b), st
			}
			i += n
		case c < 0x20:
			x.issue(rControl, i, "byte 0x%02x stands in a string as it is", c)
			i++
		case c >= utf8.RuneSelf:
			r, n := utf8.DecodeRune(b[i:])
			if r == utf8.RuneError && n == 1 {
				if !utf8.FullRune(b[i:]) {
					return len(b), short
				}
				x.issue(rUTF8, i, "byte 0x%02x begins no UTF-8 character", c)
			}
			i += n
		default:
			i++
		}
	}
}

// escape returns the length of the escape at b[i].
func (x *lexer) escape(i int) (int, status) {
	b := x.b
	if i+1 >= len(b) {
		return 0, short
	}
	switch b[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2, done
	case 'u':
		if i+6 > len(b) {
			return 0, short
		}
		for _, c := range b[i+2 : i+6] {
			if !(c-'0' <= 9 || c|0x20 >= 'a' && c|0x20 <= 'f') {
				x.issue(rEscape, i, "%q is no escape", b[i:i+6])
				return 2, done
			}
		}
		return 6, done
	}
	x.issue(rEscape, i, "%q is no escape", b[i:i+2])
	if b[i+1] < 0x20 || b[i+1] >= utf8.RuneSelf {
		return 1, done
	}
	return 2, done
}

// scalarByte marks the bytes of numbers and of the words true, false, null, NaN
// and Infinity.
var scalarByte = func() (t [256]bool) {
	for _, c := range "0123456789+-.eEtrufalsnNIity" {
		t[c] = true
	}
	return t
}()

func digitsEnd(b []byte, i int) int {
	for i < len(b) && b[i]-'0' <= 9 {
		i++
	}
	return i
}

// scalar returns the end of the number or word at b[i].
func (x *lexer) scalar(i int) (int, status) {
	b := x.b
	start := i
	if b[i] == '-' {
		i++
	}
	j := digitsEnd(b, i)
	if j > i {
		strict := b[i] != '0' || j == i+1
		i = j
		if i < len(b) && b[i] == '.' {
			j = digitsEnd(b, i+1)
			strict = strict && j > i+1
			i = j
		}
		if i < len(b) && b[i]|0x20 == 'e' {
			i++
			if i < len(b) && (b[i] == '+' || b[i] == '-') {
				i++
			}
			j = digitsEnd(b, i)
			strict = strict && j > i
			i = j
		}
		if i >= len(b) {
			return i, short
		}
		if !scalarByte[b[i]] {
			if !strict {
				x.issue(rNumber, start, "%.40q", b[start:i])
			}
			return i, done
		}
	}
	for i < len(b) && scalarByte[b[i]] {
		i++
	}
	if i >= len(b) {
		return i, short
	}
	switch string(b[start:i]) {
	case "true", "false", "null":
	case "NaN", "nan", "-nan", "Infinity", "-Infinity", "inf", "-inf", "+Infinity":
		x.issue(rNumber, start, "%q is no JSON value", b[start:i])
	default:
		if !looseNumber(b[start:i]) {
			return x.fail(start, "a value")
		}
		x.issue(rNumber, start, "%.40q", b[start:i])
	}
	return i, done
}

func looseNumber(b []byte) bool {
	digits := 0
	for _, c := range b {
		switch {
		case c-'0' <= 9:
			digits++
		case c == '+' || c == '-' || c == '.' || c|0x20 == 'e':
		default:
			return false
		}
	}
	return digits > 0
}

// skip returns the end of the value at b[i].
func (x *lexer) skip(i, depth int) (int, status) {
	if i >= len(x.b) {
		return i, short
	}
	switch x.b[i] {
	case '"':
		return x.str(i)
	case '{':
		return x.object(i, depth)
	case '[':
		return x.array(i, depth)
	}
	return x.scalar(i)
}

func (x *lexer) array(i, depth int) (int, status) {
	if depth >= maxDepth {
		return x.fail(i, "less nesting")
	}
	b := x.b
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == ']' {
		return i + 1, done
	}
	for {
		var st status
		if i, st = x.skip(i, depth+1); st != done {
			return i, st
		}
		if i = skipSpace(b, i); i >= len(b) {
			return i, short
		}
		switch b[i] {
		case ']':
			return i + 1, done
		case ',':
			i = skipSpace(b, i+1)
			if i < len(b) && b[i] == ']' {
				x.issue(rTrailingComma, i, "a comma stands before ]")
				return i + 1, done
			}
		default:
			return x.fail(i, "',' or ']'")
		}
	}
}

func (x *lexer) object(i, depth int) (int, status) {
	if depth >= maxDepth {
		return x.fail(i, "less nesting")
	}
	for len(x.nested) <= depth {
		x.nested = append(x.nested, keySet{})
	}
	x.nested[depth].reset()
	b := x.b
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == '}' {
		return i + 1, done
	}
	for {
		key, value, st := x.key(i)
		if st != done {
			return value, st
		}
		if x.nested[depth].add(key) {
			x.issue(rDuplicateKey, i, "the key %.60q stands twice in one object", key)
		}
		if i, st = x.skip(value, depth+1); st != done {
			return i, st
		}
		end, next, st := x.next(i)
		if st != done || end {
			return next, st
		}
		i = next
	}
}

// key reads a key at b[i] and steps over its colon: the key's text between the
// quotes and the index of the value.
func (x *lexer) key(i int) (key []byte, value int, st status) {
	b := x.b
	if i >= len(b) {
		return nil, i, short
	}
	if b[i] != '"' {
		_, st = x.fail(i, "a key")
		return nil, i, st
	}
	end, st := x.str(i)
	if st != done {
		return nil, end, st
	}
	key = b[i+1 : end-1]
	if end < len(b) && b[end] != ':' {
		end = skipSpace(b, end)
	}
	if end >= len(b) {
		return nil, end, short
	}
	if b[end] != ':' {
		_, st = x.fail(end, "':'")
		return nil, end, st
	}
	end++
	if end < len(b) && b[end] == ' ' {
		end++
	}
	return key, skipSpace(b, end), done
}

// next steps from behind a member to the next one, or behind the object.
func (x *lexer) next(i int) (end bool, at int, st status) {
	b := x.b
	if i = skipSpace(b, i); i >= len(b) {
		return false, i, short
	}
	switch b[i] {
	case '}':
		return true, i + 1, done
	case ',':
		i = skipSpace(b, i+1)
		if i < len(b) && b[i] == '}' {
			x.issue(rTrailingComma, i, "a comma stands before }")
			return true, i + 1, done
		}
		return false, i, done
	}
	at, st = x.fail(i, "',' or '}'")
	return false, at, st
}

// keySet finds keys that stand twice. It keeps the text it is given only until
// it is reset.
type keySet struct {
	few  [][]byte
	many map[string]struct{}
}

// manyKeys is the number of keys from which on a map finds one sooner.
const manyKeys = 24

func (s *keySet) reset() {
	s.few = s.few[:0]
	if s.many != nil {
		s.many = nil
	}
}

func (s *keySet) add(key []byte) (twice bool) {
	if s.many == nil && len(s.few) < manyKeys {
		for _, k := range s.few {
			if len(k) == len(key) && string(k) == string(key) {
				return true
			}
		}
		s.few = append(s.few, key)
		return false
	}
	if s.many == nil {
		s.many = make(map[string]struct{}, 2*manyKeys)
		for _, k := range s.few {
			s.many[string(k)] = struct{}{}
		}
	}
	if _, twice = s.many[string(key)]; !twice {
		s.many[string(key)] = struct{}{}
	}
	return twice
}
