package record

import (
	"github.com/flagos-ai/flagos-trace/correlate"
	"github.com/flagos-ai/flagos-trace/spool"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// clockSamples are the readings of the clocks that a spool holds, in order.
type clockSamples struct{ list []spool.Clock }

func (c *clockSamples) add(s spool.Clock) { c.list = append(c.list, s) }

const (
	// realtimeSlack is how far the tracer's clock may be from CLOCK_REALTIME, ns,
	// and still be it: both are read one after the other, by a thread that may be
	// descheduled in between.
	realtimeSlack = 50_000_000
	// stepSlack is the jitter of two clock readings, ns, above which a change of
	// their difference is a step of the wall clock.
	stepSlack = 1_000_000
)

// choose returns the clock that maps the tracer's times and says what it is. A
// tracer on CLOCK_REALTIME needs no mapping; any other is tied to it by the
// first and the last sample.
func (c *clockSamples) choose() (correlate.Clock, timeline.Clock) {
	about := timeline.Clock{Source: "realtime", StepNS: c.step()}
	var first, last *spool.Clock
	for i := range c.list {
		s := &c.list[i]
		if s.Vendor == 0 {
			continue
		}
		if d := int64(s.Vendor) - s.Realtime; d > -realtimeSlack && d < realtimeSlack {
			return correlate.Realtime{}, about
		}
		if first == nil {
			first = s
		}
		last = s
	}
	if first == nil || last.Vendor <= first.Vendor || last.Realtime <= first.Realtime {
		return correlate.Realtime{}, about
	}
	slope := float64(last.Realtime-first.Realtime) / float64(last.Vendor-first.Vendor)
	about.Source, about.NSPerTick = "ticks", slope
	return correlate.Linear{T0: first.Vendor, NS0: first.Realtime, Slope: slope}, about
}

// step returns the largest step of the wall clock between two samples, ns, nil
// if it never stepped.
func (c *clockSamples) step() *int64 {
	var worst int64
	for i := 1; i < len(c.list); i++ {
		a, b := &c.list[i-1], &c.list[i]
		if a.Monotonic == 0 || b.Monotonic == 0 {
			continue
		}
		d := (b.Realtime - a.Realtime) - (b.Monotonic - a.Monotonic)
		if max(d, -d) > max(worst, -worst) {
			worst = d
		}
	}
	if max(worst, -worst) <= stepSlack {
		return nil
	}
	return &worst
}
