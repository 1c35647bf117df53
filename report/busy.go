package report

import (
	"cmp"
	"slices"

	"github.com/flagos-ai/flagos-trace/calltree"
)

// busyKeys are the keys of what ran by the bits of the kinds; 0 is nothing.
var busyKeys = [8]string{
	"idle_ns", "compute_ns", "communication_ns", "compute_and_communication_ns",
	"copy_ns", "compute_and_copy_ns", "communication_and_copy_ns", "compute_communication_and_copy_ns",
}

// bins divides a window.
type bins struct {
	start, end, ns int64
	n              int
}

// newBins divides a window into most bins or fewer.
func newBins(start, end int64, most int) bins {
	b := bins{start: start, end: end}
	if end <= start {
		return b
	}
	b.ns = (end - start + int64(most) - 1) / int64(most)
	b.n = int((end - start + b.ns - 1) / b.ns)
	return b
}

// spread calls each bin that a span lies in with how much of it does.
func (b *bins) spread(from, to int64, each func(bin int, ns int64)) {
	from, to = max(from, b.start), min(to, b.end)
	for from < to {
		i := (from - b.start) / b.ns
		until := min(to, b.start+(i+1)*b.ns)
		each(int(i), until-from)
		from = until
	}
}

// busy divides each bin by what ran in it.
func (v *view) busy(b *bins, works []calltree.Work) map[string][]int64 {
	if b.n == 0 {
		return map[string][]int64{}
	}
	x := v.x
	ends := slices.Clone(works)
	slices.SortFunc(ends, func(a, b calltree.Work) int { return cmp.Compare(x.WorkAt(a).End, x.WorkAt(b).End) })
	var in [8][]int64
	var running [3]int
	last := b.start
	pass := func(now int64) {
		mask := 0
		for k, n := range running {
			if n > 0 {
				mask |= 1 << k
			}
		}
		if now > last {
			if in[mask] == nil {
				in[mask] = make([]int64, b.n)
			}
			b.spread(last, now, func(bin int, ns int64) { in[mask][bin] += ns })
			last = now
		}
	}
	next := 0
	for _, w := range ends {
		for next < len(works) && x.WorkAt(works[next]).Start <= x.WorkAt(w).End {
			pass(x.WorkAt(works[next]).Start)
			running[min(v.kinds[works[next]], copying)]++
			next++
		}
		pass(x.WorkAt(w).End)
		running[min(v.kinds[w], copying)]--
	}
	pass(b.end)
	out := map[string][]int64{}
	for mask, key := range busyKeys {
		if in[mask] != nil {
			out[key] = in[mask]
		}
	}
	return out
}
