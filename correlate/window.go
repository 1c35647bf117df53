package correlate

import (
	"math"

	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// longestSpan is how long an event may last, ns, but for ranges that the program marks.
const longestSpan = 3600e9

// mapClock turns the tracer's times into nanoseconds since the epoch, and drops
// the events whose times no clock explains.
func (b *Builder) mapClock() error {
	clock := b.o.Clock
	if c := b.t.Completeness; c != nil && c.Clock.Source == "" {
		c.Clock.Source = "realtime"
		if l, ok := clock.(Linear); ok {
			c.Clock = timeline.Clock{Source: "ticks", NSPerTick: l.Slope}
		}
	}
	if b.o.Fit != nil {
		fitted, err := b.fit()
		if err != nil {
			return err
		}
		clock = fitted
		if b.o.Fit.Known != nil {
			clock = Either{b.o.Fit.Known, fitted}
		}
	}
	if _, same := clock.(Realtime); same {
		return nil
	}
	keep := b.first
	for i := b.first; i < uint32(b.t.Events.Len()); i++ {
		e := b.t.Events.At(i)
		start, ok := clock.Map(uint64(e.Start))
		if ok && e.Flags&timeline.Unfinished == 0 {
			e.End, ok = clock.Map(uint64(e.End))
		}
		if ok && e.Flags&timeline.Unfinished == 0 && e.End-start > longestSpan && e.Kind != timeline.Host {
			ok = false // its times are of two clocks, and one is not what it seems
		}
		if !ok {
			b.dropped[timeline.DropOtherClock]++
			continue
		}
		e.Start = start
		if e.Flags&timeline.Unfinished == 0 {
			e.End = max(e.End, start) // the clock changed in between: they are mapped apart
		}
		if keep != i {
			*b.t.Events.At(keep) = *e
		}
		keep++
	}
	b.t.Events.Truncate(int(keep))
	return nil
}

// applyWindow drops the tracer's own calls and the events that do not lie wholly
// inside the window. If none was given it becomes the span of all events. An
// event that never ended is taken to last until the window's end.
func (b *Builder) applyWindow() {
	n := uint32(b.t.Events.Len())
	w := b.o.Window
	if w != nil && (w.Start < 0 || w.End < w.Start) {
		w = nil // damaged: no span of time
		b.noted["window_not_plausible"]++
	}
	if w == nil {
		w = &timeline.Window{Start: math.MaxInt64, End: math.MinInt64}
		for i := range n {
			e := b.t.Events.At(i)
			w.Start, w.End = min(w.Start, e.Start), max(w.End, e.Start, e.End)
		}
		if n == 0 {
			*w = timeline.Window{}
		}
	}
	keep, last := b.first, w.Start
	for i := b.first; i < n; i++ {
		e := b.t.Events.At(i)
		if e.Flags&timeline.Unfinished != 0 {
			e.End = e.Start
			if w.End != math.MaxInt64 {
				e.End = max(w.End, e.Start)
			}
		}
		if e.Kind.IsAPI() && b.o.OwnThreads[int64(b.threadList[e.Row].tid)] {
			b.dropped[timeline.DropOwnCalls]++
			continue
		}
		if e.End < e.Start && e.Kind != timeline.Host {
			b.dropped[timeline.DropOtherClock]++ // its times are of two clocks, and one of them is not known
			continue
		}
		if e.Start < w.Start || e.End > w.End {
			b.dropped[timeline.DropOutOfWindow]++
			continue
		}
		if keep != i {
			*b.t.Events.At(keep) = *e
		}
		keep++
		last = max(last, e.End)
	}
	b.t.Events.Truncate(int(keep))
	b.t.Window = *w
	if w.End == math.MaxInt64 {
		b.t.Window.End = last
		b.endUnfinished(last)
	}
}

// endUnfinished lets the events that never ended last until the given time.
func (b *Builder) endUnfinished(end int64) {
	for i := b.first; i < uint32(b.t.Events.Len()); i++ {
		if e := b.t.Events.At(i); e.Flags&timeline.Unfinished != 0 {
			e.End = end
		}
	}
}

// closeWindow widens the window to the host's events, which are never dropped,
// so that the spans that stand for the window enclose everything.
func (b *Builder) closeWindow() {
	w := &b.t.Window
	for i := range uint32(b.t.Events.Len()) {
		e := b.t.Events.At(i)
		w.Start, w.End = min(w.Start, e.Start), max(w.End, e.End)
	}
	for _, f := range b.t.Flows {
		w.Start, w.End = min(w.Start, f.TS), max(w.End, f.TS)
	}
}

// count puts what was counted into the completeness record.
func (b *Builder) count() {
	c := b.t.Completeness
	if c == nil {
		return
	}
	c.Received = map[string]uint64{}
	for k, n := range b.received {
		if n > 0 {
			c.Received[event.Kind(k).String()] = n
		}
	}
	c.Written = map[string]uint64{}
	for i := range uint32(b.t.Events.Len()) {
		c.Written[b.t.Events.At(i).Kind.String()]++
	}
	c.Dropped = addCounts(c.Dropped, b.dropped)
	c.Unlinked = addCounts(c.Unlinked, b.unlinked)
	c.Noted = addCounts(c.Noted, b.noted)
}

func addCounts(to, from map[string]uint64) map[string]uint64 {
	for k, n := range from {
		if n == 0 {
			continue
		}
		if to == nil {
			to = map[string]uint64{}
		}
		to[k] += n
	}
	return to
}
