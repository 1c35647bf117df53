package merge

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// Errors of this package.
var (
	// ErrNothing is returned if there is no trace to merge.
	ErrNothing = errors.New("nothing to merge")
	// ErrIDs: the ids of the parts are too large to be kept apart.
	ErrIDs = errors.New("ids cannot be kept apart")
)

// Part is one trace with the name its rows are labelled by.
type Part struct {
	Trace *timeline.Trace
	// Label tells the process from the others: "rank 0". Empty stands for none.
	Label string
	// File is where the trace came from, for the record of the merge.
	File string
	// Clock says how the part's times are moved; nil: not at all, and nobody looked.
	Clock *timeline.Alignment
}

// Traces merges the parts in their order. If any of them was read from a document,
// the result is one too, with the arguments of all as they stood; recorded parts
// are then taken as the document that they would be written as.
//
// Errors wrap ErrNothing or ErrIDs.
func Traces(parts []Part) (*timeline.Trace, error) {
	if len(parts) == 0 {
		return nil, ErrNothing
	}
	m := merger{
		t:     &timeline.Trace{Groups: []timeline.Group{}, Window: timeline.Window{Start: math.MaxInt64, End: math.MinInt64}},
		used:  map[int64]bool{},
		hosts: map[int64]bool{},
		texts: map[string]bool{},
		hints: map[int64]int64{},
	}
	source := slices.ContainsFunc(parts, func(p Part) bool { return p.Trace.Source != nil })
	if source {
		m.t.Source = &timeline.Source{}
		parts = slices.Clone(parts)
		for i := range parts {
			if parts[i].Trace.Source == nil {
				t, err := document(parts[i].Trace)
				if err != nil {
					return nil, fmt.Errorf("part %d (%s): %w", i, parts[i].Label, err)
				}
				parts[i].Trace = t
			}
		}
	}
	// The numbers of the host processes are kept wherever they differ.
	for _, p := range parts {
		if pid := int64(p.Trace.Process.PID); pid != 0 {
			m.used[pid] = true
		}
	}
	for i, p := range parts {
		if err := m.part(p); err != nil {
			return nil, fmt.Errorf("part %d (%s): %w", i, p.Label, err)
		}
	}
	if m.t.Window.Start > m.t.Window.End {
		m.t.Window = timeline.Window{}
	}
	m.completeness(parts)
	m.members(parts)
	if source {
		m.t.Window = chrome.RecordedWindow(m.t)
		m.base(parts)
	} else {
		slices.SortStableFunc(m.t.Groups, func(a, b timeline.Group) int { return cmp.Compare(a.SortIndex, b.SortIndex) })
	}
	return m.t, nil
}

// document makes of a recorded trace the one that its document would be read as.
func document(t *timeline.Trace) (*timeline.Trace, error) {
	var b bytes.Buffer
	if err := chrome.Write(&b, t, chrome.Options{}); err != nil {
		return nil, err
	}
	d, err := chrome.Read(&b, chrome.ReadOptions{})
	if err != nil {
		return nil, err
	}
	d.Trace.Process = t.Process
	return d.Trace, nil
}

type merger struct {
	t     *timeline.Trace
	infos []Info
	done  int // parts done

	// What shows as a process already, by number and by text, and which of the
	// numbers are those of host processes.
	used, hosts map[int64]bool
	texts       map[string]bool
	hints       map[int64]int64 // below these, no number is free for the one wanted

	correlations, arrows, others taken // ids
}

// copying is what of a part became what of the merged trace.
type copying struct {
	from                            *timeline.Trace
	strings, rows, places, launches []uint32
	ids                             renumbering
	info                            *Info
}

// part adds one trace.
func (m *merger) part(p Part) error {
	from, t := p.Trace, m.t
	ids, err := m.renumber(from)
	if err != nil {
		return err
	}
	info := Info{
		Label: p.Label, File: p.File, Clock: p.Clock, Process: from.Process,
		Correlation: ids.correlation, Flow: ids.flow, Other: ids.other, Suffix: ids.suffix,
	}
	if from.Source != nil {
		s := from.Source
		info.Base, info.HasBase, info.Array, info.Whole = s.Base, s.HasBase, s.Array, s.Whole
		t.Source.Whole = s.Whole && (t.Source.Whole || m.done == 0)
	}
	c := copying{from: from, ids: ids, info: &info}
	c.strings = make([]uint32, from.Strings.Len())
	for i := range c.strings {
		c.strings[i] = t.Strings.ID(from.Strings.At(uint32(i)))
	}
	if from.Source != nil {
		m.sourceRows(p, &c)
	} else {
		m.rows(p, &c)
	}
	c.places = make([]uint32, len(from.Places))
	for i, pl := range from.Places {
		c.places[i] = t.Place(pl)
	}
	c.launches = make([]uint32, len(from.Launches))
	for i, l := range from.Launches {
		c.launches[i] = t.Launch(l)
	}
	if from.Source != nil {
		m.sourceEvents(p, &c)
	} else {
		m.events(p, &c)
	}
	if w := from.Window; w != (timeline.Window{}) {
		t.Window.Start, t.Window.End = min(t.Window.Start, p.Clock.Map(w.Start)), max(t.Window.End, p.Clock.Map(w.End))
	}
	m.devices(from)
	m.infos = append(m.infos, info)
	m.done++
	return nil
}

// events copies the events and the arrows of a recorded trace.
func (m *merger) events(p Part, c *copying) {
	from, t := c.from, m.t
	for i := range uint32(from.Events.Len()) {
		e := m.event(p, c, i)
		e.Detail = m.detail(c, &e, 0, 0)
		t.Events.Add(e)
	}
	for _, f := range from.Flows {
		f.ID += c.ids.flow
		t.Flows = append(t.Flows, m.flow(p, c, f))
	}
}

// event is event i of a part with what is common to all kinds of events.
func (m *merger) event(p Part, c *copying, i uint32) timeline.Event {
	e := *c.from.Events.At(i)
	if e.Correlation != 0 {
		e.Correlation += c.ids.correlation
	}
	e.Name, e.Category, e.Row = c.strings[e.Name], c.strings[e.Category], c.rows[e.Row]
	if int(e.Place) < len(c.places) {
		e.Place = c.places[e.Place]
	}
	if p.Clock != nil {
		e.Start, e.End = p.Clock.Map(e.Start), p.Clock.Map(e.End)
	}
	return e
}

// flow is an end of an arrow of a part, but for its id.
func (m *merger) flow(p Part, c *copying, f timeline.FlowPoint) timeline.FlowPoint {
	f.Row, f.Name, f.TS = c.rows[f.Row], c.strings[f.Name], p.Clock.Map(f.TS)
	if f.Category != timeline.NoCategory {
		f.Category = c.strings[f.Category]
	}
	return f
}

// detail copies what an event has beyond the common. was and is are the index of
// its raw arguments, in a trace that was read, before and now.
func (m *merger) detail(c *copying, e *timeline.Event, was, is uint32) uint32 {
	from := c.from
	args := func(i uint32) uint32 {
		if i == was {
			return is
		}
		return m.t.Args.Add(from.Args.At(i))
	}
	switch e.Kind {
	case timeline.Kernel:
		d := *from.Kernels.At(e.Detail)
		d.Launch, d.Collective = c.launches[d.Launch], args(d.Collective)
		return m.t.Kernels.Add(d)
	case timeline.Memcpy, timeline.MemcpyPeer, timeline.Memset:
		return m.t.Copies.Add(*from.Copies.At(e.Detail))
	case timeline.Runtime, timeline.Driver:
		return m.t.Calls.Add(*from.Calls.At(e.Detail))
	case timeline.Sync:
		d := *from.Syncs.At(e.Detail)
		if d.SourceCorrelation != 0 {
			d.SourceCorrelation += c.ids.correlation
		}
		return m.t.Syncs.Add(d)
	case timeline.Host, timeline.Other:
		return args(e.Detail)
	}
	return 0
}

// CollectiveArrow is the name of the arrows between the ranks of a collective, which
// no part has of its own.
const CollectiveArrow = "collective"

// EndCategory is the category of instants that say when a rank died; no part has
// them of its own.
const EndCategory = "rank_end"
