package spool

import (
	"maps"
	"slices"
	"strconv"

	"github.com/flagos-ai/flagos-trace/tracer"
)

func (h *Header) encode() []byte {
	o := newObject()
	o.text("agent", h.Agent)
	o.number("pid", int64(h.PID))
	o.number("ppid", int64(h.PPID))
	o.text("process", h.Process)
	o.text("host", h.Host)
	o.number("start_ns", h.StartNS)
	o.raw("binding", encodeBinding(&h.Binding))
	o.raw("options", encodeOptions(&h.Options))
	o.texts("requested", h.Requested)
	o.key("env")
	if h.Env == nil {
		o.b = append(o.b, "null"...)
	} else {
		env := newObject()
		for _, k := range slices.Sorted(maps.Keys(h.Env)) {
			env.text(k, h.Env[k])
		}
		o.b = append(o.b, env.end()...)
	}
	if h.Paused {
		o.yes("paused", true)
	}
	if h.Segment != 0 {
		o.number("segment", int64(h.Segment))
	}
	if h.SegmentNS != 0 {
		o.number("segment_ns", h.SegmentNS)
	}
	return o.end()
}

func encodeOptions(p *tracer.Options) []byte {
	o := newObject()
	o.text("API", string(p.API))
	o.yes("Sync", p.Sync)
	o.yes("Overhead", p.Overhead)
	o.yes("PerThread", p.PerThread)
	if p.NVTX {
		o.yes("NVTX", true)
	}
	return o.end()
}

func encodeBinding(i *tracer.BindingInfo) []byte {
	o := newObject()
	o.text("tracer", i.Tracer)
	o.text("library", i.Path)
	o.text("how", i.How)
	o.count("api_version", uint64(i.APIVersion))
	if i.Driver != 0 {
		o.count("driver_version", uint64(i.Driver))
	}
	if i.Runtime != 0 {
		o.count("runtime_version", uint64(i.Runtime))
	}
	if i.HandleThreads {
		o.yes("thread_handles", true)
	}
	return o.end()
}

func encodeDevices(list []tracer.Device) []byte {
	if list == nil {
		return []byte("null")
	}
	b := []byte{'['}
	for i, d := range list {
		if i > 0 {
			b = append(b, ',')
		}
		o := newObject()
		o.count("id", uint64(d.ID))
		o.text("name", d.Name)
		o.key("attributes")
		if d.Attributes == nil {
			o.b = append(o.b, "null"...)
		} else {
			attributes := newObject()
			for _, k := range slices.Sorted(maps.Keys(d.Attributes)) {
				attributes.number(k, d.Attributes[k])
			}
			o.b = append(o.b, attributes.end()...)
		}
		b = append(b, o.end()...)
	}
	return append(b, ']')
}

func (l *Loss) encode() []byte {
	o := newObject()
	o.text("code", l.Code)
	o.text("text", l.Text)
	return o.end()
}

func (s *Session) encode() []byte {
	o := newObject()
	o.number("start_ns", s.StartNS)
	if s.EndNS != 0 {
		o.number("end_ns", s.EndNS)
	}
	if len(s.Kinds) > 0 {
		o.key("kinds")
		for i, k := range s.Kinds {
			o.b = strconv.AppendUint(append(o.b, "[,"[min(i, 1)]), uint64(k), 10)
		}
		o.b = append(o.b, ']')
	}
	if s.Buffers != 0 {
		o.count("buffers", s.Buffers)
	}
	if s.Late != 0 {
		o.number("late", int64(s.Late))
	}
	return o.end()
}

func (t *Thread) encode() []byte {
	o := newObject()
	o.number("tid", int64(t.TID))
	o.text("name", t.Name)
	return o.end()
}

func (c *Counters) encode() []byte {
	o := newObject()
	o.count("buffers_requested", c.BuffersRequested)
	o.count("buffers_delivered", c.BuffersDelivered)
	o.count("buffers_discarded", c.BuffersDiscarded)
	o.count("bytes_discarded", c.BytesDiscarded)
	if c.BuffersForeign != 0 {
		o.count("buffers_foreign", c.BuffersForeign)
	}
	if c.RecordsDropped != nil {
		o.count("records_dropped", *c.RecordsDropped)
	}
	o.count("write_errors", c.WriteErrors)
	o.count("bytes_unwritten", c.BytesUnwritten)
	if c.BytesOverSize != 0 {
		o.count("bytes_over_max_size", c.BytesOverSize)
	}
	if c.RingDropped != 0 {
		o.count("ring_dropped_bytes", c.RingDropped)
	}
	o.count("flushes", c.Flushes)
	o.number("agent_cpu_ns", c.AgentCPUNS)
	return o.end()
}

func (w *Window) encode() []byte {
	o := newObject()
	o.yes("open", w.Open)
	o.number("ns", w.NS)
	return o.end()
}

func (e *End) encode() []byte {
	o := newObject()
	o.text("reason", e.Reason)
	o.number("ns", e.NS)
	o.yes("flushed", e.Flushed)
	return o.end()
}

// Encode returns the line that answers a request, without its end.
func (r *Reply) Encode() []byte {
	o := newObject()
	o.yes("ok", r.OK)
	if r.Code != "" {
		o.text("code", r.Code)
	}
	if r.Text != "" {
		o.text("text", r.Text)
	}
	o.number("pid", int64(r.PID))
	if r.State != "" {
		o.text("state", r.State)
	}
	o.yes("armed", r.Armed)
	o.count("windows", r.Window)
	if r.Spool != "" {
		o.text("spool", r.Spool)
	}
	o.number("spool_bytes", r.Size)
	if r.Counters != nil {
		o.raw("counters", r.Counters.encode())
	}
	return o.end()
}
