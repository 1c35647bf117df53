package record

import (
	"github.com/flagos-ai/flagos-trace/host"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// addHost puts the host's rows, operators and arrows into the trace. It must be
// called before open: what the builder joins comes behind the host's events.
func (c *collector) addHost(h *host.Host) {
	t := c.trace
	t.Process, t.Devices, t.Metadata = h.Process, h.Devices, h.Metadata
	ids := make([]uint32, h.Strings.Len())
	for i := range ids {
		ids[i] = t.Strings.ID(h.Strings.At(uint32(i)))
	}
	for _, th := range h.Threads {
		t.Row(timeline.Row{PID: th.PID, TID: th.TID, Name: th.Name, Kind: timeline.RowThread})
	}
	for i := range h.Ops {
		op := &h.Ops[i]
		e := timeline.Event{
			Kind: timeline.Host, Start: op.Start, End: op.End, Name: ids[op.Name], Category: ids[op.Category],
			Row:    t.Row(timeline.Row{PID: op.PID, TID: op.TID, Kind: timeline.RowThread}),
			Detail: t.Args.Add(op.Args), External: op.External,
		}
		if op.HasExternal {
			e.Flags |= timeline.HasExternal
		}
		if op.Unfinished {
			e.Flags |= timeline.Unfinished
		}
		t.Events.Add(e)
	}
	whole := wholeArrows(h.Flows)
	for _, f := range h.Flows {
		if !whole[arrow{f.Name, f.ID}] {
			if c.rec.Noted == nil {
				c.rec.Noted = map[string]uint64{}
			}
			c.rec.Noted[orphanArrows]++
			continue
		}
		t.Flows = append(t.Flows, timeline.FlowPoint{
			ID: f.ID, TS: f.TS, Name: ids[f.Name], Start: f.Start,
			Row: t.Row(timeline.Row{PID: f.PID, TID: f.TID, Kind: timeline.RowThread}),
		})
	}
}

// orphanArrows counts ends of arrows that the host side left without the other
// end, or with more than one beginning: viewers draw those anywhere.
const orphanArrows = "host_arrow_ends_left_out"

// arrow names an arrow of the host side: ids are counted by each kind of arrow.
type arrow struct {
	name uint32
	id   uint64
}

// wholeArrows finds the arrows with exactly one beginning and at least one end.
func wholeArrows(points []host.Flow) map[arrow]bool {
	type ends struct{ starts, finishes int }
	count := map[arrow]ends{}
	for _, f := range points {
		k := arrow{f.Name, f.ID}
		n := count[k]
		if f.Start {
			n.starts++
		} else {
			n.finishes++
		}
		count[k] = n
	}
	whole := map[arrow]bool{}
	for k, n := range count {
		whole[k] = n.starts == 1 && n.finishes > 0
	}
	return whole
}
