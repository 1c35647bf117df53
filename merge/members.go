package merge

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/timeline"
)

const (
	baseMember    = "baseTimeNanoseconds"
	devicesMember = "deviceProperties"
	eventsMember  = "traceEvents"
)

// members keeps the top-level members that all parts have in the same words; those
// of one part alone, a rank's distributedInfo among them, stand in its Info. The
// properties of devices are joined.
func (m *merger) members(parts []Part) {
	t := m.t
	own := func(key string) bool { return key == baseMember || key == chrome.KeyCompleteness || key == KeyMerge }
	first := parts[0].Trace
	for _, p := range first.Metadata {
		same := !own(p.Key) && p.Key != devicesMember
		for _, other := range parts[1:] {
			same = same && slices.ContainsFunc(other.Trace.Metadata, func(q timeline.Property) bool {
				return q.Key == p.Key && bytes.Equal(q.Raw, p.Raw)
			})
		}
		if same {
			t.Metadata = append(t.Metadata, timeline.Property{Key: p.Key, Raw: slices.Clone(p.Raw)})
		}
	}
	if t.Source != nil {
		if raw, ok := joinedDevices(parts); ok {
			at := min(1, len(t.Metadata)) // behind schemaVersion, where Kineto has it
			t.Metadata = slices.Insert(t.Metadata, at, timeline.Property{Key: devicesMember, Raw: raw})
		}
	}
	var infos []Info
	for i, p := range parts {
		info := m.infos[i]
		events := p.Trace.Source != nil && !p.Trace.Source.Array
		for k, q := range p.Trace.Metadata {
			if events && k == p.Trace.Source.EventsAt {
				info.Keys = append(info.Keys, eventsMember)
			}
			if q.Key == KeyMerge {
				continue
			}
			info.Keys = append(info.Keys, q.Key)
			same := slices.ContainsFunc(t.Metadata, func(o timeline.Property) bool { return o.Key == q.Key && bytes.Equal(o.Raw, q.Raw) })
			if !own(q.Key) && !same {
				info.Members = append(info.Members, q)
			}
		}
		if events && p.Trace.Source.EventsAt >= len(p.Trace.Metadata) {
			info.Keys = append(info.Keys, eventsMember)
		}
		inner := Infos(p.Trace)
		for _, i := range inner {
			infos = append(infos, i.within(&info))
		}
		if len(inner) == 0 {
			infos = append(infos, info)
		}
	}
	raw := []byte{'['}
	for i := range infos {
		if i > 0 {
			raw = append(raw, ',')
		}
		raw = infos[i].append(append(raw, "\n  "...))
	}
	t.Metadata = append(t.Metadata, timeline.Property{Key: KeyMerge, Raw: append(raw, "\n]"...)})
	if t.Source != nil {
		t.Source.EventsAt = len(t.Metadata)
	}
}

// devices joins the devices of a part with those before. Where two processes'
// device 0 differ, only what they share is true.
func (m *merger) devices(from *timeline.Trace) {
	t := m.t
	for _, d := range from.Devices {
		known := slices.IndexFunc(t.Devices, func(o timeline.Device) bool { return o.ID == d.ID })
		if known < 0 {
			t.Devices = append(t.Devices, timeline.Device{ID: d.ID, Name: d.Name, Properties: slices.Clone(d.Properties)})
			continue
		}
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

// joinedDevices is deviceProperties of a merged document: that of the parts where it
// is the same, else one object for each device with what all parts that have it say
// of it in the same words.
func joinedDevices(parts []Part) ([]byte, bool) {
	var raws [][]byte
	for _, p := range parts {
		for _, q := range p.Trace.Metadata {
			if q.Key == devicesMember {
				raws = append(raws, q.Raw)
			}
		}
	}
	if len(raws) == 0 {
		return nil, false
	}
	same := len(raws) == len(parts)
	for _, raw := range raws[1:] {
		same = same && bytes.Equal(raw, raws[0])
	}
	if same {
		return slices.Clone(raws[0]), true
	}
	type device struct {
		id      string
		members []timeline.Property
	}
	var devices []device
	for _, raw := range raws {
		for item := range chrome.Elements(raw) {
			d := device{id: string(chrome.Lookup(item, "id"))}
			for m := chrome.WalkMembers(item); m.Next(); {
				d.members = append(d.members, timeline.Property{Key: string(m.Key), Raw: m.Value})
			}
			at := slices.IndexFunc(devices, func(o device) bool { return o.id == d.id })
			if at < 0 {
				devices = append(devices, d)
				continue
			}
			devices[at].members = slices.DeleteFunc(devices[at].members, func(p timeline.Property) bool {
				return !slices.ContainsFunc(d.members, func(q timeline.Property) bool { return q.Key == p.Key && bytes.Equal(q.Raw, p.Raw) })
			})
		}
	}
	out := []byte{'['}
	for i, d := range devices {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, "\n  {"...)
		for k, m := range d.members {
			if k > 0 {
				out = append(out, ", "...)
			}
			out = append(append(append(append(out, '"'), m.Key...), `": `...), m.Raw...)
		}
		out = append(out, '}')
	}
	return append(out, "\n]"...), true
}

// completeness keeps each part's record; the verdict is the worst of them.
func (m *merger) completeness(parts []Part) {
	var c timeline.Completeness
	worst := timeline.Complete
	known := false
	for _, p := range parts {
		pc := p.Trace.Completeness
		c.Processes = append(c.Processes, timeline.ProcessCompleteness{
			PID: p.Trace.Process.PID, Host: p.Trace.Process.Host, Label: p.Label, Alignment: p.Clock, Completeness: pc,
		})
		if pc == nil {
			worst = worse(worst, timeline.Unknown)
			continue
		}
		known = true
		c.Tool = pc.Tool
		worst = worse(worst, pc.Verdict)
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

// rank is what a document says of its rank: the distributedInfo among its members.
func rank(members []timeline.Property) (int, bool) {
	for _, m := range members {
		if m.Key == "distributedInfo" {
			n, ok := chrome.Value(chrome.Lookup(m.Raw, "rank")).Int()
			return int(n), ok
		}
	}
	return 0, false
}

// DefaultLabel names a trace by what it says of itself: "rank 3". It is empty
// where it says nothing.
func DefaultLabel(t *timeline.Trace) string {
	if n, ok := rank(t.Metadata); ok {
		return "rank " + strconv.Itoa(n)
	}
	return ""
}
