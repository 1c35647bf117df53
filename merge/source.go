package merge

import (
	"math"

	"github.com/flagos-ai/flagos-trace/timeline"
)

// sourceEvents copies the events and the arrows of a trace that was read.
func (m *merger) sourceEvents(p Part, c *copying) {
	from, t := c.from, m.t
	src, out := from.Source, t.Source
	// One name stands for all arrows that events' flags mean; those of a part that
	// calls them otherwise become arrows of their own.
	name, category := c.strings[src.FlowName], src.FlowCategory
	if category != timeline.NoCategory {
		category = c.strings[category]
	}
	if out.FlowName == 0 && name != 0 {
		out.FlowName, out.FlowCategory = name, category
	}
	flags := name == out.FlowName && category == out.FlowCategory
	if !flags && name != 0 {
		c.info.Arrow = t.Strings.At(name)
		if c.info.NoArrowCategory = category == timeline.NoCategory; !c.info.NoArrowCategory {
			c.info.ArrowCategory = t.Strings.At(category)
		}
	}
	for i := range uint32(from.Events.Len()) {
		s := *src.Events.At(i)
		e := m.event(p, c, i)
		was := s.Args
		s.Args = t.Args.Add(c.ids.args(from.Args.At(was)))
		s.Fields = m.fields(c, s.Fields, s.Phase)
		e.Detail = m.detail(c, &e, was, s.Args)
		if !flags {
			m.unflag(&e, name, category)
		}
		t.Events.Add(e)
		out.Events.Add(s)
	}
	for i := range from.Flows {
		f, s := from.Flows[i], *src.Flows.At(uint32(i))
		device := s.Fields == 0 && f.Name == src.FlowName && src.FlowName != 0 && categoryOf(&f) == src.FlowCategory
		switch text := from.Strings.At(s.Fields); {
		case device:
			f.ID += c.ids.correlation
		case hasID(text):
			var id uint64
			text, id = c.ids.flowText(text, f.ID)
			f.ID, s.Fields = id, t.Strings.ID(text)
		default:
			f.ID += c.ids.flow
			s.Fields = c.strings[s.Fields]
		}
		t.Flows = append(t.Flows, m.flow(p, c, f))
		out.Flows.Add(s)
	}
}

// categoryOf is the category of an arrow's end, NoCategory included.
func categoryOf(f *timeline.FlowPoint) uint32 {
	if f.Category == 0 {
		return f.Name
	}
	return f.Category
}

// unflag makes of an event's flags the ends of arrows that they stand for.
func (m *merger) unflag(e *timeline.Event, name, category uint32) {
	for _, end := range []timeline.Flags{timeline.FlowOut, timeline.FlowIn} {
		if e.Flags&end == 0 {
			continue
		}
		e.Flags &^= end
		f := timeline.FlowPoint{
			ID: e.Correlation, TS: e.Start, Row: e.Row, Name: name, Category: category,
			Start: end == timeline.FlowOut, Enclosing: end == timeline.FlowIn,
		}
		if category == name {
			f.Category = 0
		}
		m.t.Flows = append(m.t.Flows, f)
		m.t.Source.Flows.Add(timeline.SourceFlow{})
	}
}

// base chooses what the times of the merged document are relative to: the earliest
// base of the parts, or nothing where one has times before that.
func (m *merger) base(parts []Part) {
	s := m.t.Source
	first := int64(math.MaxInt64)
	for _, p := range parts {
		if from := p.Trace.Source; from.HasBase {
			first = min(first, from.Base)
		}
	}
	if first == math.MaxInt64 {
		return
	}
	if m.t.Window != (timeline.Window{}) && m.t.Window.Start < first {
		first = 0
	}
	s.Base, s.HasBase = first, true
	m.t.Metadata = append(m.t.Metadata, timeline.Property{Key: baseMember})
	s.EventsAt = len(m.t.Metadata)
}
