package correlate

import "math"

// Clock maps the tracer's times to nanoseconds since the Unix epoch.
type Clock interface{ Map(t uint64) int64 }

// Realtime is the clock of a tracer whose times are nanoseconds since the epoch
// already, which is CUPTI's default.
type Realtime struct{}

// Map returns t.
func (Realtime) Map(t uint64) int64 { return int64(t) }

// Linear maps ticks: tick T0 was at NS0, and a tick lasts Slope nanoseconds.
// Differences from T0 are taken as integers first: a tick count may be too large
// for a float64's 53 bits.
type Linear struct {
	T0    uint64
	NS0   int64
	Slope float64 // ns per tick
}

// Map returns the time of tick t.
func (l Linear) Map(t uint64) int64 {
	return l.NS0 + int64(math.Round(float64(int64(t-l.T0))*l.Slope))
}
