package record

import (
	"math"
	"slices"

	"github.com/flagos-ai/flagos-trace/correlate"
	"github.com/flagos-ai/flagos-trace/spool"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// windows returns the spans that were recorded, in order: what was opened and
// closed by request, and before the first request what runs from arming the
// tracer on, unless recording was paused then. A span that nobody closed ends
// with the process, or where that did not say so with what was recorded last.
// There is at least one, which is empty if recording was never started.
func (c *spoolCollector) windows() []timeline.Window {
	const none = math.MinInt64
	start := c.header.StartNS
	if c.header.Paused {
		start = none
	}
	var list []timeline.Window
	for i, m := range c.marks {
		switch {
		case m.Open && (i == 0 || start == none):
			start = m.NS
		case !m.Open && start != none:
			list = append(list, timeline.Window{Start: start, End: m.NS})
			start = none
		}
	}
	if start != none {
		w := timeline.Window{Start: start, End: math.MaxInt64}
		if c.end != nil {
			w.End = c.end.NS
		}
		list = append(list, w)
	}
	if len(list) == 0 {
		return []timeline.Window{{Start: c.header.StartNS, End: c.header.StartNS}}
	}
	if c.header.Segment == 0 {
		return list
	}
	// What ended before the oldest segment began may have been in one that is gone.
	from := c.oldest
	list = slices.DeleteFunc(list, func(w timeline.Window) bool { return w.End <= from })
	if len(list) == 0 {
		return []timeline.Window{{Start: from, End: from}}
	}
	list[0].Start = max(list[0].Start, from)
	return list
}

// whole is the window of the trace, from the first of several to the last.
func whole(list []timeline.Window) timeline.Window {
	return timeline.Window{Start: list[0].Start, End: list[len(list)-1].End}
}

// gapClock maps no time that lies between two windows, and counts those.
type gapClock struct {
	correlate.Clock
	windows []timeline.Window
	dropped uint64
}

// Map is that of the clock within the windows, and before the first and behind
// the last.
func (g *gapClock) Map(t uint64) (int64, bool) {
	ns, ok := g.Clock.Map(t)
	if !ok {
		return 0, false
	}
	for i := 1; i < len(g.windows); i++ {
		if ns > g.windows[i-1].End && ns < g.windows[i].Start {
			g.dropped++
			return 0, false
		}
	}
	return ns, true
}

// settle moves the records between the windows, which the join counts as of a
// clock that nobody knows, to those outside the window. An event is asked for
// until one of its times is not mapped, so it was counted once.
func (g *gapClock) settle(rec *timeline.Completeness) {
	if g.dropped == 0 {
		return
	}
	if rec.Dropped[timeline.DropOtherClock] -= g.dropped; rec.Dropped[timeline.DropOtherClock] == 0 {
		delete(rec.Dropped, timeline.DropOtherClock)
	}
	rec.Dropped[timeline.DropOutOfWindow] += g.dropped
}

// Counts of what was left out as asked, in Completeness.Noted.
const (
	notedRing    = "ring_dropped_bytes"
	notedMaxSize = "max_size_dropped_bytes"
	notedWindows = "windows" // if there are several
)

// notes takes over what the agent left out as it was told.
func (c *spoolCollector) notes(n spool.Counters, windows int) {
	for code, count := range map[string]uint64{notedRing: n.RingDropped, notedMaxSize: n.BytesOverSize, notedWindows: uint64(windows)} {
		if count == 0 || code == notedWindows && count == 1 {
			continue
		}
		if c.rec.Noted == nil {
			c.rec.Noted = map[string]uint64{}
		}
		c.rec.Noted[code] = count
	}
}
