package cut

import (
	"bytes"
	"slices"

	"github.com/flagos-ai/flagos-trace/timeline"
)

// builder copies what was kept.
type builder struct {
	c        *cutter
	from, to *timeline.Trace
	strings  []uint32 // by id, plus 1
	rows     []uint32
	launches []uint32 // plus 1
	places   []uint32 // plus 1
}

func (c *cutter) build() *timeline.Trace {
	from := c.t
	b := &builder{
		c: c, from: from, to: &timeline.Trace{},
		strings: make([]uint32, from.Strings.Len()), rows: make([]uint32, len(from.Rows)),
		launches: make([]uint32, len(from.Launches)), places: make([]uint32, len(from.Places)),
	}
	to := b.to
	to.Process, to.Window = from.Process, c.result.Window
	for _, m := range from.Metadata {
		to.Metadata = append(to.Metadata, timeline.Property{Key: m.Key, Raw: bytes.Clone(m.Raw)})
	}
	for _, d := range from.Devices {
		d.Properties = slices.Clone(d.Properties)
		to.Devices = append(to.Devices, d)
	}
	if s := from.Source; s != nil {
		to.Source = &timeline.Source{Base: s.Base, HasBase: s.HasBase, Array: s.Array, EventsAt: s.EventsAt}
	}
	b.rowsAndGroups()
	if s := from.Source; s != nil {
		to.Source.FlowName, to.Source.FlowCategory = b.string(s.FlowName), b.category(s.FlowCategory)
	}
	for i := range uint32(from.Events.Len()) {
		if c.keep.has(i) {
			b.event(i)
		}
	}
	for i := range from.Flows {
		if c.flows[i] {
			b.flow(uint32(i))
		}
	}
	b.completeness()
	return to
}

func (b *builder) string(id uint32) uint32 {
	if id == 0 {
		return 0
	}
	if b.strings[id] == 0 {
		b.strings[id] = b.to.Strings.ID(b.from.Strings.At(id)) + 1
	}
	return b.strings[id] - 1
}

// category is string for the category of an arrow, which may be none.
func (b *builder) category(id uint32) uint32 {
	if id == timeline.NoCategory {
		return id
	}
	return b.string(id)
}

func (b *builder) args(i uint32) uint32 { return b.to.Args.Add(b.from.Args.At(i)) }

// rowsAndGroups copies the rows of wanted processes, and the processes. What had
// events and has none left goes; what never had any stays.
func (b *builder) rowsAndGroups() {
	c, from := b.c, b.from
	had, has := make([]bool, len(from.Rows)), make([]bool, len(from.Rows))
	for i := range uint32(from.Events.Len()) {
		row := from.Events.At(i).Row
		had[row] = true
		has[row] = has[row] || c.keep.has(i)
	}
	for i := range from.Flows {
		row := from.Flows[i].Row
		had[row] = true
		has[row] = has[row] || c.flows[i]
	}
	hadRow, hasRow := map[pid]bool{}, map[pid]bool{}
	for i := range from.Rows {
		r := &from.Rows[i]
		k := pidOf(r)
		hadRow[k] = true
		if !has[i] && (had[i] || !c.rowIn[i]) {
			continue
		}
		hasRow[k] = true
		b.rows[i] = b.to.Row(*r)
	}
	if from.Groups == nil {
		return
	}
	b.to.Groups = []timeline.Group{}
	for i := range from.Groups {
		g := &from.Groups[i]
		k := pidOfGroup(g)
		if hadRow[k] && !hasRow[k] || !hadRow[k] && !c.groupIn(g) {
			continue
		}
		b.to.Groups = append(b.to.Groups, *g)
	}
}

// groupIn says whether a process without rows is wanted.
func (c *cutter) groupIn(g *timeline.Group) bool {
	if len(c.o.PIDs) > 0 {
		return false
	}
	if c.ofRank != nil {
		return c.ofRank[pidOfGroup(g)]
	}
	if len(c.selected) == 0 {
		return true
	}
	n, ok := rankOf(g)
	return !ok || slices.Contains(c.selected, n)
}

func (b *builder) event(i uint32) {
	c, from, to := b.c, b.from, b.to
	e := *from.Events.At(i)
	switch {
	case c.special.has(i) && c.o.timed() && !b.metadata(i):
		e.Start, e.End = clamp(e.Start, c.around), clamp(e.End, c.around)
	case c.clips(&e):
		own := c.windowOf(e.Row)
		e.Start, e.End = clamp(e.Start, own), clamp(e.End, own)
	}
	if c.lost.has(i) {
		e.Flags &^= timeline.FlowOut
	}
	if c.lostIn.has(i) {
		e.Flags &^= timeline.FlowIn
	}
	e.Name, e.Category, e.Row = b.string(e.Name), b.string(e.Category), b.rows[e.Row]
	if e.Kind.OnDevice() || e.Kind == timeline.Sync {
		if b.places[e.Place] == 0 {
			b.places[e.Place] = to.Place(from.Places[e.Place]) + 1
		}
		e.Place = b.places[e.Place] - 1
	}
	was, args := ^uint32(0), uint32(0)
	if from.Source != nil {
		s := *from.Source.Events.At(i)
		was = s.Args
		args = b.args(s.Args)
		s.Args, s.Fields = args, b.string(s.Fields)
		to.Source.Events.Add(s)
	}
	// The tables of a trace that was read point into the arguments as well.
	text := func(i uint32) uint32 {
		if i == was {
			return args
		}
		return b.args(i)
	}
	switch e.Kind {
	case timeline.Kernel:
		d := *from.Kernels.At(e.Detail)
		if b.launches[d.Launch] == 0 {
			b.launches[d.Launch] = to.Launch(from.Launches[d.Launch]) + 1
		}
		d.Launch, d.Collective = b.launches[d.Launch]-1, text(d.Collective)
		e.Detail = to.Kernels.Add(d)
	case timeline.Memcpy, timeline.MemcpyPeer, timeline.Memset:
		e.Detail = to.Copies.Add(*from.Copies.At(e.Detail))
	case timeline.Runtime, timeline.Driver:
		e.Detail = to.Calls.Add(*from.Calls.At(e.Detail))
	case timeline.Sync:
		e.Detail = to.Syncs.Add(*from.Syncs.At(e.Detail))
	case timeline.Host, timeline.Other:
		e.Detail = text(e.Detail)
	}
	to.Events.Add(e)
}

// metadata says whether event i is one that has no time.
func (b *builder) metadata(i uint32) bool {
	return b.from.Source != nil && b.from.Source.Events.At(i).Phase == 'M'
}

func (b *builder) flow(i uint32) {
	f := b.from.Flows[i]
	if b.c.o.timed() && b.c.o.Straddling == Clipped {
		f.TS = clamp(f.TS, b.c.windowOf(f.Row))
	}
	f.Row, f.Name, f.Category = b.rows[f.Row], b.string(f.Name), b.category(f.Category)
	b.to.Flows = append(b.to.Flows, f)
	if b.from.Source != nil {
		s := *b.from.Source.Flows.At(i)
		s.Fields = b.string(s.Fields)
		b.to.Source.Flows.Add(s)
	}
}
