package chrome

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
)

// digits2 holds "00" to "99".
var digits2 = func() (d [200]byte) {
	for i := range 100 {
		d[2*i], d[2*i+1] = byte('0'+i/10), byte('0'+i%10)
	}
	return d
}()

// appendMicros appends ns as microseconds with three decimals.
func appendMicros(dst []byte, ns int64) []byte {
	u := uint64(ns)
	if ns < 0 {
		dst = append(dst, '-')
		u = -u
	}
	dst = strconv.AppendUint(dst, u/1000, 10)
	f := u % 1000
	return append(dst, '.', byte('0'+f/100), digits2[2*(f%100)], digits2[2*(f%100)+1])
}

// digitsEnd returns the index of the first byte of b from i on that is no digit.
func digitsEnd(b []byte, i int) int {
	for ; i+8 <= len(b); i += 8 {
		if m := noDigits(load64(b, i)); m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
	}
	for i < len(b) && b[i]-'0' <= 9 {
		i++
	}
	return i
}

// noDigits marks, by their highest bits, the bytes of x that are no decimal digits.
func noDigits(x uint64) uint64 {
	x ^= ones * '0'
	return (x&^highs + ones*(0x80-10) | x) & highs
}

// eightDigits is the number whose digits are the bytes of x, the first one lowest.
func eightDigits(x uint64) uint64 {
	x &= ones * 15
	x = x*10 + x>>8 // each second byte: two digits
	x &= 0x00ff00ff00ff00ff
	x = x*100 + x>>16
	x &= 0x0000ffff0000ffff
	return (x*10000 + x>>32) & 0xffffffff
}

// digits reads at most 16 digits; ok is false for anything else.
func digits(b []byte) (n int64, ok bool) {
	if len(b) == 0 || len(b) > 16 {
		return 0, false
	}
	if k := len(b) - 8; k >= 0 {
		x := load64(b, k)
		if noDigits(x) != 0 {
			return 0, false
		}
		n = int64(eightDigits(x))
		if k == 0 {
			return n, true
		}
		// Those before them, with zeros before those.
		x = load64(b, 0)<<(8*(8-k)) | (ones*'0')>>(8*k)
		if noDigits(x) != 0 {
			return 0, false
		}
		return n + 1e8*int64(eightDigits(x)), true
	}
	for _, c := range b {
		if c-'0' > 9 {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}

// parseMicros reads a decimal number of microseconds as nanoseconds, exactly;
// digits beyond the nanosecond are rounded half away from zero. An exponent is
// allowed.
func parseMicros(b []byte) (int64, error) {
	const fraction = 3 // decimals of a microsecond that a nanosecond has
	i, neg := 0, false
	if i < len(b) && (b[i] == '-' || b[i] == '+') {
		neg = b[i] == '-'
		i++
	}
	// digits is the mantissa without its point; point its place in it.
	start, point, digits := i, -1, 0
	for ; i < len(b); i++ {
		c := b[i]
		if c == '.' && point < 0 {
			point = digits
		} else if c-'0' <= 9 {
			digits++
		} else {
			break
		}
	}
	mantissa := b[start:i]
	if point < 0 {
		point = digits
	}
	exp := 0
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		e, err := strconv.Atoi(string(b[i+1:]))
		if err != nil || e > 1000 || e < -1000 {
			return 0, timeError(b)
		}
		exp, i = e, len(b)
	}
	if i < len(b) || digits == 0 {
		return 0, timeError(b)
	}
	// The number of leading digits that make up whole nanoseconds.
	whole := point + exp + fraction
	var n uint64
	for k, seen := 0, 0; seen < whole; k++ {
		d := byte(0)
		if k < len(mantissa) {
			if mantissa[k] == '.' {
				continue
			}
			d = mantissa[k] - '0'
		} else if n == 0 {
			break // nothing but zeros
		}
		seen++
		if n > (math.MaxInt64-uint64(d))/10 {
			return 0, timeError(b)
		}
		n = n*10 + uint64(d)
	}
	if roundsUp(mantissa, whole) {
		n++
	}
	if n > math.MaxInt64 {
		return 0, timeError(b)
	}
	if neg {
		return -int64(n), nil
	}
	return int64(n), nil
}

// roundsUp says whether the digit after the first whole ones is 5 or more.
func roundsUp(mantissa []byte, whole int) bool {
	if whole < 0 {
		return false
	}
	for _, c := range mantissa {
		if c == '.' {
			continue
		}
		if whole == 0 {
			return c >= '5'
		}
		whole--
	}
	return false
}

func timeError(b []byte) error {
	return fmt.Errorf("%w: %.40q is not a number of microseconds between ±2^63 ns", ErrTime, b)
}
