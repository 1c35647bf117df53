package validate

import (
	"cmp"
	"math"
	"slices"

	"github.com/flagos-ai/flagos-trace/internal/hugepage"
)

// span is a span of a row; times in ns.
type span struct {
	ts, end int64
	rec     uint32
}

// byRow lists records by row: those of row r are list[from[r]:from[r+1]].
func (t *trace) byRow(count []uint32, want func(r *record) bool) (list, from []uint32) {
	from = make([]uint32, len(count)+1)
	for i, n := range count {
		from[i+1] = from[i] + n
	}
	list = hugepage.Make[uint32](int(from[len(count)]))
	at := slices.Clone(from)
	t.each(func(i uint32, r *record) {
		if r.flags&hasTS != 0 && want(r) {
			list[at[r.row]] = i
			at[r.row]++
		}
	})
	return list, from
}

// tolerance is how far two times may miss each other by rounding, ns.
func (t *trace) tolerance() int64 {
	switch {
	case !t.fraction:
		return 1000 // both are cut to whole microseconds
	case t.fine:
		return 2
	}
	return 0
}

// checkRows looks at each row's spans in the order of time, and at every span by
// itself.
func checkRows(t *trace, c *collector) {
	tolerance := t.tolerance()
	list, from := t.byRow(t.spansOf, func(r *record) bool { return r.ph == 'X' })
	points, pointsFrom := t.byRow(t.pointsOf, func(r *record) bool { return r.ph == 's' || r.ph == 'f' })
	spans := hugepage.Make[span](int(slices.Max(append([]uint32{0}, t.spansOf...))))
	for row := range t.spansOf {
		spans = spans[:0]
		sorted := true
		for _, rec := range list[from[row]:from[row+1]] {
			r := t.table.at(rec)
			checkSpan(t, c, rec, r)
			if r.flags&hasDur == 0 || r.dur < 0 || r.ts > math.MaxInt64-r.dur {
				continue
			}
			s := span{r.ts, r.ts + r.dur, rec}
			sorted = sorted && (len(spans) == 0 || bySpan(spans[len(spans)-1], s) <= 0)
			spans = append(spans, s)
		}
		if !sorted {
			slices.SortFunc(spans, bySpan)
		}
		t.nesting(c, row, spans, tolerance)
		t.attached(c, points[pointsFrom[row]:pointsFrom[row+1]], spans, tolerance)
	}
	t.rowNames(c)
	if t.begins {
		checkBegins(t, c)
	}
}

func bySpan(a, b span) int {
	switch {
	case a.ts != b.ts:
		return cmp.Compare(a.ts, b.ts)
	case a.end != b.end:
		return cmp.Compare(b.end, a.end)
	}
	return cmp.Compare(a.rec, b.rec)
}

const day = 24 * 3600 * 1_000_000_000

// checkSpan checks what one span says by itself.
func checkSpan(t *trace, c *collector, rec uint32, r *record) {
	if r.kind.onDevice() && r.ts == 0 {
		c.event(rTimeZero, rec, "%s stands at time 0", t.name(r))
	}
	if r.flags&hasDur == 0 || r.kind == kWindow {
		return
	}
	window := t.windowTo - t.windowFrom
	switch {
	case r.dur < 0:
		c.event(rNegative, rec, "%s lasts %s", t.name(r), micro(r.dur))
	case r.dur == 0 && r.kind == kKernel:
		c.event(rZero, rec, "kernel %s lasts 0", t.name(r))
	case r.dur > day || t.hasWindow() && r.dur/10 > window && r.kind != kPython:
		c.event(rAbsurd, rec, "%s lasts %s", t.name(r), micro(r.dur))
	}
	if t.hasWindow() && r.kind != kPython && r.dur >= 0 {
		tolerance := t.tolerance()
		if early := t.windowFrom - r.ts; early > tolerance {
			c.event(rOutside, rec, "%s begins %s before the recorded window", t.name(r), micro(early))
		} else if late := r.end() - t.windowTo; late > tolerance {
			c.event(rOutside, rec, "%s ends %s after the recorded window", t.name(r), micro(late))
		}
	}
}

// nesting finds spans of a row that overlap without one holding the other, and
// spans that stand twice.
func (t *trace) nesting(c *collector, row int, spans []span, tolerance int64) {
	var open []span
	for i, s := range spans {
		if i > 0 && spans[i-1].ts == s.ts && spans[i-1].end == s.end {
			t.twice(c, spans[i-1].rec, s.rec)
		}
		for len(open) > 0 && open[len(open)-1].end <= s.ts {
			open = open[:len(open)-1]
		}
		if n := len(open); n > 0 && s.end > open[n-1].end {
			if over := min(s.end, open[n-1].end) - s.ts; over > tolerance && s.end-open[n-1].end > tolerance {
				t.overlap(c, row, open[n-1], s, over)
			}
		}
		open = append(open, s)
	}
}

func (t *trace) overlap(c *collector, row int, a, b span, over int64) {
	ra, rb := t.table.at(a.rec), t.table.at(b.rec)
	rule := rOverlapHost
	switch {
	case !t.deviceRow[row]:
	case ra.kind == kDeviceAnnotation || rb.kind == kDeviceAnnotation:
		rule = rOverlapAnnotation
	case t.isStreamSync(rb) && ra.kind.onDevice():
		return // see sync-overlap
	default:
		t.overlaps = append(t.overlaps, overlapping{a.rec, b.rec, over}) // checkOverlaps needs the calls
		return
	}
	t.overlapFound(c, rule, a.rec, b.rec, over)
}

func (t *trace) overlapFound(c *collector, rule ruleID, a, b uint32, over int64) {
	ra, rb := t.table.at(a), t.table.at(b)
	c.event(rule, b, "%s begins %s before %s of its row ends (event %d), and ends after it", t.name(rb), micro(over), t.name(ra), ra.index)
}

func (t *trace) isStreamSync(r *record) bool {
	return r.kind == kSync && r.side > 0 && t.syncs.at(r.side-1).kind == syncStream
}

func (t *trace) twice(c *collector, a, b uint32) {
	ra, rb := t.table.at(a), t.table.at(b)
	const same = hasID | hasExt
	if ra.name != rb.name || ra.cat != rb.cat || ra.flags&same != rb.flags&same || ra.flags&same == 0 && (!t.fraction || ra.dur == 0) ||
		ra.flags&hasID != 0 && ra.id != rb.id || ra.flags&hasExt != 0 && ra.ext != rb.ext || !ra.kind.onDevice() && !ra.kind.isAPI() && ra.kind != kOperator {
		return
	}
	c.event(rDuplicateEvent, b, "%s is the same as event %d", t.name(rb), ra.index)
}

// rowNames reports rows and processes with several names.
func (t *trace) rowNames(c *collector) {
	report := func(names map[uint32][]string, what func(uint32) string) {
		var keys []uint32
		for k, n := range names {
			if len(n) > 1 {
				keys = append(keys, k)
			}
		}
		slices.Sort(keys)
		for _, k := range keys {
			c.at(rNamedTwice, 0, "%s has the names %q", what(k), names[k])
		}
	}
	report(t.processNames, func(pid uint32) string { return sprintf("process %s", t.pids.text(pid)) })
	report(t.threadNames, func(row uint32) string {
		text := t.rows.text(row)
		return sprintf("row pid %s tid %s", pidOf(text), tidOf(text))
	})
}

// checkBegins pairs B with E on each row, by time and then by their order.
func checkBegins(t *trace, c *collector) {
	count := make([]uint32, t.rows.len())
	t.each(func(_ uint32, r *record) {
		if r.flags&hasTS != 0 && (r.ph == 'B' || r.ph == 'E') {
			count[r.row]++
		}
	})
	list, from := t.byRow(count, func(r *record) bool { return r.ph == 'B' || r.ph == 'E' })
	for row := range count {
		events := list[from[row]:from[row+1]]
		slices.SortStableFunc(events, func(a, b uint32) int { return cmp.Compare(t.table.at(a).ts, t.table.at(b).ts) })
		var open []uint32
		for _, rec := range events {
			r := t.table.at(rec)
			if r.ph == 'B' {
				open = append(open, rec)
				continue
			}
			// An E without a name closes whatever is open.
			k, low := len(open)-1, max(0, len(open)-maxOpen)
			for k >= low && r.name != 0 && t.table.at(open[k]).name != r.name {
				k--
			}
			switch {
			case k < low:
				c.event(rEndAlone, rec, "no span %s is open on its row", t.name(r))
				continue
			case k < len(open)-1:
				inner := t.table.at(open[len(open)-1])
				c.event(rEndOrder, rec, "%s is closed while %s (event %d) is still open inside it", t.name(r), t.name(inner), inner.index)
			}
			open = slices.Delete(open, k, k+1)
		}
		for _, rec := range open {
			c.event(rBeginAlone, rec, "%s has no end", t.name(t.table.at(rec)))
		}
	}
}

// maxOpen bounds how far down the open spans a name is looked for.
const maxOpen = 1000

// attached finds arrows whose ends are on no span of their row. Points are in the
// order of the document, spans in that of time.
func (t *trace) attached(c *collector, points []uint32, spans []span, tolerance int64) {
	byTime := func(a, b uint32) int { return cmp.Compare(t.table.at(a).ts, t.table.at(b).ts) }
	if !slices.IsSortedFunc(points, byTime) {
		slices.SortStableFunc(points, byTime)
	}
	reach, next := int64(math.MinInt64), 0
	for _, rec := range points {
		r := t.table.at(rec)
		for next < len(spans) && spans[next].ts <= r.ts+tolerance {
			reach = max(reach, spans[next].end)
			next++
		}
		if reach < r.ts-tolerance {
			c.event(rFlowAttached, rec, "the arrow's %s is on no span of its row", endName(r.ph))
		}
	}
}

func endName(ph byte) string {
	if ph == 's' {
		return "beginning"
	}
	return "end"
}
