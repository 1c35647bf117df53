package chrome

import (
	"math/bits"
	"unicode/utf8"
)

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// special marks, by their highest bits, the bytes of x that a JSON string cannot hold as
// they are, or that are not ASCII. A borrow can only mark bytes above a true hit, so the
// lowest mark is exact.
func special(x uint64) uint64 {
	// The quote and what is below the space are below 0x21 where the second bit is turned.
	return (x | ((x ^ ones*2) - ones*0x21) | ((x ^ ones*'\\') - ones)) & highs
}

// plainEnd returns the index of the first byte of b from i on that a JSON string
// cannot hold as it is, or that is not ASCII; len(b) if there is none. Eight
// bytes are looked at together.
func plainEnd[T string | []byte](b T, i int) int {
	for ; i+8 <= len(b); i += 8 {
		if m := special(load64(b, i)); m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
	}
	for ; i < len(b); i++ {
		if c := b[i]; c < 0x20 || c >= 0x80 || c == '"' || c == '\\' {
			break
		}
	}
	return i
}

func load64[T string | []byte](b T, i int) uint64 {
	w := b[i : i+8]
	return uint64(w[0]) | uint64(w[1])<<8 | uint64(w[2])<<16 | uint64(w[3])<<24 |
		uint64(w[4])<<32 | uint64(w[5])<<40 | uint64(w[6])<<48 | uint64(w[7])<<56
}

const hexDigits = "0123456789abcdef"

// appendText appends s as the inside of a JSON string. Bytes that are not UTF-8
// become U+FFFD; ok is false if there were any.
func appendText[T string | []byte](dst []byte, s T) (out []byte, ok bool) {
	ok = true
	for i := 0; ; {
		j := plainEnd(s, i)
		dst = append(dst, s[i:j]...)
		if j >= len(s) {
			return dst, ok
		}
		c := s[j]
		if c < utf8.RuneSelf {
			dst = appendEscape(dst, c)
			i = j + 1
			continue
		}
		size := runeLen(s, j)
		if size == 0 {
			dst = append(dst, "\uFFFD"...)
			ok = false
			size = 1
		} else {
			dst = append(dst, s[j:j+size]...)
		}
		i = j + size
	}
}

func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	case '\b':
		return append(dst, '\\', 'b')
	case '\f':
		return append(dst, '\\', 'f')
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}

// runeLen is the length of the UTF-8 sequence at s[i], 0 if it is not one.
func runeLen[T string | []byte](s T, i int) int {
	var w [utf8.UTFMax]byte
	n := copy(w[:], s[i:min(i+utf8.UTFMax, len(s))])
	r, size := utf8.DecodeRune(w[:n])
	if r == utf8.RuneError && size == 1 {
		return 0
	}
	return size
}

// escaped is s as the inside of a JSON string: s itself where nothing is to do.
func escaped(s string) (text string, ok bool) {
	if plainEnd(s, 0) == len(s) {
		return s, true
	}
	b, ok := appendText(make([]byte, 0, len(s)+16), s)
	return string(b), ok
}
