package ascend

import (
	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/tracer"
)

// call is what the name of an API call tells.
type call struct {
	class   callClass
	settled bool
}

// caller is a thread's last correlation id.
type caller struct {
	id  uint64
	end uint64 // of the first call that had it: records of a thread come in the order in which its calls end
}

func (d *Decoder) callOf(name uint32) callClass {
	for uint32(len(d.calls)) <= name {
		d.calls = append(d.calls, call{})
	}
	c := &d.calls[name]
	if !c.settled {
		*c = call{classify(d.cfg.Strings.At(name)), true}
	}
	return c.class
}

func (d *Decoder) call(kind uint32, rec []byte) bool {
	l, e := &layouts[kind], &d.ev
	name := d.names[u64(rec, l.name)]
	if name == 0 {
		d.dropped[tracer.CountNoCallbackName]++
		return false
	}
	start, end := u64(rec, l.start), u64(rec, l.end)
	e.PID, e.TID = u32(rec, l.pid), u32(rec, l.tid)
	class := d.callOf(name)
	e.Correlation = d.ownID(e.TID, u64(rec, l.correlation), start, end)
	if !class.shown(d.cfg.API) {
		d.dropped[tracer.CountFiltered]++
		return false
	}
	if !d.span(start, end) {
		return false
	}
	e.Kind = event.Runtime
	if kind == KindRuntimeAPI {
		e.Kind = event.Driver // what the calls of the others are made of
	}
	e.Name, e.Has = name, event.NoCallID
	if class == startsCall && e.Correlation != 0 {
		e.Has |= event.StartsWork
		d.pushers[e.TID] = true
	}
	return true
}

// ownID returns the id of a call, 0 if it only repeats the one that its thread took
// in an earlier call. The call in which an id is taken, and those around it, have ended
// or begun before the first of them ended; a later call began after that.
func (d *Decoder) ownID(tid uint32, id, start, end uint64) uint64 {
	if id == 0 {
		return 0
	}
	t := d.threads[tid]
	if t == nil {
		t = new(caller)
		d.threads[tid] = t
	}
	if t.id != id {
		t.id, t.end = id, end
		return id
	}
	if start >= t.end {
		d.dropped[tracer.CountInherited]++
		return 0
	}
	return id
}

// External correlation kinds. Source: msptiExternalCorrelationKind; CUSTOM0 for
// operators and CUSTOM1 for annotations, as PyTorch pushes them on CUPTI's.
const (
	ExternalOperator   = 2
	ExternalAnnotation = 3
)

func (d *Decoder) externalID(rec []byte) bool {
	l, e := &layouts[KindExternalCorrelation], &d.ev
	switch u32(rec, l.value) {
	case ExternalOperator:
		e.External = event.ExternalOperator
	case ExternalAnnotation:
		e.External = event.ExternalAnnotation
	default:
		d.dropped[tracer.CountForeignExternal]++
		return false
	}
	d.external++
	e.Kind = event.ExternalCorrelation
	e.ExternalID, e.Correlation = u64(rec, l.count), u64(rec, l.correlation)
	return true
}

// Flags of a marker, on the host alone and with one on the device. Source:
// msptiActivityFlag.
const (
	markerInstant = 1 | 8
	markerBegin   = 2 | 16
	markerEnd     = 4 | 32
	sourceHost    = 0
)

// marker decodes what the program reported through mstx. Records of the device's side
// of a mark are stepped over and counted: the thread's has its name.
func (d *Decoder) marker(rec []byte) bool {
	l, e := &layouts[KindMarker], &d.ev
	flags := u32(rec, l.value)
	switch {
	case u32(rec, l.source) != sourceHost:
		d.skipped[KindMarker]++
		return false
	case flags&markerInstant != 0:
		e.Phase = event.MarkerInstant
	case flags&markerBegin != 0:
		e.Phase = event.MarkerBegin
	case flags&markerEnd != 0:
		e.Phase = event.MarkerEnd
	default:
		d.skipped[KindMarker]++
		return false
	}
	t := u64(rec, l.start)
	if !d.span(t, t) {
		return false
	}
	e.Kind, e.Has = event.Marker, event.HasThread
	e.MarkerID = uint32(u64(rec, l.count)) // ids are counted up
	e.PID, e.TID = u32(rec, l.pid), u32(rec, l.tid)
	if e.Phase != event.MarkerEnd {
		e.Name = d.names[u64(rec, l.name)]
		if domain := d.names[u64(rec, l.name2)]; d.cfg.Strings.At(domain) != "default" {
			e.Domain = domain
		}
	}
	return true
}
