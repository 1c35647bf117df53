package chrome

import (
	"bytes"
	"strconv"

	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/occupancy"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// renderer turns segments into text. Each goroutine has its own; it holds only
// counts.
type renderer struct {
	*plan
	stats Stats
}

// segment appends the text of one segment. It allocates nothing but room in dst.
func (r *renderer) segment(dst []byte, s segment) []byte {
	if r.source != nil {
		return r.sourceSegment(dst, s)
	}
	switch s.what {
	case headSegment:
		return r.head(dst)
	case tailSegment:
		return r.tail(dst)
	case flowSegment:
		for i := s.lo; i < s.hi; i++ {
			dst = r.flowPoint(dst, &r.t.Flows[i])
		}
	default:
		for i := s.lo; i < s.hi; i++ {
			dst = r.event(dst, r.t.Events.At(i))
		}
	}
	return dst
}

func (r *renderer) event(dst []byte, e *timeline.Event) []byte {
	instant := false
	if e.Category == 0 {
		dst = append(dst, r.heads[e.Kind]...)
	} else {
		h := r.catHeads[e.Category]
		dst, instant = append(dst, h.text...), h.instant
	}
	dst = r.name(dst, e)
	dst = append(dst, `", `...)
	ids := r.rows[e.Row].ids
	dst = append(dst, ids...)
	dst = append(dst, `, "ts": `...)
	ts := len(dst)
	dst = appendMicros(dst, e.Start-r.base)
	tsEnd := len(dst)
	if !instant {
		dst = append(dst, `, "dur": `...)
		dst = appendMicros(dst, max(e.End-e.Start, 0))
	}
	dst = r.args(dst, e)
	dst = append(dst, "},\n"...)
	r.stats.Events++
	if e.Flags&(timeline.FlowOut|timeline.FlowIn) != 0 {
		if e.Flags&timeline.FlowOut != 0 {
			dst = r.flow(dst, e.Correlation, ids, ts, tsEnd, true)
		}
		if e.Flags&timeline.FlowIn != 0 {
			dst = r.flow(dst, e.Correlation, ids, ts, tsEnd, false)
		}
	}
	return dst
}

// name appends the event's name; copies, fills and waits that have none get
// Kineto's, from their details.
func (r *renderer) name(dst []byte, e *timeline.Event) []byte {
	if e.Name != 0 {
		if r.compat && e.Kind == timeline.Kernel && e.Name == r.kernelID {
			return append(dst, "Kernel"...)
		}
		return append(dst, r.names[e.Name]...)
	}
	switch e.Kind {
	case timeline.Memcpy, timeline.MemcpyPeer:
		d := r.t.Copies.At(e.Detail)
		dst = event.AppendCopyName(dst, d.Copy, d.Src, d.Dst)
	case timeline.Memset:
		dst = event.AppendFillName(dst, r.t.Copies.At(e.Detail).Dst)
	case timeline.Sync:
		dst = append(dst, r.t.Syncs.At(e.Detail).Kind.String()...)
	}
	return dst
}

// args appends the event's arguments, or nothing if it has none. Each member
// ends in a comma and a blank, and the last ones are taken off again.
func (r *renderer) args(dst []byte, e *timeline.Event) []byte {
	before := len(dst)
	dst = append(dst, `, "args": {`...)
	open := len(dst)
	if e.Flags&timeline.HasExternal != 0 {
		dst = append(dst, `"External id": `...)
		dst = strconv.AppendInt(dst, e.External, 10)
		dst = append(dst, ", "...)
	}
	unfinished := e.Flags&timeline.Unfinished != 0
	switch e.Kind {
	case timeline.Kernel:
		dst = r.kernel(dst, e)
	case timeline.Memcpy, timeline.MemcpyPeer, timeline.Memset:
		dst = r.copy(dst, e)
	case timeline.Runtime, timeline.Driver:
		dst = r.call(dst, e)
	case timeline.Sync:
		dst = r.sync(dst, e)
	case timeline.Host, timeline.Other:
		raw := r.t.Args.At(e.Detail)
		dst = r.members(dst, raw)
		unfinished = unfinished && !bytes.Contains(raw, []byte(`"finished"`))
	}
	if unfinished {
		dst = append(dst, `"finished": false, `...)
	}
	if len(dst) == open {
		return dst[:before]
	}
	return append(dst[:len(dst)-2], '}')
}

func (r *renderer) members(dst, raw []byte) []byte {
	before := len(dst)
	dst, ok := appendMembers(dst, raw)
	if !ok {
		r.stats.InvalidText++
	}
	if len(dst) == before {
		return dst
	}
	return append(dst, ", "...)
}

func (r *renderer) kernel(dst []byte, e *timeline.Event) []byte {
	d, p := r.t.Kernels.At(e.Detail), &r.places[e.Place]
	if r.compat || d.Has&event.HasQueued != 0 {
		dst = appendUint(dst, `"queued": `, d.Queued)
	}
	dst = r.correlation(append(dst, p.all...), e)
	dst = r.launches.append(dst, p.index, d.Launch)
	if !r.compat {
		dst = appendGraph(dst, d.Has, d.GraphID, d.GraphNodeID)
		if d.Has&event.HasPriority != 0 {
			dst = append(dst, `"priority": `...)
			dst = strconv.AppendInt(dst, int64(d.Priority), 10)
			dst = append(dst, ", "...)
		}
		dst = appendChannel(dst, d.Has, d.Channel, d.ChannelType)
	}
	return r.members(dst, r.t.Args.At(d.Collective))
}

func (r *renderer) copy(dst []byte, e *timeline.Event) []byte {
	d, p := r.t.Copies.At(e.Detail), &r.places[e.Place]
	if e.Kind == timeline.MemcpyPeer {
		pl := &r.t.Places[e.Place]
		dst = appendUint(dst, `"fromDevice": `, uint64(d.SrcDevice))
		dst = appendUint(dst, `"inDevice": `, uint64(pl.Device))
		dst = appendUint(dst, `"toDevice": `, uint64(d.DstDevice))
		dst = appendUint(dst, `"fromContext": `, uint64(d.SrcContext))
		dst = appendUint(dst, `"inContext": `, uint64(pl.Context))
		dst = appendUint(dst, `"toContext": `, uint64(d.DstContext))
		dst = append(dst, p.stream...)
	} else {
		dst = append(dst, p.all...)
	}
	dst = r.correlation(dst, e)
	dst = appendUint(dst, `"bytes": `, d.Bytes)
	if d.Has&event.HostSpan != 0 {
		return append(dst, `"timed by": "`+timedByCall+`", `...) // a bandwidth would be the call's
	}
	mark := len(dst)
	dst = append(dst, `"memory bandwidth (GB/s)": `...)
	dst, ok := occupancy.AppendBandwidth(dst, d.Bytes, e.End-e.Start, r.launches.opts)
	if ok {
		dst = append(dst, ", "...)
	} else {
		dst = dst[:mark]
	}
	if !r.compat {
		dst = appendGraph(dst, d.Has, d.GraphID, d.GraphNodeID)
		dst = appendChannel(dst, d.Has, d.Channel, d.ChannelType)
	}
	return dst
}

func (r *renderer) call(dst []byte, e *timeline.Event) []byte {
	d := r.t.Calls.At(e.Detail)
	if d.Has&event.NoCallID == 0 {
		dst = appendUint(dst, `"cbid": `, uint64(d.CBID))
	}
	dst = r.correlation(dst, e)
	if !r.compat && d.Has&event.HasReturn != 0 && d.ReturnValue != 0 {
		dst = appendUint(dst, `"return value": `, uint64(d.ReturnValue))
	}
	return dst
}

func (r *renderer) sync(dst []byte, e *timeline.Event) []byte {
	d, p := r.t.Syncs.At(e.Detail), &r.places[e.Place]
	dst = append(dst, `"cuda_sync_kind": "`...)
	dst = append(dst, d.Kind.String()...)
	dst = append(dst, `", `...)
	if d.Kind == event.EventSync || d.Kind == event.StreamWaitEvent {
		if d.HasSource {
			dst = appendUint(dst, `"wait_on_stream": `, uint64(d.SourceStream))
			dst = appendUint(dst, `"wait_on_cuda_event_record_corr_id": `, d.SourceCorrelation)
		} else if r.compat {
			dst = append(dst, `"wait_on_stream": -1, "wait_on_cuda_event_record_corr_id": -1, `...)
		}
		if r.compat || d.Has&event.HasEventID != 0 {
			dst = appendUint(dst, `"wait_on_cuda_event_id": `, uint64(d.EventID))
		}
	}
	dst = r.correlation(append(dst, p.stream...), e)
	return append(dst, p.owner...)
}

// correlation appends the correlation id; 0 is none, which Kineto writes.
func (r *renderer) correlation(dst []byte, e *timeline.Event) []byte {
	if e.Correlation == 0 && !r.compat {
		return dst
	}
	return appendUint(dst, `"correlation": `, e.Correlation)
}

func appendUint(dst []byte, key string, n uint64) []byte {
	dst = append(dst, key...)
	dst = strconv.AppendUint(dst, n, 10)
	return append(dst, ", "...)
}

func appendGraph(dst []byte, has event.Fields, id uint32, node uint64) []byte {
	if has&event.HasGraph == 0 {
		return dst
	}
	dst = appendUint(dst, `"graph id": `, uint64(id))
	return appendUint(dst, `"graph node id": `, node)
}

func appendChannel(dst []byte, has event.Fields, id, kind uint32) []byte {
	if has&event.HasChannel == 0 {
		return dst
	}
	dst = appendUint(dst, `"channel": `, uint64(id))
	return appendUint(dst, `"channel_type": `, uint64(kind))
}

// flow appends one end of the arrow between an API call and its device work,
// with the ids and the time (dst[ts:tsEnd]) of the event it belongs to.
func (r *renderer) flow(dst []byte, id uint64, ids string, ts, tsEnd int, start bool) []byte {
	if start {
		dst = append(dst, `{"ph": "s", "id": `...)
	} else {
		dst = append(dst, `{"ph": "f", "id": `...)
	}
	dst = appendUint(dst, "", id)
	dst = append(dst, ids...)
	dst = append(dst, `, "ts": `...)
	dst = append(dst, dst[ts:tsEnd]...)
	return r.flowEnd(dst, flowDevice, start)
}

func (r *renderer) flowPoint(dst []byte, f *timeline.FlowPoint) []byte {
	if f.Start {
		dst = append(dst, `{"ph": "s", "id": `...)
	} else {
		dst = append(dst, `{"ph": "f", "id": `...)
	}
	dst = appendUint(dst, "", f.ID)
	dst = append(dst, r.rows[f.Row].ids...)
	dst = append(dst, `, "ts": `...)
	dst = appendMicros(dst, f.TS-r.base)
	return r.flowEnd(dst, r.names[f.Name], f.Start)
}

func (r *renderer) flowEnd(dst []byte, name string, start bool) []byte {
	dst = append(dst, `, "cat": "`...)
	dst = append(dst, name...)
	dst = append(dst, `", "name": "`...)
	dst = append(dst, name...)
	if start {
		dst = append(dst, "\"},\n"...)
	} else {
		dst = append(dst, "\", \"bp\": \"e\"},\n"...)
	}
	r.stats.Events++
	r.stats.Flows++
	return dst
}
