package report

import (
	"cmp"
	"math"
	"slices"
	"strconv"
)

// piece is a part of a row that is drawn as one: a span, or some that stand close
// together.
type piece struct {
	start, end int64
	// busy is the sum of what its spans take, or less where these overlap: how much of
	// the piece is covered.
	busy int64
	// name, kind and longest are those of the longest span. The name is a string of the
	// trace until its rows are complete, and then one of names.
	longest int64
	n       uint32
	name    uint32
	kind    uint8
}

// one is the piece that is a span.
func one(start, end int64, name uint32, kind uint8) piece {
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

// joins reports whether a piece is drawn as one with o, the next one.
func (p *piece) joins(o *piece, resolution int64) bool {
	return o.end-o.start < resolution && p.end-p.start < resolution && o.start-p.end < resolution
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
		if last.joins(p, resolution) {
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
			n += len(rows[i].Pieces)
		}
		return n
	}
	if count() <= most {
		return from
	}
	resolution := coarser(from, window)
	for {
		for i := range rows {
			rows[i].Pieces = coarsen(rows[i].Pieces, resolution)
		}
		if count() <= most || resolution > math.MaxInt64/4 || resolution > window {
			return resolution
		}
		resolution *= 2
	}
}

// coarser is the resolution that is tried after another.
func coarser(from, window int64) int64 { return max(from*2, window/(1<<18), 1) }

// inOrder puts pieces into the order of their starts, the longer one first.
func inOrder(list []piece) {
	slices.SortStableFunc(list, func(a, b piece) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end))
	})
}

// Pieces are what a row is drawn of, in order.
type Pieces []piece

// from makes times count from a zero.
func (p Pieces) from(zero int64) {
	for i := range p {
		p[i].start -= zero
		p[i].end -= zero
	}
}

// PieceLen is the number of integers for a piece in JSON: its start after that of the
// piece before, its length, its name, its kind, how many spans it stands for, and how
// much of it they cover.
const PieceLen = 6

// MarshalJSON writes PieceLen integers for each piece.
func (p Pieces) MarshalJSON() ([]byte, error) { return p.appendTo(nil), nil }

// appendTo is MarshalJSON behind other text.
func (p Pieces) appendTo(text []byte) []byte {
	if p == nil {
		return append(text, "null"...)
	}
	text = append(text, '[')
	last := int64(0)
	for i := range p {
		if i > 0 {
			text = append(text, ',')
		}
		p := &p[i]
		for k, v := range [PieceLen]int64{p.start - last, p.end - p.start, int64(p.name), int64(p.kind), int64(p.n), p.busy} {
			if k > 0 {
				text = append(text, ',')
			}
			text = strconv.AppendInt(text, v, 10)
		}
		last = p.start
	}
	return append(text, ']')
}
