package record

import (
	"math"

	"github.com/flagos-ai/flagos-trace/correlate"
	"github.com/flagos-ai/flagos-trace/host"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// hostSlice is one session of the host side.
type hostSlice struct {
	host    *host.Host // nil if there is nothing of it
	window  timeline.Window
	state   correlate.SessionState
	program bool // recorded by the program's own profiler
}

// joinedHost is what the slices taken so far come to.
type joinedHost struct {
	sessions []correlate.Session
	// lastFlow and lastPython are the largest ids given to arrows and to Python calls:
	// each session of the framework counts them anew.
	lastFlow   map[uint32]uint64 // by the kind of arrow
	lastPython int64
	noted      map[string]uint64
	taken      []timeline.Window
	doubles    doubles
}

// doubles are the events and arrows of the slices taken so far, kept from the first
// slice on that overlaps with another. Such slices can be thousands, so that they
// must not be gone through for each.
type doubles struct {
	on            bool
	events, flows int // how many are in
	byKey         map[hostKey]int
	byEnd         map[arrowEnd]bool
}

// arrowEnd is what makes an end of an arrow the same in two slices.
type arrowEnd struct {
	ts        int64
	name, row uint32
	start     bool
}

// Counts of the host side, in Operators.Noted.
const (
	notedDoubled = "host_events_of_two_slices" // in both of two slices that overlap; taken once
)

// addHost takes a host side that is whole.
func (c *collector) addHost(h *host.Host) {
	c.addSlice(&hostSlice{host: h, window: h.Window})
}

// addSlice puts a slice's rows, operators and arrows into the trace. Slices come
// in the order of time and before open is called: what the builder joins stands
// behind the host's events. The slice's memory may be given back afterwards.
func (c *collector) addSlice(s *hostSlice) {
	j := &c.side
	if j.lastFlow == nil {
		j.lastFlow, j.noted = map[uint32]uint64{}, map[string]uint64{}
	}
	session := correlate.Session{Window: s.window, State: s.state}
	if s.host == nil {
		j.sessions = append(j.sessions, session)
		return
	}
	h, t := s.host, c.trace
	c.addIdentity(h)
	ids := make([]uint32, h.Strings.Len())
	for i := range ids {
		ids[i] = t.Strings.ID(h.Strings.At(uint32(i)))
	}
	for _, th := range h.Threads {
		c.nameThread(th)
	}
	python := pythonIDs{first: len(j.sessions) == 0, base: j.lastPython, last: j.lastPython}
	twice, used := c.overlapping(h.Window), map[hostKey]int{}
	pythonCall := h.Strings.ID(categoryPython) // added only now if there are none
	before := t.Events.Len()
	for i := range h.Ops {
		op := &h.Ops[i]
		e := timeline.Event{
			Kind: timeline.Host, Start: op.Start, End: op.End, Name: ids[op.Name], Category: ids[op.Category],
			Row:      t.Row(timeline.Row{PID: op.PID, TID: op.TID, Kind: timeline.RowThread}),
			External: op.External,
		}
		if op.HasExternal {
			e.Flags |= timeline.HasExternal
		}
		if op.Unfinished {
			e.Flags |= timeline.Unfinished
		}
		if k := keyOf(&e); twice[k] > used[k] {
			used[k]++
			j.noted[notedDoubled]++
			continue
		}
		args := op.Args
		if op.Category == pythonCall {
			args = python.unique(args)
		}
		e.Detail = t.Args.Add(args)
		t.Events.Add(e)
	}
	j.lastPython = python.last
	session.Events = uint32(t.Events.Len() - before)
	session.Flows = c.addArrows(h, ids)
	j.sessions = append(j.sessions, session)
	j.taken = append(j.taken, h.Window)
}

// addIdentity takes over what the document says of the whole. Of several slices
// the last word counts, except on who they are.
func (c *collector) addIdentity(h *host.Host) {
	t := c.trace
	if len(c.side.sessions) == 0 || t.Process.PID == 0 {
		t.Process = h.Process
	}
	if len(h.Devices) > 0 {
		t.Devices = h.Devices
	}
next:
	for _, m := range h.Metadata {
		if c.ownIdentity && (m.Key == "trace_id" || m.Key == "host_name") {
			continue
		}
		for i := range t.Metadata {
			if t.Metadata[i].Key == m.Key {
				if m.Key != "trace_id" {
					t.Metadata[i].Raw = m.Raw
				}
				continue next
			}
		}
		t.Metadata = append(t.Metadata, m)
	}
}

// nameThread adds the row of a thread. A later slice may know a name that an
// earlier one did not.
func (c *collector) nameThread(th host.Thread) {
	id := c.trace.Row(timeline.Row{PID: th.PID, TID: th.TID, Name: th.Name, Kind: timeline.RowThread})
	if row := &c.trace.Rows[id]; row.Name == "" {
		row.Name = th.Name
	}
}

// hostKey is what makes a host event the same in two slices.
type hostKey struct {
	start, external int64
	name, row       uint32
	has             bool
}

func keyOf(e *timeline.Event) hostKey {
	return hostKey{e.Start, e.External, e.Name, e.Row, e.Flags&timeline.HasExternal != 0}
}

// overlapping returns the events of the slices so far, counted, if one of them
// overlaps with the given span, else nil.
func (c *collector) overlapping(w timeline.Window) map[hostKey]int {
	d := &c.side.doubles
	for i := 0; i < len(c.side.taken) && !d.on; i++ {
		x := c.side.taken[i]
		d.on = x.Start < w.End && x.End > w.Start
	}
	if !d.on {
		return nil
	}
	if d.byKey == nil {
		d.byKey, d.byEnd = map[hostKey]int{}, map[arrowEnd]bool{}
	}
	for ; d.events < c.trace.Events.Len(); d.events++ {
		d.byKey[keyOf(c.trace.Events.At(uint32(d.events)))]++
	}
	for ; d.flows < len(c.trace.Flows); d.flows++ {
		f := &c.trace.Flows[d.flows]
		d.byEnd[arrowEnd{f.TS, f.Name, f.Row, f.Start}] = true
	}
	return d.byKey
}

// addArrows takes the arrows that are whole and returns how many ends those have.
// Ids of a later slice are made to follow those before, since each session counts
// from 1.
func (c *collector) addArrows(h *host.Host, ids []uint32) (points uint32) {
	t, j := c.trace, &c.side
	whole := wholeArrows(h.Flows)
	c.dropDoubled(h, ids, whole)
	first := len(j.sessions) == 0
	renamed, last := map[arrow]uint64{}, map[uint32]uint64{}
	for _, f := range h.Flows {
		if there, known := whole[arrow{f.Name, f.ID}]; !known {
			continue
		} else if !there {
			if c.rec.Noted == nil {
				c.rec.Noted = map[string]uint64{}
			}
			c.rec.Noted[orphanArrows]++
			continue
		}
		name := ids[f.Name]
		id := f.ID
		if !first {
			k := arrow{f.Name, f.ID}
			if renamed[k] == 0 {
				j.lastFlow[name]++
				renamed[k] = j.lastFlow[name]
			}
			id = renamed[k]
		}
		last[name] = max(last[name], id)
		t.Flows = append(t.Flows, timeline.FlowPoint{
			ID: id, TS: f.TS, Name: name, Start: f.Start,
			Row: t.Row(timeline.Row{PID: f.PID, TID: f.TID, Kind: timeline.RowThread}),
		})
		points++
	}
	for name, id := range last {
		j.lastFlow[name] = max(j.lastFlow[name], id)
		if j.lastFlow[name] > math.MaxInt64 { // nonsense: begin anew rather than wrap
			j.lastFlow[name] = math.MaxInt64
		}
	}
	return points
}

// dropDoubled takes out of whole the arrows that an overlapping slice has brought
// already.
func (c *collector) dropDoubled(h *host.Host, ids []uint32, whole map[arrow]bool) {
	there := c.side.doubles.byEnd
	if len(there) == 0 {
		return
	}
	fresh := map[arrow]bool{}
	for _, f := range h.Flows {
		row := c.trace.Row(timeline.Row{PID: f.PID, TID: f.TID, Kind: timeline.RowThread})
		if !there[arrowEnd{f.TS, ids[f.Name], row, f.Start}] {
			fresh[arrow{f.Name, f.ID}] = true
		}
	}
	for k, ok := range whole {
		if ok && !fresh[k] {
			delete(whole, k)
		}
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
