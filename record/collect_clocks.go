package record

import (
	"fmt"
	"math"

	"github.com/flagos-ai/flagos-trace/correlate"
	"github.com/flagos-ai/flagos-trace/spool"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// Times that can be nanoseconds since the epoch: 2001 to 2100. Clocks that count
// from the machine's start, in nanoseconds or in ticks of a processor, do not
// get there.
const (
	earliest = 980_000_000_000_000_000
	latest   = 4_100_000_000_000_000_000
)

// epochTimes is CLOCK_REALTIME for the times that can be of it, and no clock for
// others.
var epochTimes = correlate.Within{From: earliest, To: latest, Clock: correlate.Realtime{}}

// recordTimes tells the clocks apart that records' times are of, by their
// values.
type recordTimes struct {
	epoch, other           uint64 // records
	firstEpoch, firstOther uint64 // their first times
	otherEnds              bool   // some only end in another clock
}

func (r *recordTimes) add(t uint64) {
	if t-earliest <= latest-earliest {
		if r.epoch == 0 {
			r.firstEpoch = t
		}
		r.epoch++
		return
	}
	if r.other == 0 {
		r.firstOther = t
	}
	r.other++
}

// addEnd takes note of the end of a record: where its clock was replaced before the
// record ended, and was not the one of any record's start.
func (r *recordTimes) addEnd(t uint64) {
	if t-earliest > latest-earliest && r.other == 0 {
		r.firstOther = t
		r.otherEnds = true
	}
}

// any reports whether there is a time that cannot be of the epoch.
func (r *recordTimes) anyOther() bool { return r.other > 0 || r.otherEnds }

// mixed reports whether there are times of two clocks.
func (r *recordTimes) mixed() bool { return r.epoch > 0 && r.other > 0 }

// unexplained says why n records have no place on the time line.
func (r *recordTimes) unexplained(n uint64, source string) string {
	example := r.firstOther
	if source == timeline.ClockTicks || r.other == 0 {
		example = r.firstEpoch
	}
	if example == 0 {
		example = r.firstOther
	}
	return fmt.Sprintf("%d records, such as one at %d, are in a clock that nothing ties to CLOCK_REALTIME: they are not in the trace", n, example)
}

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

func isRealtime(s *spool.Clock) bool {
	d := int64(s.Vendor) - s.Realtime
	return d > -realtimeSlack && d < realtimeSlack
}

// choose returns what maps the records' times, what it is, and what a person
// should know of it. The tracer's clock may have been replaced by another
// profiler, and replaced again, so each record is mapped by the clock that its
// value belongs to: CLOCK_REALTIME if it can be nanoseconds since the epoch,
// else the ticks that samples of the tracer's clock show, else the processor's
// counter, which is what other profilers count in. own says that the library has a
// clock of its own, which is mapped by its readings whatever it looks like.
func (c *clockSamples) choose(times *recordTimes, own bool) (clock correlate.Clock, about timeline.Clock, note string) {
	if about.StepNS = c.step(); own {
		return c.chooseOwn(about)
	}
	near, read := 0, 0
	for i := range c.list {
		s := &c.list[i]
		switch {
		case s.Vendor == 0:
		case isRealtime(s):
			near++
			read++
		default:
			read++
		}
	}
	ticks := c.vendorLines(near > 0)
	confirmed := len(ticks) > 0
	if times.anyOther() && !confirmed {
		for _, l := range fit(c.readings(func(s *spool.Clock) uint64 { return s.TSC })) {
			if _, ok := correlate.Either(l.clocks).Map(times.firstOther); ok {
				ticks = append(ticks, l)
			}
		}
	}
	about.NSPerTick = oneTick(ticks)
	any := times.epoch+times.other > 0
	switch {
	case read == 0:
		about.Source = timeline.ClockUnknown
		if any {
			note = "the tracer's clock was never read: times that can be nanoseconds since the epoch are taken for CLOCK_REALTIME"
		}
	case !times.anyOther() && near > 0:
		about.Source, about.NSPerTick = timeline.ClockRealtime, 0
		return correlate.Realtime{}, about, ""
	case near > 0 && len(ticks) > 0 || confirmed && times.epoch > 0:
		about.Source = timeline.ClockMixed
		note = fmt.Sprintf("the tracer's clock was replaced while it recorded: %d records are in CLOCK_REALTIME and %d in another clock; each is placed by its own",
			times.epoch, times.other)
	case near > 0:
		about.Source = timeline.ClockRealtime // what has another clock is lost, and counted
	case confirmed:
		about.Source = timeline.ClockTicks
	default:
		about.Source = timeline.ClockUnknown
		note = fmt.Sprintf("the tracer's clock is not CLOCK_REALTIME and was read too seldom to tell the length of its ticks (%d times)", read)
	}
	var all correlate.Either
	if near > 0 {
		all = append(all, epochTimes)
	}
	for _, l := range ticks {
		all = append(all, l.clocks...)
	}
	if near == 0 {
		all = append(all, epochTimes)
	}
	return all, about, note
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

// nearTo reports whether a clock puts t at ns, within the jitter of a sample.
func nearTo(c correlate.Clock, t uint64, ns int64) bool {
	got, ok := c.Map(t)
	return ok && math.Abs(float64(got-ns)) < realtimeSlack
}
