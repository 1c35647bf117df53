package repair

import (
	"math"
	"slices"
	"strconv"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/timeline"
)

const baseKey = "baseTimeNanoseconds"

// Times between these, ns, are since the Unix epoch: 2000 to 2200. Clocks that
// count from a start of a machine do not reach them.
const (
	epochFrom = 946_684_800_000_000_000
	epochTo   = 7_258_118_400_000_000_000
)

// times makes times since the Unix epoch relative to a base. Viewers hold
// microseconds in doubles, which at 10^15 of them have steps of 0.125 or 0.25.
func (r *repairer) times() {
	t := r.t
	if t.Source.Base != 0 {
		return
	}
	first := int64(math.MaxInt64)
	epoch, other := 0, 0
	see := func(ts int64) {
		if ts >= epochFrom && ts < epochTo {
			epoch++
			first = min(first, ts)
		} else {
			other++
		}
	}
	for i := range uint32(t.Events.Len()) {
		if t.Source.Events.At(i).Phase != 'M' {
			see(t.Events.At(i).Start)
		}
	}
	for i := range t.Flows {
		see(t.Flows[i].TS)
	}
	// A few times of another sort, such as 0, are no reason to leave the rest.
	if epoch == 0 || other > epoch/10 {
		return
	}
	base := chrome.BaseTime(first)
	if base == 0 {
		return
	}
	t.Source.Base, t.Source.HasBase = base, true
	r.object()
	value := []byte(strconv.FormatInt(base, 10))
	if at := slices.IndexFunc(t.Metadata, func(m timeline.Property) bool { return m.Key == baseKey }); at >= 0 {
		t.Metadata[at].Raw = value
	} else {
		at := min(t.Source.EventsAt, len(t.Metadata))
		t.Metadata = slices.Insert(t.Metadata, at, timeline.Property{Key: baseKey, Raw: value})
		t.Source.EventsAt = at + 1
	}
	// In memory times stay since the epoch. Those that are not keep their number in
	// the document.
	for i := range uint32(t.Events.Len()) {
		if e := t.Events.At(i); e.Start < base {
			e.Start, e.End = e.Start+base, e.End+base
		}
	}
	for i := range t.Flows {
		if p := &t.Flows[i]; p.TS < base {
			p.TS += base
		}
	}
	r.repaired(timeline.RepairedAbsoluteTimes, epoch)
	r.remains(RemainingStamps, other)
}
