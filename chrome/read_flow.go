package chrome

import (
	"hash/fnv"

	"github.com/flagos-ai/flagos-trace/internal/hugepage"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// flow adds an end of an arrow, or marks the event it stands on.
func (b *builder) flow(k *block, it *item, category uint32, offset int64) {
	t := b.t
	name := b.text(it.name.in(k.text))
	id, text := uint64(0), ""
	switch v := it.id.in(k.text); {
	case v == nil:
		b.find.add(RuleID, offset, -1, "an arrow without id was left out")
		return
	default:
		n, ok := v.integer()
		id = uint64(n)
		if !ok || v.bare()[0] == '-' || v.IsString() {
			// Told apart by its text, and written as it stood.
			if !ok || n < 0 {
				h := fnv.New64a()
				h.Write(v.bare())
				id = h.Sum64()
			}
			text = `"id": ` + string(v)
		}
	}
	p := timeline.FlowPoint{
		ID: id, TS: it.ts, Row: b.row(k, it, offset), Name: name,
		Start: it.phase == 's', Step: it.phase == 't', Enclosing: it.has&itemEnclosing != 0,
	}
	switch {
	case category == 0:
		p.Category = timeline.NoCategory
	case category != name:
		p.Category = category
	}
	extra := string(it.fields.in(k.text))
	if text != "" && extra != "" {
		text += ", "
	}
	f := timeline.SourceFlow{Offset: offset}
	if text += extra; text != "" {
		f.Fields = t.Strings.ID(text)
	}
	if f.Fields == 0 && b.deviceFlow(&p) {
		if n := t.Events.Len(); n > 0 && attach(t.Events.At(uint32(n-1)), &p) {
			return
		}
		b.unmatched = true
	}
	t.Flows = hugepage.Append(t.Flows, p)
	b.src.Flows.Add(f)
}

// deviceFlow reports whether an arrow is one of those that events' flags stand
// for: of the name and category of the first such arrow of the document.
func (b *builder) deviceFlow(p *timeline.FlowPoint) bool {
	// Older versions of Kineto bind starts as well, which means nothing.
	if p.Step || !p.Start && !p.Enclosing || p.ID == 0 {
		return false
	}
	category := p.Category
	if category == 0 {
		category = p.Name
	}
	s := b.src
	if s.FlowName == 0 && category != timeline.NoCategory &&
		(b.rules.device[b.t.Strings.At(p.Name)] || b.rules.device[b.t.Strings.At(category)]) {
		s.FlowName, s.FlowCategory = p.Name, category
	}
	return p.Name != 0 && p.Name == s.FlowName && category == s.FlowCategory
}

// attach marks an event as an end of an arrow if the arrow's end stands on it.
func attach(e *timeline.Event, p *timeline.FlowPoint) bool {
	flag := timeline.FlowIn
	if p.Start {
		flag = timeline.FlowOut
	}
	if e.Correlation != p.ID || e.Row != p.Row || e.Start != p.TS || e.Flags&flag != 0 {
		return false
	}
	e.Flags |= flag
	return true
}

// attachFlows marks events as ends of arrows whose own events stood elsewhere.
func (b *builder) attachFlows() {
	if !b.unmatched {
		return
	}
	t := b.t
	type end struct {
		id  uint64
		ts  int64
		row uint32
	}
	wanted := map[end][]uint32{}
	for i := range t.Flows {
		if p := &t.Flows[i]; b.src.Flows.At(uint32(i)).Fields == 0 && b.deviceFlow(p) {
			wanted[end{p.ID, p.TS, p.Row}] = nil
		}
	}
	for i := range uint32(t.Events.Len()) {
		if e := t.Events.At(i); e.Correlation != 0 {
			k := end{e.Correlation, e.Start, e.Row}
			// More than a few of one row, moment and id are nonsense.
			if list, ok := wanted[k]; ok && len(list) < 8 {
				wanted[k] = append(list, i)
			}
		}
	}
	var flows []timeline.FlowPoint
	var sources timeline.Blocks[timeline.SourceFlow]
	for i := range t.Flows {
		p, f := &t.Flows[i], b.src.Flows.At(uint32(i))
		found := false
		if f.Fields == 0 && b.deviceFlow(p) {
			for _, e := range wanted[end{p.ID, p.TS, p.Row}] {
				if found = attach(t.Events.At(e), p); found {
					break
				}
			}
		}
		if !found {
			flows = append(flows, *p)
			sources.Add(*f)
		}
	}
	t.Flows, b.src.Flows = flows, sources
}
