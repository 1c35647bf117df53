package repair

import (
	"cmp"
	"slices"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// overlaps mends rows on which spans overlap without one holding the other, which
// viewers drop: overruns by no more than rounding are cut, the rest goes to
// sub-rows.
func (r *repairer) overlaps() {
	t := r.t
	r.python = t.Strings.ID("python_function")
	cut := r.tolerance()
	rows := make([][]uint32, len(t.Rows))
	for i := range uint32(t.Events.Len()) {
		if e := t.Events.At(i); r.isSpan(i, e) {
			rows[e.Row] = append(rows[e.Row], i)
		}
	}
	l := layout{r: r, cut: cut, moved: map[uint32][]uint32{}}
	for row := range rows {
		if len(rows[row]) > 1 {
			l.lay(uint32(row), rows[row])
		}
	}
	// Waits that stood over work share a row of their own stream.
	for _, row := range l.syncRows {
		var list []uint32
		if int(row) < len(rows) {
			list = rows[row]
		}
		l.lay(row, append(list, l.waits[row]...))
	}
	r.followFlows(rows, l.moved)
	r.repaired("durations_cut", l.cuts)
	r.repaired("moved_to_sub_row", l.lanes)
	r.repaired("waits_moved_to_sync_row", l.toSync)
	r.remains(RemainingOverlaps, l.left)
}

// tolerance is the overrun that is cut, ns.
func (r *repairer) tolerance() int64 {
	switch {
	case !r.does["durations"]:
		return 0
	case r.o.Cut > 0:
		return r.o.Cut
	case r.t.Source.Whole:
		return 1000
	case r.doc.FindingCounts[chrome.RuleTimeRounded] > 0:
		return 2
	}
	return 0
}

// layout is rows while their spans are put into order.
type layout struct {
	r        *repairer
	cut      int64
	open     []uint32
	waits    map[uint32][]uint32 // by row: the waits that go there
	syncRows []uint32
	moved    map[uint32][]uint32 // by row: the events that left it
	cuts     int
	lanes    int
	toSync   int
	left     int
}

// maxLanes bounds the sub-rows of a row, which viewers show one below the other.
const maxLanes = 1000

// lay orders the spans of a row: what does not nest goes to the next sub-row.
func (l *layout) lay(row uint32, events []uint32) {
	base := row
	for n := 1; ; n++ {
		out := l.pass(events)
		if len(out) == 0 {
			return
		}
		if !l.r.does["overlaps"] || n > maxLanes {
			l.left += len(out)
			return
		}
		if n == 1 {
			if out = l.toSyncRow(base, out); len(out) == 0 {
				return
			}
		}
		row = l.subRow(base)
		for _, i := range out {
			e := l.r.t.Events.At(i)
			if n == 1 {
				l.moved[base] = append(l.moved[base], i)
				l.lanes++
			}
			e.Row = row
		}
		events = out
	}
}

// pass goes over the spans of one row in the order of time, cuts what overruns by
// little, and returns the spans that have to leave for the others to nest.
func (l *layout) pass(events []uint32) (out []uint32) {
	at := l.r.t.Events.At
	order := func(x, y uint32) int {
		a, b := at(x), at(y)
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.End, a.End), cmp.Compare(x, y))
	}
	if !slices.IsSortedFunc(events, order) {
		events = slices.Clone(events)
		slices.SortFunc(events, order)
	}
	open := l.open[:0]
	for _, i := range events {
		s := at(i)
		for len(open) > 0 && at(open[len(open)-1]).End <= s.Start {
			open = open[:len(open)-1]
		}
		if s.Kind == timeline.Sync && l.overWork(open) {
			out = append(out, i)
			continue
		}
		var gone []uint32
		var stays bool
		if open, gone, stays = l.settle(open, s); !stays {
			out = append(out, i)
			continue
		}
		out = append(out, gone...)
		open = append(open, i)
	}
	l.open = open
	return out
}

// overWork reports whether device work is among the open spans.
func (l *layout) overWork(open []uint32) bool {
	for _, i := range open {
		if l.r.t.Events.At(i).Kind.OnDevice() {
			return true
		}
	}
	return false
}

// settle makes room for span s among the open ones, of which the ends do not grow
// towards the last. Spans that have to leave for it are gone; stays is false if it
// is s that has to.
func (l *layout) settle(open []uint32, s *timeline.Event) (left, gone []uint32, stays bool) {
	at := l.r.t.Events.At
	for {
		first := len(open) // of the open spans, the outermost that s overlaps in part
		for first > 0 && at(open[first-1]).End < s.End {
			first--
		}
		if first == len(open) {
			return open, nil, true
		}
		outer, inner := at(open[first]), at(open[len(open)-1])
		over, beyond := outer.End-s.Start, s.End-outer.End
		switch {
		case beyond <= l.cut && (over > l.cut || beyond <= over):
			s.End = outer.End
			l.cuts++
		case inner.End-s.Start <= l.cut && (over <= l.cut || l.leaves(open[first:], s)):
			inner.End = s.Start
			l.cuts++
			open = open[:len(open)-1]
		case l.leaves(open[first:], s):
			return open[:first], slices.Clone(open[first:]), true
		default:
			return open, nil, false
		}
	}
}

// leaves reports whether the open spans go to a sub-row rather than s, which came
// later: where all of them weigh less.
func (l *layout) leaves(open []uint32, s *timeline.Event) bool {
	for _, i := range open {
		if l.r.weight(l.r.t.Events.At(i)) >= l.r.weight(s) {
			return false
		}
	}
	return true
}

// weight says what stays on a row: work before waits before the annotations drawn
// over it; operators and annotations before the Python functions that open them,
// which end a moment after they began.
func (r *repairer) weight(e *timeline.Event) int {
	switch {
	case e.Kind.OnDevice():
		return 3
	case e.Kind == timeline.Sync:
		return 2
	case e.Kind == timeline.DeviceAnnotation:
		return 1
	case e.Category == r.python:
		return 0
	}
	return 1
}

// followFlows moves the ends of arrows along with the spans that they stood on.
func (r *repairer) followFlows(rows [][]uint32, moved map[uint32][]uint32) {
	t := r.t
	if len(moved) == 0 {
		return
	}
	at := t.Events.At
	for _, row := range sortedKeys(moved) {
		if int(row) >= len(rows) {
			continue // it is new, and nothing stood on it
		}
		slices.SortFunc(rows[row], func(x, y uint32) int {
			return cmp.Or(cmp.Compare(at(x).Start, at(y).Start), cmp.Compare(at(y).End, at(x).End), cmp.Compare(x, y))
		})
	}
	for k := range t.Flows {
		p := &t.Flows[k]
		if moved[p.Row] == nil || int(p.Row) >= len(rows) {
			continue
		}
		list := rows[p.Row]
		n, _ := slices.BinarySearchFunc(list, p.TS, func(i uint32, ts int64) int { return cmp.Compare(at(i).Start, ts+1) })
		// The innermost span there, whose start is the latest.
		for low := max(0, n-maxLook); n > low; n-- {
			if e := at(list[n-1]); e.End >= p.TS {
				p.Row = e.Row
				break
			}
		}
	}
}

// maxLook bounds how far back the span around a time is looked for.
const maxLook = 1000

func sortedKeys(m map[uint32][]uint32) []uint32 {
	var keys []uint32
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
