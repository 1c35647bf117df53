package correlate

import "math"

// Clock maps the tracer's times to nanoseconds since the Unix epoch. It reports
// false for a time that is not one of its own.
type Clock interface {
	Map(t uint64) (ns int64, ok bool)
}

// Realtime is the clock of a tracer whose times are nanoseconds since the epoch
// already, which is CUPTI's default.
type Realtime struct{}

// Map returns t.
func (Realtime) Map(t uint64) (int64, bool) { return int64(t), t <= math.MaxInt64 }

// Linear maps ticks: tick T0 was at NS0, and a tick lasts Slope nanoseconds.
// Differences from T0 are taken as integers first: a tick count may be too large
// for a float64's 53 bits. T0 should therefore be near the times to map.
type Linear struct {
	T0    uint64
	NS0   int64
	Slope float64 // ns per tick
}

// Map returns the time of tick t, or false and the nearest time there is if an
// int64 cannot hold it.
func (l Linear) Map(t uint64) (int64, bool) {
	d := float64(t - l.T0)
	if t < l.T0 {
		d = -float64(l.T0 - t)
	}
	d = math.Round(d * l.Slope)
	const limit = 1 << 63
	if !(d > -limit && d < limit) {
		return clamped(d > 0), false
	}
	ns := l.NS0 + int64(d)
	if (ns > l.NS0) != (d > 0) && d != 0 {
		return clamped(d > 0), false
	}
	return ns, true
}

func clamped(late bool) int64 {
	if late {
		return math.MaxInt64
	}
	return math.MinInt64
}

// Within restricts a clock to the times from From to To, both included.
type Within struct {
	From, To uint64
	Clock    Clock
}

// Map asks the clock for times in the range.
func (w Within) Map(t uint64) (int64, bool) {
	if t < w.From || t > w.To {
		return 0, false
	}
	return w.Clock.Map(t)
}

// Either is the first of several clocks that knows a time. A tracer has several
// where another profiler replaced its clock for a while.
type Either []Clock

// Map asks the clocks in order.
func (e Either) Map(t uint64) (int64, bool) {
	for _, c := range e {
		if ns, ok := c.Map(t); ok {
			return ns, true
		}
	}
	return 0, false
}
