package correlate

import (
	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// indexCalls maps correlation ids to API calls: event index + 1. Where several
// calls have one id only one counts, since two arrows must never leave under one
// id: of those that start work, if there are any, the outer one where they nest (a runtime call and the driver call inside
// it), else the latest that began before the work.
func (b *Builder) indexCalls() *index[uint32] {
	calls := new(index[uint32])
	several := map[uint64][]uint32{}
	for i := b.first; i < uint32(b.t.Events.Len()); i++ {
		e := b.t.Events.At(i)
		if !e.Kind.IsAPI() || e.Correlation == 0 {
			continue
		}
		if old := calls.get(e.Correlation); old != 0 {
			if several[e.Correlation] == nil {
				several[e.Correlation] = []uint32{old - 1}
			}
			several[e.Correlation] = append(several[e.Correlation], i)
			continue
		}
		calls.set(e.Correlation, i+1)
	}
	if len(several) > 0 {
		work := b.firstWork(several)
		for id, list := range several {
			b.noted["correlation_of_several_calls"]++
			best := b.caller(list, work[id])
			calls.set(id, best+1)
			b.around(list, best)
		}
	}
	return calls
}

// firstWork returns when the earliest device work of each id began.
func (b *Builder) firstWork(ids map[uint64][]uint32) map[uint64]int64 {
	first := map[uint64]int64{}
	for i := b.first; i < uint32(b.t.Events.Len()); i++ {
		e := b.t.Events.At(i)
		if !e.Kind.OnDevice() || ids[e.Correlation] == nil {
			continue
		}
		if t, ok := first[e.Correlation]; !ok || e.Start < t {
			first[e.Correlation] = e.Start
		}
	}
	return first
}

// caller chooses among calls of one correlation id the one that started work
// which began at the given time.
func (b *Builder) caller(calls []uint32, work int64) uint32 {
	calls = b.starters(calls)
	best := calls[0]
	for _, i := range calls[1:] {
		e, c := b.t.Events.At(best), b.t.Events.At(i)
		switch {
		case c.Start <= e.Start && c.End >= e.End: // c is around e
			best = i
		case e.Start <= c.Start && e.End >= c.End:
		case e.Start > work && c.Start < e.Start, c.Start <= work && c.Start > e.Start:
			best = i
		}
	}
	return best
}

// around takes note of calls that have the id of a launch within them, or around them,
// because the library gives it to all of these: one call of a kind is to have it in the
// end, or whoever joins by ids has the device's work twice.
func (b *Builder) around(calls []uint32, launch uint32) {
	l := b.t.Events.At(launch)
	for _, i := range calls {
		e := b.t.Events.At(i)
		if i != launch && e.Kind == l.Kind && b.t.Calls.At(e.Detail).Has&event.NoCallID != 0 {
			b.aroundLaunch = append(b.aroundLaunch, i)
		}
	}
}

// leaveOneID takes the ids off those calls, once everything was joined by them.
func (b *Builder) leaveOneID() {
	for _, i := range b.aroundLaunch {
		b.t.Events.At(i).Correlation = 0
	}
	if n := len(b.aroundLaunch); n > 0 {
		b.noted["calls_around_a_launch"] = uint64(n)
	}
}

// starters leaves of calls those that start work, by their names, if any do: libraries
// may give one id to all calls that a launch is made of.
func (b *Builder) starters(calls []uint32) []uint32 {
	var list []uint32
	for _, i := range calls {
		if b.t.Calls.At(b.t.Events.At(i).Detail).Has&event.StartsWork != 0 {
			list = append(list, i)
		}
	}
	if len(list) == 0 {
		return calls
	}
	return list
}

// link gives every event the External id of its correlation and marks the ends
// of the arrows between API calls and device work.
func (b *Builder) link(calls *index[uint32]) {
	anyOperator := !b.operators.empty()
	starters, started := uint64(0), uint64(0) // calls that start work, and those whose work is here
	for i := b.first; i < uint32(b.t.Events.Len()); i++ {
		e := b.t.Events.At(i)
		if e.Correlation == 0 {
			continue
		}
		if anyOperator && e.Kind != timeline.Overhead {
			if x := b.operators.get(e.Correlation); x.has {
				e.External = x.id
				e.Flags |= timeline.HasExternal
			}
		}
		if e.Kind.IsAPI() && b.t.Calls.At(e.Detail).Has&event.StartsWork != 0 && calls.get(e.Correlation) == i+1 {
			starters++
		}
		if !e.Kind.OnDevice() && e.Kind != timeline.Sync {
			continue
		}
		call := calls.get(e.Correlation)
		if call == 0 {
			if e.Kind.OnDevice() {
				b.unlinked[e.Kind.String()]++
			}
			continue
		}
		c := b.t.Events.At(call - 1)
		if c.Flags&timeline.FlowOut == 0 && b.t.Calls.At(c.Detail).Has&event.StartsWork != 0 {
			started++
		}
		c.Flags |= timeline.FlowOut
		e.Flags |= timeline.FlowIn
		if e.Start < c.Start && e.End >= c.Start && b.t.HostTimed(e) {
			// The library took the time before the call did: of one call, twice.
			b.noted["copies_cut_to_their_call"]++
			e.Start = c.Start
		}
		if e.Kind.OnDevice() && e.Start < c.Start {
			b.noted["device_work_before_its_call"]++
		}
	}
	if starters > started {
		b.noted["calls_without_device_work"] = starters - started
	}
}
