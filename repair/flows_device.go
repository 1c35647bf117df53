package repair

import (
	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// deviceFlows mends the arrows from API calls to device work, whose ids are
// correlation ids: an end is certain where the event with the id is there.
func (r *repairer) deviceFlows() {
	t := r.t
	ends := map[uint64]flowEnds{}
	note := func(id uint64, what flowEnds) {
		f := ends[id]
		if what&flowStarts != 0 {
			f.start()
		}
		ends[id] = f | what
	}
	for i := range uint32(t.Events.Len()) {
		e := t.Events.At(i)
		if e.Flags&timeline.FlowOut != 0 {
			note(e.Correlation, flowStarts)
		}
		if e.Flags&timeline.FlowIn != 0 {
			note(e.Correlation, flowStops)
		}
	}
	var loose []int
	for i := range t.Flows {
		p := &t.Flows[i]
		if !r.isDeviceFlow(i) {
			continue
		}
		loose = append(loose, i)
		switch {
		case p.Start:
			note(p.ID, flowStarts)
		case p.Step:
			note(p.ID, flowSteps)
		default:
			note(p.ID, flowStops)
		}
	}
	reused := 0
	wanted := map[uint64]*counterparts{}
	for id, f := range ends {
		if f&flowReused != 0 {
			reused++
		}
		if f.orphan() {
			wanted[id] = &counterparts{orphan: true}
		}
	}
	for _, i := range loose {
		if p := &t.Flows[i]; wanted[p.ID] == nil && !p.Step {
			wanted[p.ID] = &counterparts{}
		}
	}
	r.remains(RemainingFlows, reused)
	if len(wanted) == 0 {
		return
	}
	r.find(wanted)
	paired, removed := r.looseFlows(loose, wanted)
	// Work first: what is left of an arrow at its call depends on it.
	for _, calls := range []bool{false, true} {
		for i := range uint32(t.Events.Len()) {
			e := t.Events.At(i)
			c := wanted[e.Correlation]
			if c == nil || !c.orphan || e.Flags&(timeline.FlowOut|timeline.FlowIn) == 0 || e.Kind.IsAPI() != calls {
				continue
			}
			p, d := r.orphan(e, c)
			paired, removed = paired+p, removed+d
		}
	}
	r.repaired("flows_paired", paired)
	r.repaired("flows_removed", removed)
}

// find looks for the API calls and the device work of arrows.
func (r *repairer) find(wanted map[uint64]*counterparts) {
	t := r.t
	for i := range uint32(t.Events.Len()) {
		e := t.Events.At(i)
		c := wanted[e.Correlation]
		if c == nil || e.Correlation == 0 || !r.isSpan(i, e) {
			continue
		}
		switch {
		case e.Kind.IsAPI():
			c.calls = append(c.calls, i)
		case e.Kind.OnDevice():
			c.work = append(c.work, i)
		}
	}
}

// isDeviceFlow reports whether an arrow's end that is no event's flag is one of a
// device arrow all the same: it stands where no event with its id begins.
func (r *repairer) isDeviceFlow(i int) bool {
	p, s := &r.t.Flows[i], r.t.Source
	category := p.Category
	if category == 0 {
		category = p.Name
	}
	return s.FlowName != 0 && p.Name == s.FlowName && category == s.FlowCategory && s.Flows.At(uint32(i)).Fields == 0
}

// counterparts are the events with the id of an arrow that lacks an end.
type counterparts struct {
	calls, work []uint32
	orphan      bool // the arrow lacks an end
}

// call is the API call where an arrow must begin; ok is false where it cannot be
// told: of several calls with one id it is the one that starts work.
func (r *repairer) call(c *counterparts) (i uint32, ok bool) {
	if len(c.calls) == 1 {
		return c.calls[0], true
	}
	found := 0
	for _, k := range c.calls {
		if r.launches(r.t.Events.At(k)) {
			i = k
			found++
		}
	}
	return i, found == 1
}

// launches reports whether an API call starts work on a device.
func (r *repairer) launches(e *timeline.Event) bool {
	return e.Kind.IsAPI() && r.t.Calls.At(e.Detail).Has&event.StartsWork != 0
}

// orphan mends the arrow that has only the end at event e.
func (r *repairer) orphan(e *timeline.Event, c *counterparts) (paired, removed int) {
	t := r.t
	switch {
	case e.Kind.IsAPI() && e.Flags&timeline.FlowOut != 0 && (r.launches(e) || len(c.work) > 0):
		// A launch or a copy without its work's end.
		if call, ok := r.call(c); ok && t.Events.At(call) == e && len(c.work) > 0 {
			for _, k := range c.work {
				t.Events.At(k).Flags |= timeline.FlowIn
			}
			c.orphan = false
			return len(c.work), 0
		}
	case e.Kind.IsAPI():
		if !r.o.HostFlows {
			return 0, 0 // as Kineto writes them
		}
	case e.Flags&timeline.FlowIn != 0:
		// Kineto ends an arrow at launches that its list of launches does not have: the
		// call is where this one begins.
		if call, ok := r.call(c); ok && (e.Kind.OnDevice() || e.Kind == timeline.Sync) {
			a := t.Events.At(call)
			a.Flags = a.Flags&^timeline.FlowIn | timeline.FlowOut
			c.orphan = false
			return 1, 0
		}
	}
	e.Flags &^= timeline.FlowOut | timeline.FlowIn
	return 0, 1
}

// hasEnd reports whether an arrow ends at device work.
func (r *repairer) hasEnd(c *counterparts) bool {
	for _, k := range c.work {
		if r.t.Events.At(k).Flags&timeline.FlowIn != 0 {
			return true
		}
	}
	return false
}

// looseFlows puts the ends that stand on no event of their id on the one where
// they belong, and removes those of which the other end is missing.
func (r *repairer) looseFlows(loose []int, wanted map[uint64]*counterparts) (paired, removed int) {
	t := r.t
	gone := map[int]bool{}
	for _, i := range loose {
		p := &t.Flows[i]
		c := wanted[p.ID]
		if c == nil || p.Step || r.within(p, c) && !c.orphan {
			continue // inside its event, at another time than its start, is as good
		}
		if e := r.belongs(p, c); e != nil {
			if p.Start {
				e.Flags |= timeline.FlowOut
			} else {
				e.Flags |= timeline.FlowIn
			}
			paired++
		} else if c.orphan {
			removed++
		} else {
			continue
		}
		gone[i] = true
	}
	r.dropFlows(gone)
	for _, c := range wanted {
		c.orphan = c.orphan && !r.isPaired(c)
	}
	return paired, removed
}

// within reports whether an arrow's end lies on an event with its id.
func (r *repairer) within(p *timeline.FlowPoint, c *counterparts) bool {
	for _, list := range [][]uint32{c.calls, c.work} {
		for _, i := range list {
			if e := r.t.Events.At(i); e.Row == p.Row && e.Start <= p.TS && p.TS <= e.End {
				return true
			}
		}
	}
	return false
}

// belongs is the event where an arrow's end must be; nil if that cannot be told, if
// it has one already, or if the other end cannot be found either.
func (r *repairer) belongs(p *timeline.FlowPoint, c *counterparts) *timeline.Event {
	call, ok := r.call(c)
	if !ok || len(c.work) == 0 {
		return nil
	}
	if p.Start {
		if e := r.t.Events.At(call); e.Flags&timeline.FlowOut == 0 {
			return e
		}
		return nil
	}
	if e := r.t.Events.At(c.work[0]); len(c.work) == 1 && e.Flags&timeline.FlowIn == 0 {
		return e
	}
	return nil
}

// isPaired reports whether an arrow begins at a call and ends at work by now.
func (r *repairer) isPaired(c *counterparts) bool {
	call, ok := r.call(c)
	return ok && r.t.Events.At(call).Flags&timeline.FlowOut != 0 && r.hasEnd(c)
}
