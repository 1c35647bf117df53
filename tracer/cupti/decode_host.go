package cupti

import (
	"encoding/binary"

	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/tracer"
)

// External correlation kinds that PyTorch pushes. Source:
// CUpti_ExternalCorrelationKind, CUSTOM0 for operators, CUSTOM1 for annotations.
const (
	externalCustom0 = 3
	externalCustom1 = 4
)

// none is what streams and event ids hold where they do not apply.
const none = 0xFFFFFFFF

// apiName is a callback id's name and whether its calls are recorded.
type apiName struct {
	name    uint32 // in Strings; 0: not known
	shown   bool
	work    bool // its calls start device work
	settled bool
}

func (a *apiName) set(d *Decoder, domain, id uint32, name string) {
	a.name = d.cfg.Strings.ID(name)
	name = d.dialect.canonical(domain, name)
	a.shown = Shown(d.cfg.API, domain, id, name)
	a.work = startsWork(name)
	a.settled = true
}

// maxCBID bounds callback ids, so that a garbage record cannot make the name
// cache grow; 13.0 U1 had 806.
const maxCBID = 1 << 16

func (d *Decoder) apiEntry(domain, id uint32) *apiName {
	if id >= maxCBID {
		return new(apiName)
	}
	for uint32(len(d.api[domain])) <= id {
		d.api[domain] = append(d.api[domain], apiName{})
	}
	a := &d.api[domain][id]
	if !a.settled {
		if name := d.dialect.Name(domain, id); name != "" {
			a.set(d, domain, id, name)
		}
		a.settled = true
	}
	return a
}

func (d *Decoder) decodeAPI(rec []byte) bool {
	o, e := &d.calls[binary.LittleEndian.Uint32(rec)], &d.ev
	e.Correlation = d.epoch.extend(u32(rec, o.correlation))
	e.Kind = event.Runtime
	domain := uint32(DomainRuntime)
	if binary.LittleEndian.Uint32(rec) == KindDriver {
		e.Kind, domain = event.Driver, DomainDriver
	}
	e.CBID = u32(rec, o.cbid)
	a := d.apiEntry(domain, e.CBID)
	switch {
	case a.name == 0:
		d.dropped[tracer.CountNoCallbackName]++
		return false
	case !a.shown:
		d.dropped[tracer.CountFiltered]++
		d.epoch.commit(e.Correlation)
		return false
	}
	if !d.span(u64(rec, o.start), u64(rec, o.end)) {
		return false
	}
	e.Name = a.name
	e.PID, e.TID = u32(rec, o.process), u32(rec, o.thread)
	e.ReturnValue = u32(rec, o.returned)
	e.Has = event.HasReturn
	if a.work {
		e.Has |= event.StartsWork
	}
	return true
}

func (d *Decoder) decodeExternal(rec []byte) bool {
	o, e := &d.external, &d.ev
	e.Correlation = d.epoch.extend(u32(rec, o.correlation))
	switch u32(rec, o.externalKind) {
	case externalCustom0:
		e.External = event.ExternalOperator
	case externalCustom1:
		e.External = event.ExternalAnnotation
	default:
		d.dropped[tracer.CountForeignExternal]++
		d.epoch.commit(e.Correlation)
		return false
	}
	e.Kind = event.ExternalCorrelation
	e.ExternalID = u64(rec, o.externalID)
	return true
}

func (d *Decoder) decodeSync(rec []byte) bool {
	o, e := &d.sync, &d.ev
	e.Correlation = d.epoch.extend(u32(rec, o.correlation))
	if !d.span(u64(rec, o.start), u64(rec, o.end)) {
		return false
	}
	e.Kind = event.Sync
	e.SyncKind = event.SyncKind(min(u32(rec, o.syncType), uint32(len(d.syncNames)-1)))
	e.Name = d.syncNames[e.SyncKind]
	e.Context = u32(rec, o.context)
	if s := u32(rec, o.stream); s != none {
		e.Stream = s
		e.Has |= event.HasStream
	}
	if id := u32(rec, o.eventID); id != none && (e.SyncKind == event.EventSync || e.SyncKind == event.StreamWaitEvent) {
		e.EventID = id
		e.Has |= event.HasEventID
		if o.syncID != 0 {
			e.SyncID = u64(rec, o.syncID)
			e.Has |= event.HasSyncID
		}
	}
	return true
}

func (d *Decoder) decodeCudaEvent(rec []byte) bool {
	o, e := &d.cudaEvent, &d.ev
	e.Correlation = d.epoch.extend(u32(rec, o.correlation))
	e.Kind = event.DeviceEvent
	e.Context, e.Stream, e.EventID = u32(rec, o.context), u32(rec, o.stream), u32(rec, o.eventID)
	e.Has = event.HasStream | event.HasEventID
	if o.device != 0 {
		e.Device = u32(rec, o.device)
		e.Has |= event.HasDevice
	}
	if o.syncID != 0 {
		e.SyncID = u64(rec, o.syncID)
		e.Has |= event.HasSyncID
	}
	return true
}

func (d *Decoder) decodeContext(rec []byte) bool {
	e := &d.ev
	e.Kind, e.Has = event.Context, event.HasDevice
	e.Context, e.Device = u32(rec, d.context.context), u32(rec, d.context.device)
	return true
}

// overheadNames are Kineto's texts by CUpti_ActivityOverheadKind, 13.0 U1. 8<<16
// (UVM activity init) has none in Kineto, which prints "Unrecognized".
var overheadNames = map[uint32]string{
	0: "Unknown", 1: "Driver Compiler", 1 << 16: "Buffer Flush", 2 << 16: "Instrumentation",
	3 << 16: "Resource", 4 << 16: "Runtime Triggered Module Loading", 5 << 16: "Lazy Function Loading",
	6 << 16: "Command Buffer Full", 7 << 16: "Activity Buffer Request", 8 << 16: "UVM Activity Init",
}

func (d *Decoder) decodeOverhead(rec []byte) bool {
	o, e := &d.overhead, &d.ev
	if o.correlation != 0 {
		e.Correlation = d.epoch.extend(u32(rec, o.correlation))
	}
	if !d.span(u64(rec, o.start), u64(rec, o.end)) {
		return false
	}
	e.Kind = event.Overhead
	e.OverheadKind = u32(rec, o.overheadKind)
	id, ok := d.overheads[e.OverheadKind]
	if !ok {
		name, known := overheadNames[e.OverheadKind]
		if !known {
			name = "Unrecognized"
		}
		id = d.cfg.Strings.ID(name)
		d.overheads[e.OverheadKind] = id
	}
	e.Name = id
	return true
}
