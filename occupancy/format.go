package occupancy

import (
	"math"
	"strconv"
)

// Format is the way numbers are printed.
type Format uint8

const (
	// Classic is the format of torch up to 2.11 at least: six decimals, and
	// "N/A" for the bandwidth of a copy without duration.
	Classic Format = iota
	// Shortest is the format of Kineto from mid 2026: the shortest decimal
	// that reads back as the same double.
	Shortest
)

// AppendPerSM appends the JSON value of "blocks per SM" or "warps per SM".
// Classic has six decimals (1.939394) and "inf", quoted, for either infinity.
// Shortest widens the number to double first (1.9393939971923828, but 8) and
// quotes "inf", "-inf" and "nan". NaN is quoted in Classic too, where Kineto's
// bare word would break the document.
func AppendPerSM(dst []byte, v float32, format Format) []byte {
	f := float64(v)
	switch {
	case v != v:
		return append(dst, `"nan"`...)
	case math.IsInf(f, -1) && format != Classic:
		return append(dst, `"-inf"`...)
	case math.IsInf(f, 0):
		return append(dst, `"inf"`...)
	case format == Classic:
		return appendFixed6(dst, v)
	}
	return appendShortest(dst, f)
}

// AppendBandwidth appends the JSON value of "memory bandwidth (GB/s)": bytes over
// nanoseconds, which is 10^9 bytes a second, as the shortest decimal of the double.
// Without a duration there is no bandwidth: dst comes back as it was and ok is
// false, which means to leave the key out, except that Kineto mode with the
// Classic format appends the string "N/A" as Kineto does.
func AppendBandwidth(dst []byte, bytes uint64, durationNs int64, opts Options) (out []byte, ok bool) {
	if durationNs <= 0 {
		if opts.Mode == Kineto && opts.Format == Classic {
			return append(dst, `"N/A"`...), true
		}
		return dst, false
	}
	return appendShortest(dst, float64(bytes)/float64(durationNs)), true
}

// appendShortest prints plainly for 1e-4 <= |f| < 1e16 and zero, with an exponent
// otherwise; strconv's 'g' would change over elsewhere. Integers have no point.
func appendShortest(dst []byte, f float64) []byte {
	if a := math.Abs(f); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.AppendFloat(dst, f, 'e', -1, 64)
	}
	return strconv.AppendFloat(dst, f, 'f', -1, 64)
}

// appendFixed6 is strconv.AppendFloat(dst, v, 'f', 6, 64) for a finite v, by
// integer arithmetic: 10^6 times a 24-bit mantissa fits a word, which spares
// strconv's arbitrary precision, the only way it has for a fixed 'f'.
func appendFixed6(dst []byte, v float32) []byte {
	bits := math.Float32bits(v)
	mant, exp := uint64(bits&(1<<23-1)), int(bits>>23&0xff)
	if exp == 0 {
		exp = 1 // subnormal
	} else {
		mant |= 1 << 23
	}
	exp -= 127 + 23 // v is mant * 2^exp

	q := mant * 1e6 // below 2^44
	switch {
	case exp > 19: // beyond 63 bits
		return strconv.AppendFloat(dst, float64(v), 'f', 6, 64)
	case exp >= 0:
		q <<= exp
	case exp <= -64:
		q = 0
	default:
		// Round half to even, as C's printf does.
		rest, half := q&(1<<-exp-1), uint64(1)<<(-exp-1)
		q >>= -exp
		if rest > half || rest == half && q&1 == 1 {
			q++
		}
	}
	if bits>>31 != 0 {
		dst = append(dst, '-')
	}
	dst = strconv.AppendUint(dst, q/1e6, 10)
	frac := q % 1e6
	digits := [7]byte{'.'}
	for i := 6; i > 0; i-- {
		digits[i] = byte('0' + frac%10)
		frac /= 10
	}
	return append(dst, digits[:]...)
}
