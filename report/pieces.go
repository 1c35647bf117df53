package report

import (
	"cmp"
	"math"
	"slices"
)

// piece is a part of a row that is drawn as one: a span, or some that stand close
// together.
type piece struct {
	start, end int64
	// busy is the sum of what its spans take, or less where these overlap: how much of
	// the piece is covered.
	busy int64
	n    int64
	// name, kind and longest are those of the longest span.
	name    int32
	kind    uint8
	longest int64
}

// one is the piece that is a span.
func one(start, end int64, name int32, kind uint8) piece {
	return piece{start: start, end: end, busy: end - start, n: 1, name: name, kind: kind, longest: end - start}
}

// add takes a piece in that begins no earlier.
func (p *piece) add(o *piece) {
	if o.start >= p.end {
		p.busy += o.busy
	} else {
		// What lies in both was covered already, at least where this is one span.
		p.busy += max(0, min(o.busy, o.end-p.end))
	}
	p.end = max(p.end, o.end)
	p.n += o.n
	if o.longest > p.longest {
		p.longest, p.name, p.kind = o.longest, o.name, o.kind
	}
}

// coarsen joins pieces in order of their starts that are shorter than a resolution with
// neighbours that are no further away. A result is not longer than twice that, so
// that no row has many more pieces than it has room for.
func coarsen(list []piece, resolution int64) []piece {
	if resolution <= 0 || len(list) == 0 {
		return list
	}
	out := list[:1]
	for i := 1; i < len(list); i++ {
		p, last := &list[i], &out[len(out)-1]
		if p.end-p.start < resolution && last.end-last.start < resolution && p.start-last.end < resolution {
			last.add(p)
			continue
		}
		out = append(out, *p)
	}
	return out
}

// fit coarsens rows until there are no more than most pieces in them, and returns the
// resolution that this took; from is the one that they have already.
func fit(rows []Row, window, from int64, most int) int64 {
	count := func() (n int) {
		for i := range rows {
			n += len(rows[i].pieces)
		}
		return n
	}
	if count() <= most {
		return from
	}
	resolution := max(from*2, window/(1<<18), 1)
	for {
		for i := range rows {
			rows[i].pieces = coarsen(rows[i].pieces, resolution)
		}
		if count() <= most || resolution > math.MaxInt64/4 || resolution > window {
			return resolution
		}
		resolution *= 2
	}
}

// inOrder puts pieces into the order of their starts, the longer one first.
func inOrder(list []piece) {
	by := func(a, b piece) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end)) }
	if !slices.IsSortedFunc(list, by) {
		slices.SortStableFunc(list, by)
	}
}

// PieceLen is the number of integers for a piece: its start after that of the piece
// before, its length, its name, its kind, how many spans it stands for, and how much of
// it they cover.
const PieceLen = 6

// pack writes pieces as integers. Times are made to count from a zero.
func pack(list []piece, zero int64) []int64 {
	out := make([]int64, 0, PieceLen*len(list))
	last := zero
	for i := range list {
		p := &list[i]
		out = append(out, p.start-last, p.end-p.start, int64(p.name), int64(p.kind), p.n, p.busy)
		last = p.start
	}
	return out
}
