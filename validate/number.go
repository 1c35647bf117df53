package validate

import "math"

// micros reads the number at b[i], microseconds in decimal, as nanoseconds. Its
// fast way is for what trace writers print; ok is false for anything else, which
// is then left to chrome.Value. fraction says whether there were decimals, fine
// whether they went below the nanosecond.
func micros(b []byte, i int) (ns int64, end int, fraction, fine, ok bool) {
	neg := false
	if i < len(b) && b[i] == '-' {
		neg = true
		i++
	}
	start := i
	var n uint64
	for i < len(b) && b[i]-'0' <= 9 {
		n = n*10 + uint64(b[i]-'0')
		i++
	}
	digits := i - start
	if digits == 0 || digits > 16 || b[start] == '0' && digits > 1 {
		return 0, i, false, false, false
	}
	if i < len(b) && b[i] == '.' {
		i++
		point := i
		for i < len(b) && b[i]-'0' <= 9 {
			switch k := i - point; {
			case k < 3:
				n = n*10 + uint64(b[i]-'0')
			case k == 3:
				fine = true
				if b[i] >= '5' {
					n++
				}
			}
			if b[i] != '0' {
				fraction = true
			}
			i++
		}
		k := i - point
		if k == 0 {
			return 0, i, false, false, false
		}
		for ; k < 3; k++ {
			n *= 10
		}
	} else {
		n *= 1000
	}
	if i >= len(b) || scalarByte[b[i]] || n > math.MaxInt64 {
		return 0, i, false, false, false
	}
	if neg {
		return -int64(n), i, fraction, fine, true
	}
	return int64(n), i, fraction, fine, true
}

// integer reads the integer at b[i]; ok is false for anything but strict digits
// of up to 64 bits (uint64 values wrap into int64, so that ids stay distinct).
func integer(b []byte, i int) (v int64, end int, ok bool) {
	neg := false
	if i < len(b) && b[i] == '-' {
		neg = true
		i++
	}
	start := i
	var n uint64
	for i < len(b) && b[i]-'0' <= 9 {
		n = n*10 + uint64(b[i]-'0')
		i++
	}
	digits := i - start
	if digits == 0 || digits > 20 || digits == 20 && n < 1e19 || b[start] == '0' && digits > 1 || i >= len(b) || scalarByte[b[i]] {
		return 0, i, false
	}
	if neg {
		return -int64(n), i, true
	}
	return int64(n), i, true
}
