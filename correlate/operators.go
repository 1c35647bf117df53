package correlate

import "github.com/flagos-ai/flagos-trace/timeline"

// countOperators puts into the completeness record how API calls and device work
// were linked. Nothing is said where there is no host side at all.
func (b *Builder) countOperators(calls *index[uint32]) {
	c := b.t.Completeness
	if c == nil || c.Operators == nil && b.first == 0 && len(b.sessions) == 0 && b.operators.empty() {
		return
	}
	if c.Operators == nil {
		c.Operators = new(timeline.Operators)
	}
	o := c.Operators
	operator := b.t.Strings.ID(categoryOperator)
	for i := range b.first {
		e := b.t.Events.At(i)
		if e.Category != operator {
			continue
		}
		o.Seen++
		if e.Flags&timeline.Unfinished != 0 {
			b.hostNoted[HostUnfinished]++
		}
	}
	o.Agreed, o.Disagreed = b.agreed, b.disagreed
	if n := len(b.hosts().operators.many); n > 0 {
		b.hostNoted[HostRepeatedIDs] = uint64(n)
	}
	callsUnlinked, deviceUnlinked := map[string]uint64{}, map[string]uint64{}
	anyHost := b.first > 0
	for i := b.first; i < uint32(b.t.Events.Len()); i++ {
		e := b.t.Events.At(i)
		linked := e.Flags&timeline.HasExternal != 0
		switch {
		case e.Kind.IsAPI() && linked && b.byTime.get(e.Correlation):
			o.LinkedByTime++
		case e.Kind.IsAPI() && linked:
			o.LinkedByID++
			if anyHost {
				if _, ok := b.named(b.hosts().operators, e.External, e.Start); !ok {
					b.hostNoted[HostUnnamedIDs]++
				}
			}
		case e.Kind.IsAPI():
			callsUnlinked[b.whyUnlinked(e)]++
		case !e.Kind.OnDevice():
		case linked:
			o.DeviceLinked++
		default:
			why := timeline.UnlinkedNoCall
			if call := calls.get(e.Correlation); call != 0 && e.Correlation != 0 {
				why = b.whyUnlinked(b.t.Events.At(call - 1))
			}
			deviceUnlinked[why]++
		}
	}
	o.CallsUnlinked = addCounts(o.CallsUnlinked, callsUnlinked)
	o.DeviceUnlinked = addCounts(o.DeviceUnlinked, deviceUnlinked)
	o.Noted = addCounts(o.Noted, b.hostNoted)
}

// whyUnlinked says why a call has no operator.
func (b *Builder) whyUnlinked(call *timeline.Event) string {
	if b.unnamed.get(call.Correlation) {
		return timeline.UnlinkedUnnamed
	}
	return b.unlinkedReason(middle(call), b.threadSeen[call.Row])
}

// What is counted in Operators.Noted.
const (
	// HostUnfinished are operators that had not ended when their session did.
	HostUnfinished = "operators_cut_at_the_end_of_a_session"
	// HostRepeatedIDs are external ids that stand for several operators: time tells
	// which is meant.
	HostRepeatedIDs = "external_ids_of_several_operators"
	// HostUnnamedIDs are API calls linked by an id of which there is no operator in the
	// trace.
	HostUnnamedIDs = "calls_whose_operator_is_not_in_the_trace"
)
