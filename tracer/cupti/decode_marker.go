package cupti

import "github.com/flagos-ai/flagos-trace/event"

// Flags of a marker. Source: CUpti_ActivityFlag, CUDA 13.0 U1. Flags of user
// synchronisation (8 to 64) are not decoded.
const (
	markerInstant = 1 << 0
	markerStart   = 1 << 1
	markerEnd     = 1 << 2
)

// objectThread says that a record's object is a thread: its id holds the ids of
// process and thread, 4 bytes each. Source: CUpti_ActivityObjectKind.
const objectThread = 2

// decodeMarker decodes what the program reported through NVTX. The name of the
// end of a range is NULL, and so is the domain of what was put into none.
func (d *Decoder) decodeMarker(rec []byte) bool {
	o, e := &d.marker, &d.ev
	switch flags := u32(rec, o.flags); {
	case flags&markerInstant != 0:
		e.Phase = event.MarkerInstant
	case flags&markerStart != 0:
		e.Phase = event.MarkerBegin
	case flags&markerEnd != 0:
		e.Phase = event.MarkerEnd
	default:
		d.skipped[KindMarker]++
		return false
	}
	t := u64(rec, o.timestamp)
	if !d.span(t, t) {
		return false
	}
	e.Kind = event.Marker
	e.MarkerID = u32(rec, o.id)
	if u32(rec, o.objectKind) == objectThread {
		e.PID, e.TID = u32(rec, o.object), u32(rec, o.object+4)
		e.Has |= event.HasThread
	}
	if e.Phase != event.MarkerEnd {
		e.Name, e.Domain = d.names[u64(rec, o.name)], d.names[u64(rec, o.domain)]
	}
	return true
}
