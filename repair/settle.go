package repair

import (
	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// settle brings the trace into the order in which reading what is written gives
// it, so that a second repair writes the same bytes: rows in the order of their
// first event, arrows' ends as flags of the events that they stand on.
func (r *repairer) settle() {
	r.attach()
	t := r.t
	t.Window = chrome.RecordedWindow(t)
	to := make([]uint32, len(t.Rows))
	var rows []timeline.Row
	see := func(row uint32) {
		if to[row] == 0 {
			rows = append(rows, t.Rows[row])
			to[row] = uint32(len(rows))
		}
	}
	for i := range uint32(t.Events.Len()) {
		see(t.Events.At(i).Row)
	}
	for i := range t.Flows {
		see(t.Flows[i].Row)
	}
	for i := range t.Rows {
		see(uint32(i))
	}
	ordered := true
	for i := range to {
		ordered = ordered && to[i] == uint32(i)+1
	}
	if ordered {
		return
	}
	for i := range uint32(t.Events.Len()) {
		e := t.Events.At(i)
		e.Row = to[e.Row] - 1
	}
	for i := range t.Flows {
		t.Flows[i].Row = to[t.Flows[i].Row] - 1
	}
	t.SetRows(rows)
}

// attach marks events as ends of the device arrows that stand on them since a
// repair moved one or the other.
func (r *repairer) attach() {
	t := r.t
	type end struct {
		id uint64
		at stand
	}
	wanted := map[end][]int{}
	for i := range t.Flows {
		if p := &t.Flows[i]; r.isDeviceFlow(i) && !p.Step && (p.Start || p.Enclosing) && p.ID != 0 {
			k := end{p.ID, stand{p.Row, p.TS}}
			wanted[k] = append(wanted[k], i)
		}
	}
	if len(wanted) == 0 {
		return
	}
	gone := map[int]bool{}
	for i := range uint32(t.Events.Len()) {
		e := t.Events.At(i)
		for _, f := range wanted[end{e.Correlation, stand{e.Row, e.Start}}] {
			flag := timeline.FlowIn
			if t.Flows[f].Start {
				flag = timeline.FlowOut
			}
			if !gone[f] && e.Flags&flag == 0 {
				e.Flags |= flag
				gone[f] = true
			}
		}
	}
	r.dropFlows(gone)
}
