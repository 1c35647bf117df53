package ranks

import (
	"github.com/flagos-ai/flagos-trace/merge"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// Arrows draws the operations that ranks have in common into the trace they were
// collected from: from the rank that began last, for which the others waited, to
// each of the others, or from a send to its receive. They are arrows of a category of
// their own (merge.CollectiveArrow). It returns how many arrows were drawn.
//
// An arrow stands on kernels at both ends: it leaves at the start of the one and
// arrives at the end of the other, or, where that ends earlier, at its start. Ids are
// above those of all arrows of the trace.
func Arrows(t *timeline.Trace, ranks []*Rank, matches []Match) int {
	name := t.Strings.ID(merge.CollectiveArrow)
	id := uint64(0)
	for i := range t.Flows {
		if t.Flows[i].ID < 1<<53 {
			id = max(id, t.Flows[i].ID)
		}
	}
	drawn := 0
	event := func(s Side) *timeline.Event { return t.Events.At(ranks[s.Rank].Ops[s.Op].Event) }
	for i := range matches {
		m := &matches[i]
		from := m.Sides[0]
		for _, s := range m.Sides[1:] {
			if event(s).Start > event(from).Start {
				from = s
			}
		}
		for _, s := range m.Sides {
			if k := ranks[s.Rank].Whats[ranks[s.Rank].Ops[s.Op].What].Kind; k == Send {
				from = s
			}
		}
		for _, s := range m.Sides {
			if s.Rank == from.Rank {
				continue
			}
			a, b := event(from), event(s)
			at := max(b.End-1, b.Start)
			if at < a.Start { // it was not waited for
				at = b.Start
			}
			if at < a.Start {
				continue // an arrow does not go back in time
			}
			id++
			drawn++
			point(t, timeline.FlowPoint{ID: id, TS: a.Start, Row: a.Row, Name: name, Start: true})
			point(t, timeline.FlowPoint{ID: id, TS: at, Row: b.Row, Name: name, Enclosing: true})
		}
	}
	return drawn
}

func point(t *timeline.Trace, f timeline.FlowPoint) {
	t.Flows = append(t.Flows, f)
	if t.Source != nil {
		t.Source.Flows.Add(timeline.SourceFlow{})
	}
}
