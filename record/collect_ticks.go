package record

import (
	"math"
	"slices"

	"github.com/flagos-ai/flagos-trace/correlate"
	"github.com/flagos-ai/flagos-trace/spool"
)

// reading is one value of a tick counter with the time it was read at.
type reading struct {
	ticks               uint64
	realtime, monotonic int64 // ns; monotonic 0 if it is not known
}

// between returns the time from one reading to another, ns.
func between(a, b reading) float64 {
	if a.monotonic != 0 && b.monotonic != 0 {
		return float64(b.monotonic - a.monotonic)
	}
	return float64(b.realtime - a.realtime)
}

// tickLine is a tick counter tied to CLOCK_REALTIME: one clock for each stretch
// between two steps of the wall clock.
type tickLine struct {
	slope  float64 // ns per tick
	clocks []correlate.Clock
}

// oneTick returns the length of a tick, ns, where all lines agree on it to a
// part in ten thousand, else 0.
func oneTick(lines []tickLine) float64 {
	for _, l := range lines {
		if math.Abs(l.slope/lines[0].slope-1) > 1e-4 {
			return 0
		}
	}
	if len(lines) == 0 {
		return 0
	}
	return lines[0].slope
}

const (
	// reach is how far, in ns, a counter is followed beyond its first and last
	// reading. Readings are a second apart, and more where the library blocks.
	reach = 60e9
	// Plausible lengths of a tick, ns: from 100 GHz to one a second.
	shortestTick, longestTick = 0.01, 1e9
	// rateSlack is how much two readings may differ from the rate of those before
	// and still be of the same counter: rateSlack of the time plus realtimeSlack.
	rateSlack = 0.01
	// shortRun is the time, ns, below which readings say little of a tick's length: a
	// microsecond of jitter in it is more than a part in a million.
	shortRun = 1e9
)

// vendorLines ties the tracer's own clock, where it was not CLOCK_REALTIME, to
// it: a line for each counter that it was in turn. hasRealtime says that it was
// CLOCK_REALTIME at times; readings near the epoch are then late readings of it.
func (c *clockSamples) vendorLines(hasRealtime bool) (lines []tickLine) {
	var run []reading
	flush := func() {
		var l []tickLine
		if len(run) > 0 && between(run[0], run[len(run)-1]) < shortRun {
			l = c.known(run...)
		}
		if len(l) == 0 {
			l = fit(run)
		}
		lines = append(lines, l...)
		run = nil
	}
	for i := range c.list {
		s := &c.list[i]
		if s.Vendor == 0 || isRealtime(s) || hasRealtime && s.Vendor-earliest <= latest-earliest {
			continue
		}
		r := reading{s.Vendor, s.Realtime, s.Monotonic}
		if !continues(run, r) {
			flush()
		}
		run = append(run, r)
	}
	flush()
	return lines
}

// continues reports whether a reading can be of the counter that the readings
// before it are of.
func continues(run []reading, r reading) bool {
	if len(run) == 0 {
		return true
	}
	last := run[len(run)-1]
	if r.ticks <= last.ticks {
		return false
	}
	dt, n := between(last, r), float64(r.ticks-last.ticks)
	if len(run) == 1 {
		slope := dt / n
		return slope >= shortestTick && slope <= longestTick
	}
	slope := between(run[0], last) / float64(last.ticks-run[0].ticks)
	return math.Abs(n*slope-dt) <= math.Abs(dt)*rateSlack+realtimeSlack
}

// known looks for the counter that a few readings are of among those of which there
// are more.
func (c *clockSamples) known(run ...reading) []tickLine {
	for _, of := range []func(*spool.Clock) uint64{
		func(s *spool.Clock) uint64 { return s.TSC },
		func(s *spool.Clock) uint64 { return uint64(s.Monotonic) },
		func(s *spool.Clock) uint64 { return uint64(s.MonotonicRaw) },
	} {
		for _, l := range fit(c.readings(of)) {
			if !slices.ContainsFunc(run, func(r reading) bool { return !nearTo(correlate.Either(l.clocks), r.ticks, r.realtime) }) {
				return []tickLine{l}
			}
		}
	}
	return nil
}

// readings lists the readings of a clock; 0 means that it could not be read.
func (c *clockSamples) readings(of func(*spool.Clock) uint64) (list []reading) {
	for i := range c.list {
		if s := &c.list[i]; of(s) != 0 {
			list = append(list, reading{of(s), s.Realtime, s.Monotonic})
		}
	}
	return list
}

// fit ties the readings of one counter to CLOCK_REALTIME; none if there are too
// few of them, or it does not count up. The length of a tick is taken over the
// whole time, by the clock that does not step.
func fit(run []reading) []tickLine {
	if len(run) < 2 {
		return nil
	}
	first, last := run[0], run[len(run)-1]
	if last.ticks <= first.ticks {
		return nil
	}
	slope := between(first, last) / float64(last.ticks-first.ticks)
	if !(slope >= shortestTick && slope <= longestTick) {
		return nil
	}
	margin := uint64(reach / slope)
	l := tickLine{slope: slope}
	from := first.ticks - min(first.ticks, margin)
	for i := 0; i < len(run); {
		j := i + 1
		for j < len(run) && !stepped(run[j-1], run[j]) {
			j++
		}
		to := uint64(math.MaxUint64)
		if j < len(run) {
			to = run[j].ticks - 1
		} else if last.ticks < math.MaxUint64-margin {
			to = last.ticks + margin
		}
		l.clocks = append(l.clocks, correlate.Within{From: from, To: to,
			Clock: correlate.Linear{T0: run[i].ticks, NS0: run[i].realtime, Slope: slope}})
		from, i = to+1, j
	}
	return []tickLine{l}
}

// stepped reports whether the wall clock was set between two readings.
func stepped(a, b reading) bool {
	if a.monotonic == 0 || b.monotonic == 0 {
		return false
	}
	d := (b.realtime - a.realtime) - (b.monotonic - a.monotonic)
	return d > stepSlack || d < -stepSlack
}
