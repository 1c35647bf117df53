package repair

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/flagos-ai/flagos-trace/timeline"
)

// device is what shows as one device: the pid of its rows.
type device struct {
	pid  int64
	text string
}

func deviceOf(row *timeline.Row) device { return device{row.PID, row.PIDText} }

func (d device) String() string {
	if d.text != "" {
		return d.text
	}
	return strconv.FormatInt(d.pid, 10)
}

// clock shifts devices whose work begins before the calls that launched it: the
// device's clock was fitted to the host's badly, and an effect never comes before
// its cause.
func (r *repairer) clock() {
	t := r.t
	calls := r.firstCalls()
	lags := map[device][]int64{}
	for i := range uint32(t.Events.Len()) {
		e := t.Events.At(i)
		if !e.Kind.OnDevice() || e.Correlation == 0 || !r.isSpan(i, e) || e.Start == t.Source.Base {
			continue // what stands at 0 was not measured
		}
		if launch, ok := calls[e.Correlation]; ok {
			d := deviceOf(&t.Rows[e.Row])
			lags[d] = append(lags[d], e.Start-launch)
		}
	}
	shifts := map[device]*Shift{}
	for d, list := range lags {
		slices.Sort(list)
		before, _ := slices.BinarySearch(list, -r.slack())
		if before == 0 {
			continue
		}
		left, shift := fit(list[:before], len(list))
		s := &Shift{DeviceShift: timeline.DeviceShift{Device: d.String(), NS: shift}, Pairs: len(list), Before: before, Left: left}
		r.remains(RemainingBeforeLaunch, left)
		shifts[d] = s
	}
	moved := r.shift(shifts)
	for _, s := range shifts {
		r.report.Shifts = append(r.report.Shifts, *s)
	}
	slices.SortFunc(r.report.Shifts, func(a, b Shift) int { return cmp.Compare(a.Device, b.Device) })
	r.repaired("device_times_shifted", moved)
}

// slack is how far an effect may come before its cause by rounding, ns.
func (r *repairer) slack() int64 {
	if r.t.Source.Whole {
		return 1000
	}
	return 0
}

// firstCalls maps the correlation ids that device work has to the start of their
// first API call. An id that several processes use has the first of them, so that
// work is held to be late only where it is for all.
func (r *repairer) firstCalls() map[uint64]int64 {
	t := r.t
	calls := map[uint64]int64{}
	for i := range uint32(t.Events.Len()) {
		e := t.Events.At(i)
		if !e.Kind.IsAPI() || e.Correlation == 0 || !r.isSpan(i, e) {
			continue
		}
		if at, ok := calls[e.Correlation]; !ok || e.Start < at {
			calls[e.Correlation] = e.Start
		}
	}
	return calls
}

// Single records whose time is wrong are told from a clock that is off by this: a
// clock is off for the records beside as well, so that the largest violation has
// others of at least half its size with it. Of a trace that has fewer than five
// pairs, half of them are enough.
const (
	support   = 3
	outliers  = 100 // at most one in so many pairs is passed over
	supported = 2   // a violation supports one of up to this times its size
)

// fit returns the shift, ns, that brings the first lags, which are negative and
// ascending, to 0, and how many were passed over as single outliers. 0: there is
// no shift that enough of them agree on.
func fit(lags []int64, pairs int) (left int, shift int64) {
	need := min(support, (pairs+1)/2)
	for i, lag := range lags {
		if i > pairs/outliers {
			break
		}
		n, _ := slices.BinarySearch(lags[i:], lag/supported+1)
		if n >= need {
			return i, -lag
		}
	}
	return len(lags), 0
}

// shift moves everything that is in a device's time: its work, annotations drawn
// over it, and arrows' ends. Waits are host time and stay.
func (r *repairer) shift(shifts map[device]*Shift) (moved int) {
	t := r.t
	by := make([]*Shift, len(t.Rows))
	any := false
	for i := range t.Rows {
		if s := shifts[deviceOf(&t.Rows[i])]; s != nil && s.NS != 0 {
			by[i], any = s, true
		}
	}
	if !any {
		return 0
	}
	// Where loose ends of arrows stand: on device work, or on something else.
	ends := r.looseEnds(by)
	for i := range uint32(t.Events.Len()) {
		e := t.Events.At(i)
		s := by[e.Row]
		if s == nil || !e.Kind.OnDevice() && e.Kind != timeline.DeviceAnnotation {
			continue
		}
		if e.Start == t.Source.Base && e.Kind.OnDevice() || e.End > math.MaxInt64-s.NS {
			continue
		}
		for _, f := range ends[stand{e.Row, e.Start}] {
			t.Flows[f].TS = e.Start + s.NS
		}
		e.Start, e.End = e.Start+s.NS, e.End+s.NS
		s.Events++
		moved++
	}
	return moved
}

// stand is a place where an arrow can end.
type stand struct {
	row uint32
	ts  int64
}

// looseEnds lists the arrows' ends on some rows that are no event's flag.
func (r *repairer) looseEnds(rows []*Shift) map[stand][]int {
	ends := map[stand][]int{}
	for i := range r.t.Flows {
		if p := &r.t.Flows[i]; rows[p.Row] != nil {
			k := stand{p.Row, p.TS}
			ends[k] = append(ends[k], i)
		}
	}
	return ends
}
