package correlate

import "github.com/flagos-ai/flagos-trace/timeline"

// indexCalls maps correlation ids to API calls: event index + 1. Where a runtime
// call and a driver call inside it share an id, the outer one counts: it is the
// one that the program made, and two arrows must never leave under one id.
func (b *Builder) indexCalls() *index[uint32] {
	calls := new(index[uint32])
	for i := b.first; i < uint32(b.t.Events.Len()); i++ {
		e := b.t.Events.At(i)
		if !e.Kind.IsAPI() || e.Correlation == 0 {
			continue
		}
		if old := calls.get(e.Correlation); old != 0 {
			o := b.t.Events.At(old - 1)
			b.noted["correlation_of_two_calls"]++
			if o.Start <= e.Start && o.End >= e.End {
				continue
			}
		}
		calls.set(e.Correlation, i+1)
	}
	return calls
}

// link gives every event the External id of its correlation and marks the ends
// of the arrows between API calls and device work.
func (b *Builder) link(calls *index[uint32]) {
	anyOperator := !b.operators.empty()
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
		c.Flags |= timeline.FlowOut
		e.Flags |= timeline.FlowIn
		if e.Kind.OnDevice() && e.Start < c.Start {
			b.noted["device_work_before_its_call"]++
		}
	}
}
