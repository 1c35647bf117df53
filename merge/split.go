package merge

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// ErrNoPart: the trace has no record of a merge, or not of that part.
var ErrNoPart = errors.New("no such part")

// Extract takes part i of Infos out of a merged trace that was read, as it was
// before: rows, ids and members of its own. Times stay as they were moved.
//
// The result is the part's trace again but for this: where a member of the
// document is of the merge (baseTimeNanoseconds of a part that had none) it stays
// away, and arrows between ranks, of which one end is another part's, are left out.
//
// Errors wrap ErrNoPart.
func Extract(t *timeline.Trace, i int) (*timeline.Trace, error) {
	infos := Infos(t)
	if i < 0 || i >= len(infos) || t.Source == nil {
		return nil, fmt.Errorf("%w: part %d of %d", ErrNoPart, i, len(infos))
	}
	info := &infos[i]
	x := extractor{
		from: t, info: info, was: map[ID]ID{}, rows: map[uint32]uint32{},
		t: &timeline.Trace{Source: &timeline.Source{
			Base: info.Base, HasBase: info.HasBase, Array: info.Array, Whole: info.Whole,
		}, Groups: []timeline.Group{}, Process: info.Process},
		// Taking away is adding what is missing to 2^64.
		ids: renumbering{correlation: -info.Correlation, flow: -info.Flow, other: -info.Other},
	}
	for _, p := range info.IDs {
		x.was[p.Is] = p.Was
	}
	x.groups()
	x.rowList()
	x.events()
	x.flows()
	x.members()
	x.t.Window = chrome.RecordedWindow(x.t)
	return x.t, nil
}

type extractor struct {
	from, t *timeline.Trace
	info    *Info
	was     map[ID]ID
	rows    map[uint32]uint32 // those of the part
	ids     renumbering
}

func (x *extractor) groups() {
	for _, g := range x.from.Groups {
		was, ok := x.was[ID{Number: g.PID, Text: g.PIDText}]
		if !ok {
			continue
		}
		g.PID, g.PIDText = was.Number, was.Text
		g.Label = withoutLabel(x.info.Label, g.Label)
		if g.Name != "" || g.Label != "" || !g.NoSortIndex {
			x.t.Groups = append(x.t.Groups, g)
		}
	}
}

func withoutLabel(part, label string) string {
	if part == "" {
		return label
	}
	return strings.TrimPrefix(strings.TrimPrefix(label, part), " ")
}

func (x *extractor) rowList() {
	for i, r := range x.from.Rows {
		was, ok := x.was[ID{r.PID, r.PIDText, r.EmptyPID}]
		if !ok {
			continue
		}
		r.PID, r.PIDText, r.EmptyPID = was.Number, was.Text, was.Empty
		x.rows[uint32(i)] = x.t.Row(r)
	}
}

func (x *extractor) events() {
	from, t := x.from, x.t
	src, out := from.Source, t.Source
	out.FlowName, out.FlowCategory = x.string(src.FlowName), x.category(src.FlowCategory)
	switch {
	case x.info.Arrow == "":
	case x.info.NoArrowCategory:
		out.FlowName, out.FlowCategory = t.Strings.ID(x.info.Arrow), timeline.NoCategory
	default:
		out.FlowName, out.FlowCategory = t.Strings.ID(x.info.Arrow), t.Strings.ID(x.info.ArrowCategory)
	}
	for i := range uint32(from.Events.Len()) {
		e := *from.Events.At(i)
		row, ok := x.rows[e.Row]
		if !ok || e.Category != 0 && from.Strings.At(e.Category) == EndCategory {
			continue
		}
		s := *src.Events.At(i)
		was := s.Args
		e.Row, e.Name, e.Category = row, x.string(e.Name), x.string(e.Category)
		if e.Correlation != 0 {
			e.Correlation += x.ids.correlation
		}
		if int(e.Place) < len(from.Places) {
			e.Place = t.Place(from.Places[e.Place])
		}
		s.Args = t.Args.Add(x.ids.args(from.Args.At(was)))
		s.Fields = t.Strings.ID(x.fields(from.Strings.At(s.Fields), s.Phase))
		switch e.Kind {
		case timeline.Kernel:
			d := *from.Kernels.At(e.Detail)
			d.Launch = t.Launch(from.Launches[d.Launch])
			if d.Collective != 0 {
				d.Collective = s.Args
			}
			e.Detail = t.Kernels.Add(d)
		case timeline.Memcpy, timeline.MemcpyPeer, timeline.Memset:
			e.Detail = t.Copies.Add(*from.Copies.At(e.Detail))
		case timeline.Runtime, timeline.Driver:
			e.Detail = t.Calls.Add(*from.Calls.At(e.Detail))
		case timeline.Sync:
			d := *from.Syncs.At(e.Detail)
			if d.SourceCorrelation != 0 {
				d.SourceCorrelation += x.ids.correlation
			}
			e.Detail = t.Syncs.Add(d)
		case timeline.Host, timeline.Other:
			e.Detail = s.Args
		}
		t.Events.Add(e)
		out.Events.Add(s)
	}
}

func (x *extractor) string(id uint32) uint32 { return x.t.Strings.ID(x.from.Strings.At(id)) }

func (x *extractor) category(id uint32) uint32 {
	if id == timeline.NoCategory {
		return id
	}
	return x.string(id)
}

// members puts the document's members together again.
func (x *extractor) members() {
	t := x.t
	completeness := x.completeness()
	t.Completeness = completeness
	for _, key := range x.info.Keys {
		if key == eventsMember {
			t.Source.EventsAt = len(t.Metadata)
			continue
		}
		in := func(p timeline.Property) bool { return p.Key == key }
		p := timeline.Property{Key: key}
		if at := slices.IndexFunc(x.info.Members, in); at >= 0 {
			p = x.info.Members[at]
		} else if at := slices.IndexFunc(x.from.Metadata, in); at >= 0 {
			p.Raw = x.from.Metadata[at].Raw
		}
		written := key == baseMember && x.info.HasBase || key == chrome.KeyCompleteness && completeness != nil
		if p.Raw == nil && !written {
			continue
		}
		t.Metadata = append(t.Metadata, p)
		if key == devicesMember {
			t.Devices = chrome.ReadDevices(p.Raw)
		}
	}
}

// completeness is the part's own record.
func (x *extractor) completeness() *timeline.Completeness {
	if c := x.from.Completeness; c != nil {
		for _, p := range c.Processes {
			if p.Label == x.info.Label && p.PID == x.info.Process.PID && p.Host == x.info.Process.Host {
				return p.Completeness
			}
		}
	}
	return nil
}
