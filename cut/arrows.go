package cut

import (
	"cmp"
	"slices"

	"github.com/flagos-ai/flagos-trace/timeline"
)

// arrowKey names an arrow: what it is called, and its id. The ends that are flags of
// events are called what the document calls them, 0 in a recorded trace.
type arrowKey struct {
	category uint32
	id       uint64
}

// ends are the ends that an arrow has in the trace, and those that were kept.
type ends uint8

const (
	hasStart ends = 1 << iota
	hasEnd
	keptStart
	keptEnd
)

// arrows finds which ends of arrows are kept: an end that had another one only if
// that is kept too.
func (c *cutter) arrows() {
	t := c.t
	n := uint32(t.Events.Len())
	c.lost, c.lostIn = newBits(int(n)), newBits(int(n))
	c.flows = c.points()
	known := map[arrowKey]ends{}
	note := func(k arrowKey, start, kept bool) {
		e := known[k]
		switch {
		case start && kept:
			e |= hasStart | keptStart
		case start:
			e |= hasStart
		case kept:
			e |= hasEnd | keptEnd
		default:
			e |= hasEnd
		}
		known[k] = e
	}
	const flags = timeline.FlowOut | timeline.FlowIn
	for i := range n {
		e := t.Events.At(i)
		if e.Flags&flags == 0 {
			continue
		}
		k := c.deviceArrow(e)
		if e.Flags&timeline.FlowOut != 0 {
			note(k, true, c.keep.has(i))
		}
		if e.Flags&timeline.FlowIn != 0 {
			note(k, false, c.keep.has(i))
		}
	}
	for i := range t.Flows {
		f := &t.Flows[i]
		note(c.pointArrow(f), f.Start, c.flows[i])
	}
	whole := func(k arrowKey, start bool) bool {
		e := known[k]
		if start {
			return e&hasEnd == 0 || e&keptEnd != 0
		}
		return e&hasStart == 0 || e&keptStart != 0
	}
	for i := range n {
		e := t.Events.At(i)
		if e.Flags&flags == 0 || !c.keep.has(i) {
			continue
		}
		k := c.deviceArrow(e)
		if e.Flags&timeline.FlowOut != 0 && !whole(k, true) {
			c.lost.set(i)
			c.result.Arrows++
		}
		if e.Flags&timeline.FlowIn != 0 && !whole(k, false) {
			c.lostIn.set(i)
			c.result.Arrows++
		}
	}
	for i := range t.Flows {
		if f := &t.Flows[i]; c.flows[i] && !whole(c.pointArrow(f), f.Start) {
			c.flows[i] = false
			c.result.Arrows++
		}
	}
}

func (c *cutter) deviceArrow(e *timeline.Event) arrowKey {
	if c.t.Source == nil {
		return arrowKey{0, e.Correlation}
	}
	return arrowKey{c.t.Source.FlowCategory, e.Correlation}
}

func (c *cutter) pointArrow(f *timeline.FlowPoint) arrowKey {
	if f.Category == 0 {
		return arrowKey{f.Name, f.ID}
	}
	return arrowKey{f.Category, f.ID}
}

// points finds which ends of arrows stand on events that are kept: on the innermost
// one of their row and time. One that stands on none is kept if its time and row are
// wanted.
func (c *cutter) points() []bool {
	t := c.t
	kept := make([]bool, len(t.Flows))
	if len(t.Flows) == 0 {
		return kept
	}
	// By row, those of a row by time.
	order := make([]uint32, len(t.Flows))
	hasPoints := make([]bool, len(t.Rows))
	for i := range order {
		order[i] = uint32(i)
		hasPoints[t.Flows[i].Row] = true
	}
	slices.SortStableFunc(order, func(a, b uint32) int {
		x, y := &t.Flows[a], &t.Flows[b]
		return cmp.Or(cmp.Compare(x.Row, y.Row), cmp.Compare(x.TS, y.TS))
	})
	var spans []uint32
	for i := range uint32(t.Events.Len()) {
		e := t.Events.At(i)
		if hasPoints[e.Row] && e.Flags&timeline.Instant == 0 && (t.Source == nil || t.Source.Events.At(i).Phase == 0) {
			spans = append(spans, i)
		}
	}
	slices.SortStableFunc(spans, func(a, b uint32) int {
		x, y := t.Events.At(a), t.Events.At(b)
		return cmp.Or(cmp.Compare(x.Row, y.Row), cmp.Compare(x.Start, y.Start), cmp.Compare(y.End, x.End))
	})
	var open []uint32
	next := 0
	for k, i := range order {
		f := &t.Flows[i]
		if k == 0 || t.Flows[order[k-1]].Row != f.Row {
			open = open[:0]
			for next < len(spans) && t.Events.At(spans[next]).Row < f.Row {
				next++
			}
		}
		for next < len(spans) && t.Events.At(spans[next]).Row == f.Row && t.Events.At(spans[next]).Start <= f.TS {
			open = append(open, spans[next])
			next++
		}
		// What has ended is not around any later point either.
		open = slices.DeleteFunc(open, func(s uint32) bool { return t.Events.At(s).End < f.TS })
		if len(open) > 0 {
			kept[i] = c.keep.has(open[len(open)-1])
			continue
		}
		kept[i] = c.rowIn[f.Row] && c.categoryIn == nil &&
			c.inTime(&timeline.Event{Start: f.TS, End: f.TS, Row: f.Row, Flags: timeline.Instant})
	}
	return kept
}
