package validate

import "github.com/flagos-ai/flagos-trace/internal/hugepage"

// flow is an arrow: what has one category and one id.
type flow struct {
	cat         uint16
	starts      uint32
	ends        uint32
	first, last uint32 // a record of a start, of an end
	more        uint32 // another flow of the same id, plus one
}

// checkFlows pairs the two ends of arrows.
func checkFlows(t *trace, c *collector) {
	flows := hugepage.Make[flow](t.counts.flows / 2)[:0]
	table := newIDTable(t.counts.flows)
	t.each(func(i uint32, r *record) {
		if r.ph != 's' && r.ph != 'f' || r.flags&hasID == 0 {
			return
		}
		slot := table.slot(r.id)
		n := *slot
		for n != 0 && flows[n-1].cat != r.cat {
			n = flows[n-1].more
		}
		if n == 0 {
			flows = append(flows, flow{cat: r.cat, more: *slot})
			n = uint32(len(flows))
			*slot = n
		}
		f := &flows[n-1]
		if r.ph == 's' {
			if f.starts++; f.starts == 1 {
				f.first = i
			} else {
				c.event(rFlowReused, i, "the arrow %s %d begins here and at event %d", t.cats.text(uint32(r.cat)), r.id, t.table.at(f.first).index)
			}
		} else if f.ends++; f.ends == 1 {
			f.last = i
		}
	})
	for i := range flows {
		f := &flows[i]
		switch {
		case f.ends == 0:
			r := t.table.at(f.first)
			if api := t.callAt(r); api != nil && t.flags[api.name]&(nLaunch|nGraphLaunch) == 0 {
				c.event(rFlowStartHost, f.first, "arrow %d begins at %s and ends nowhere", r.id, t.name(api))
				break
			}
			c.event(rFlowStartAlone, f.first, "arrow %s %d ends nowhere", t.cats.text(uint32(f.cat)), r.id)
		case f.starts == 0:
			r := t.table.at(f.last)
			if api := t.callAt(r); api != nil {
				c.event(rFlowEndHost, f.last, "arrow %d ends at %s and begins nowhere", r.id, t.name(api))
				break
			}
			c.event(rFlowEndAlone, f.last, "arrow %s %d begins nowhere", t.cats.text(uint32(f.cat)), r.id)
		}
	}
}

// callAt finds the API call that an arrow to or from a device stands on: the one
// with its id, on its row, at its time.
func (t *trace) callAt(r *record) (api *record) {
	if r.kind != kFlowDevice {
		return nil
	}
	t.joins.of(r.id, func(call uint32) {
		if a := t.table.at(t.joins.calls[call]); a.row == r.row && a.ts <= r.ts && r.ts <= a.end() {
			api = a
		}
	})
	return api
}
