package tracecheck

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// row is a line of the trace, by the raw text of its pid and tid.
type row struct{ pid, tid string }

type rowEvents struct {
	spans  []span
	points []point
}

// span is a span on a row; times in ns relative to the document's base.
type span struct {
	start, end int64
	event      int
}

// point is one end of an arrow.
type point struct {
	ts    int64
	event int
}

// windowCategory is that of the span that shows what time was recorded.
const windowCategory = "Trace"

// windowCheck notes the windows, and how far everything else reaches.
type windowCheck struct {
	windows     []span
	some        bool
	first, last span
}

func (w *windowCheck) add(s span, window bool) {
	switch {
	case window:
		w.windows = append(w.windows, s)
		return
	case !w.some:
		w.some, w.first, w.last = true, s, s
		return
	}
	if s.start < w.first.start {
		w.first = s
	}
	if s.end > w.last.end {
		w.last = s
	}
}

type flowKey struct{ cat, id string }

type flow struct{ first, starts, ends int }

func (c *checker) row(f *fields) *rowEvents {
	key := row{f.pid.Raw, f.tid.Raw}
	r := c.rows[key]
	if r == nil {
		r = &rowEvents{}
		c.rows[key] = r
	}
	return r
}

// finish makes the checks between events, in an order that depends on the
// document alone.
func (c *checker) finish() {
	keys := make([]row, 0, len(c.rows))
	for k := range c.rows {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b row) int {
		return cmp.Or(strings.Compare(a.pid, b.pid), strings.Compare(a.tid, b.tid))
	})
	for _, k := range keys {
		c.nesting(k, c.rows[k])
		c.attached(k, c.rows[k])
	}
	c.windows()
	broken := make([]*flow, 0)
	for _, f := range c.flows {
		c.report.Flows++
		if f.starts != 1 || f.ends < 1 {
			broken = append(broken, f)
		}
	}
	slices.SortFunc(broken, func(a, b *flow) int { return cmp.Compare(a.first, b.first) })
	for _, f := range broken {
		c.find(f.first, "its arrow has %d beginnings and %d ends", f.starts, f.ends)
	}
}

// windows reports what lies outside the recorded window: the first event before it
// and the last one behind it. A merged trace has a window of each of its parts, and
// what lies in one need not lie in the others.
func (c *checker) windows() {
	w := &c.window
	if len(w.windows) == 0 || !w.some {
		return
	}
	first, last := w.windows[0], w.windows[0]
	for _, s := range w.windows[1:] {
		if s.start < first.start {
			first = s
		}
		if s.end > last.end {
			last = s
		}
	}
	if w.first.start < first.start {
		c.find(w.first.event, "it begins before the recorded window, event %d", first.event)
	}
	if w.last.end > last.end {
		c.find(w.last.event, "it ends after the recorded window, event %d", last.event)
	}
}

// nesting reports spans of a row that overlap without one holding the other.
func (c *checker) nesting(k row, r *rowEvents) {
	slices.SortFunc(r.spans, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end), cmp.Compare(a.event, b.event))
	})
	var open []span
	for _, s := range r.spans {
		for len(open) > 0 && open[len(open)-1].end <= s.start {
			open = open[:len(open)-1]
		}
		if len(open) > 0 && s.end > open[len(open)-1].end {
			c.find(s.event, "it overlaps event %d on row pid %s tid %s", open[len(open)-1].event, k.pid, k.tid)
		}
		open = append(open, s)
	}
}

// attached reports ends of arrows that lie on no span of their row. It relies on
// the spans' order.
func (c *checker) attached(k row, r *rowEvents) {
	slices.SortFunc(r.points, func(a, b point) int {
		return cmp.Or(cmp.Compare(a.ts, b.ts), cmp.Compare(a.event, b.event))
	})
	reach, next := int64(math.MinInt64), 0
	for _, p := range r.points {
		for next < len(r.spans) && r.spans[next].start <= p.ts {
			reach = max(reach, r.spans[next].end)
			next++
		}
		if reach < p.ts {
			c.find(p.event, "its arrow is on no span of row pid %s tid %s", k.pid, k.tid)
		}
	}
}

// parseNS reads a number of microseconds as nanoseconds; what is finer than that
// is cut off.
func parseNS(v gjson.Result) (int64, error) {
	if v.Type != gjson.Number {
		return 0, fmt.Errorf("it is missing or not a number")
	}
	text := v.Raw
	if strings.ContainsAny(text, "eE") {
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || math.Abs(f) > 9e15 {
			return 0, fmt.Errorf("%s is out of range", text)
		}
		return int64(math.Round(f * 1e3)), nil
	}
	whole, fraction, _ := strings.Cut(text, ".")
	n, err := strconv.ParseInt(whole+(fraction + "000")[:3], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s is out of range", text)
	}
	return n, nil
}
