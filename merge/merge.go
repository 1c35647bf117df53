package merge

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/flagos-ai/flagos-trace/timeline"
)

// ErrNothing is returned if there is no trace to merge.
var ErrNothing = errors.New("nothing to merge")

// Part is one trace with the name its rows are labelled by.
type Part struct {
	Trace *timeline.Trace
	// Label tells the process from the others: "rank 0". Empty stands for none.
	Label string
}

// Numbers of what shows as a process. Kineto sorts devices behind host processes
// from sortDevices on and the overhead behind those.
const (
	sortDevices  = 5_000_000
	sortOverhead = 0x100000A
	overheadPID  = -1
)

// Traces merges the parts in their order.
func Traces(parts []Part) (*timeline.Trace, error) {
	if len(parts) == 0 {
		return nil, ErrNothing
	}
	m := merger{
		t:    &timeline.Trace{Groups: []timeline.Group{}, Window: timeline.Window{Start: math.MaxInt64, End: math.MinInt64}},
		used: map[int64]bool{},
	}
	// The numbers of the host processes are kept wherever they differ.
	for _, p := range parts {
		if pid := int64(p.Trace.Process.PID); pid != 0 {
			m.used[pid] = true
		}
	}
	host := map[int64]bool{}
	for _, p := range parts {
		m.part(p, host)
	}
	m.completeness(parts)
	slices.SortStableFunc(m.t.Groups, func(a, b timeline.Group) int { return cmp.Compare(a.SortIndex, b.SortIndex) })
	return m.t, nil
}

type merger struct {
	t     *timeline.Trace
	used  map[int64]bool // numbers that show as a process already
	next  uint64         // correlation ids and flow ids below are taken
	flows uint64
	done  int // parts done
}

// free returns a number for a group: the wanted one, or the next farther from
// zero that is free.
func (m *merger) free(want int64) int64 {
	step := int64(1)
	if want < 0 {
		step = -1
	}
	for m.used[want] {
		want += step
	}
	m.used[want] = true
	return want
}

// part adds one trace.
func (m *merger) part(p Part, hosts map[int64]bool) {
	from, t := p.Trace, m.t
	strings := make([]uint32, from.Strings.Len())
	for i := range strings {
		strings[i] = t.Strings.ID(from.Strings.At(uint32(i)))
	}
	rows := m.rows(p, hosts)
	places := make([]uint32, len(from.Places))
	for i, pl := range from.Places {
		places[i] = t.Place(pl)
	}
	launches := make([]uint32, len(from.Launches))
	for i, l := range from.Launches {
		launches[i] = t.Launch(l)
	}
	top := m.next
	for i := range uint32(from.Events.Len()) {
		e := *from.Events.At(i)
		if e.Correlation != 0 {
			top = max(top, m.next+e.Correlation)
			e.Correlation += m.next
		}
		e.Name, e.Category, e.Row = strings[e.Name], strings[e.Category], rows[e.Row]
		if int(e.Place) < len(places) {
			e.Place = places[e.Place]
		}
		e.Detail = m.detail(from, &e, launches)
		t.Events.Add(e)
	}
	flows := m.flows
	for _, f := range from.Flows {
		flows = max(flows, m.flows+f.ID)
		f.ID, f.Row, f.Name = f.ID+m.flows, rows[f.Row], strings[f.Name]
		t.Flows = append(t.Flows, f)
	}
	m.next, m.flows = top, flows
	m.metadata(from)
	t.Window.Start, t.Window.End = min(t.Window.Start, from.Window.Start), max(t.Window.End, from.Window.End)
	m.done++
}

// detail copies what an event has beyond the common.
func (m *merger) detail(from *timeline.Trace, e *timeline.Event, launches []uint32) uint32 {
	switch e.Kind {
	case timeline.Kernel:
		d := *from.Kernels.At(e.Detail)
		d.Launch = launches[d.Launch]
		d.Collective = m.t.Args.Add(from.Args.At(d.Collective))
		return m.t.Kernels.Add(d)
	case timeline.Memcpy, timeline.MemcpyPeer, timeline.Memset:
		return m.t.Copies.Add(*from.Copies.At(e.Detail))
	case timeline.Runtime, timeline.Driver:
		return m.t.Calls.Add(*from.Calls.At(e.Detail))
	case timeline.Sync:
		d := *from.Syncs.At(e.Detail)
		if d.SourceCorrelation != 0 {
			d.SourceCorrelation += m.next
		}
		return m.t.Syncs.Add(d)
	case timeline.Host, timeline.Other:
		return m.t.Args.Add(from.Args.At(e.Detail))
	}
	return 0
}

// rows adds a trace's rows under numbers of their own and names their groups.
func (m *merger) rows(p Part, hosts map[int64]bool) []uint32 {
	from := p.Trace
	ids := make([]uint32, len(from.Rows))
	type owner struct {
		pid  int64
		host bool // a host process, else a device or the overhead
	}
	numbers := map[owner]int64{}
	for i, r := range from.Rows {
		host := r.Kind == timeline.RowThread || r.Kind == timeline.RowOther && r.PIDText == ""
		o := owner{r.PID, host}
		n, ok := numbers[o]
		if !ok && r.PIDText == "" {
			n = m.number(p, r, host, hosts)
			numbers[o] = n
		}
		r.PID = n
		ids[i] = m.t.Row(r)
	}
	return ids
}

// number chooses what a process, a device or an overhead of a part is shown as.
func (m *merger) number(p Part, r timeline.Row, host bool, hosts map[int64]bool) int64 {
	g := timeline.Group{Name: p.Trace.Process.Name, SortIndex: int64(m.done) * 100}
	switch {
	case host && !hosts[r.PID]:
		hosts[r.PID], m.used[r.PID] = true, true
		g.PID, g.Label = r.PID, p.label("CPU")
	case host: // another host's process with the same number
		g.PID, g.Label = m.free(r.PID+1_000_000_000), p.label("CPU")
	case r.Kind == timeline.RowOverhead:
		g.PID, g.Name, g.Label = m.free(overheadPID), "CUPTI Overhead", p.label("")
		g.SortIndex += sortOverhead
	default:
		g.PID, g.Label = m.free(r.PID), p.label(fmt.Sprintf("GPU %d", r.PID))
		g.SortIndex += sortDevices + r.PID
	}
	m.t.Groups = append(m.t.Groups, g)
	return g.PID
}

// label joins what is known of a part: its own label, what it is, the process.
func (p Part) label(what string) string {
	var words []string
	for _, w := range []string{p.Label, what} {
		if w != "" {
			words = append(words, w)
		}
	}
	at := ""
	if pr := p.Trace.Process; pr.PID != 0 {
		at = fmt.Sprintf("pid %d", pr.PID)
		if pr.Host != "" {
			at = pr.Host + " " + at
		}
	}
	if at != "" {
		words = append(words, "("+at+")")
	}
	return strings.Join(words, " ")
}

// metadata keeps the top-level entries on which all parts agree; a rank's own
// distributedInfo is not one of them.
func (m *merger) metadata(from *timeline.Trace) {
	t := m.t
	if m.done == 0 {
		t.Metadata = slices.Clone(from.Metadata)
	} else {
		t.Metadata = slices.DeleteFunc(t.Metadata, func(p timeline.Property) bool {
			for _, q := range from.Metadata {
				if p.Key == q.Key && string(p.Raw) == string(q.Raw) {
					return false
				}
			}
			return true
		})
	}
	for _, d := range from.Devices {
		known := slices.IndexFunc(t.Devices, func(o timeline.Device) bool { return o.ID == d.ID })
		if known < 0 {
			t.Devices = append(t.Devices, timeline.Device{ID: d.ID, Name: d.Name, Properties: slices.Clone(d.Properties)})
			continue
		}
		// Where two processes' device 0 differ, only what they share is true.
		o := &t.Devices[known]
		if o.Name != d.Name {
			o.Name = ""
		}
		o.Properties = slices.DeleteFunc(o.Properties, func(p timeline.DeviceProperty) bool {
			v, ok := d.Property(p.Key)
			return !ok || v != p.Value
		})
	}
}

// completeness keeps each part's record; the verdict is the worst of them.
func (m *merger) completeness(parts []Part) {
	var c timeline.Completeness
	worst := timeline.Complete
	known := false
	for _, p := range parts {
		pc := p.Trace.Completeness
		if pc == nil {
			worst = worse(worst, timeline.Unknown)
			continue
		}
		known = true
		c.Tool = pc.Tool
		worst = worse(worst, pc.Verdict)
		c.Processes = append(c.Processes, timeline.ProcessCompleteness{
			PID: p.Trace.Process.PID, Host: p.Trace.Process.Host, Label: p.Label, Completeness: pc,
		})
		c.Received, c.Written = add(c.Received, pc.Received), add(c.Written, pc.Written)
		c.Dropped = add(c.Dropped, pc.Dropped)
	}
	if known {
		c.Verdict = worst
		m.t.Completeness = &c
	}
}

func worse(a, b timeline.Verdict) timeline.Verdict {
	order := []timeline.Verdict{timeline.Complete, timeline.Unknown, timeline.Incomplete}
	if slices.Index(order, b) > slices.Index(order, a) {
		return b
	}
	return a
}

func add(to, from map[string]uint64) map[string]uint64 {
	for k, n := range from {
		if to == nil {
			to = map[string]uint64{}
		}
		to[k] += n
	}
	return to
}
