package report

import "github.com/flagos-ai/flagos-trace/internal/hugepage"

// line makes a row of its spans, one after the other.
type line struct {
	Row
	detail
	// last is the span that was put last; unordered: one began before the last.
	last      struct{ start, end int64 }
	unordered bool
}

// detail is how much of the spans of a trace its rows show.
type detail struct {
	// resolution is that of pieces while they are made: neighbours that are shorter are
	// joined at once, as coarsen would do it, so that most spans of a large trace take no
	// memory. 0: nothing is joined.
	resolution int64
	most       int // pieces of all rows in the end
}

// newLine returns the line of a row that has so many spans.
func newLine(r Row, spans int, d detail) line {
	if d.resolution > 0 {
		spans = min(spans, d.most)
	}
	r.Pieces = hugepage.Make[piece](spans)[:0]
	return line{Row: r, detail: d}
}

// put puts a span behind the others.
func (l *line) put(start, end int64, name uint32, kind uint8) {
	p := one(start, end, name, kind)
	if l.Spans > 0 {
		l.unordered = l.unordered || start < l.last.start || start == l.last.start && end > l.last.end
	}
	l.last.start, l.last.end = start, end
	l.Spans++
	l.NS += p.busy
	if n := len(l.Pieces); n > 0 && l.resolution > 0 && l.Pieces[n-1].joins(&p, l.resolution) {
		l.Pieces[n-1].add(&p)
		return
	}
	l.Pieces = hugepage.Append(l.Pieces, p)
}

// order puts pieces into order. It fails where they were joined out of order.
func (l *line) order() bool {
	if !l.unordered {
		return true
	}
	inOrder(l.Pieces)
	return l.resolution == 0
}
