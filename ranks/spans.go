package ranks

import "slices"

// span is from start up to end, ns.
type span struct{ start, end int64 }

// union joins spans that touch; the result is in order.
func union(s []span) []span {
	slices.SortFunc(s, func(a, b span) int { return compare(a.start, b.start) })
	out := s[:0]
	for _, x := range s {
		if n := len(out); n > 0 && x.start <= out[n-1].end {
			out[n-1].end = max(out[n-1].end, x.end)
			continue
		}
		out = append(out, x)
	}
	return out
}

func total(s []span) (sum int64) {
	for _, x := range s {
		sum += x.end - x.start
	}
	return sum
}

// overlap is for how long two unions are both there.
func overlap(a, b []span) (sum int64) {
	if len(b) == 1 && len(a) > 16 { // one step among many kernels
		lo, _ := slices.BinarySearchFunc(a, b[0].start, func(s span, ts int64) int { return compare(s.end, ts) })
		a = a[lo:]
	}
	for i, k := 0, 0; i < len(a) && k < len(b); {
		sum += max(0, min(a[i].end, b[k].end)-max(a[i].start, b[k].start))
		if a[i].end < b[k].end {
			i++
		} else {
			k++
		}
	}
	return sum
}
