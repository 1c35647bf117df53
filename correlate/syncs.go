package correlate

import (
	"cmp"
	"slices"

	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// recording is one recording of a device event into a stream.
type recording struct {
	correlation uint64
	stream      uint32
}

type eventKey struct{ context, id uint32 }

// recordings remembers which stream each device event was last recorded in.
type recordings struct {
	byEvent map[eventKey][]recording
	bySync  map[uint64]recording
}

func (r *recordings) add(e *event.Event) {
	if r.byEvent == nil {
		r.byEvent, r.bySync = map[eventKey][]recording{}, map[uint64]recording{}
	}
	rec := recording{e.Correlation, e.Stream}
	k := eventKey{e.Context, e.EventID}
	r.byEvent[k] = append(r.byEvent[k], rec)
	if e.Has&event.HasSyncID != 0 && e.SyncID != 0 {
		r.bySync[e.SyncID] = rec
	}
}

func (r *recordings) sort() {
	for _, list := range r.byEvent {
		slices.SortStableFunc(list, func(x, y recording) int { return cmp.Compare(x.correlation, y.correlation) })
	}
}

// before returns the latest recording of an event that is not later than the
// wait with the given correlation id.
func (r *recordings) before(k eventKey, correlation uint64) (recording, bool) {
	list := r.byEvent[k]
	n, _ := slices.BinarySearchFunc(list, correlation+1, func(x recording, c uint64) int { return cmp.Compare(x.correlation, c) })
	if n == 0 {
		return recording{}, false
	}
	return list[n-1], true
}

// of returns the recording a wait waited for: the one the library names, even if
// it was made in another context, else the latest one of the event.
func (r *recordings) of(d *timeline.SyncDetail, context uint32, correlation uint64) (recording, bool) {
	if d.Has&event.HasSyncID != 0 && d.SyncID != 0 {
		if rec, ok := r.bySync[d.SyncID]; ok {
			return rec, true
		}
	}
	return r.before(eventKey{context, d.EventID}, correlation)
}

// joinSyncs finds the device of each wait and the recording it waited for.
func (b *Builder) joinSyncs() {
	b.recordings.sort()
	for i := b.first; i < uint32(b.t.Events.Len()); i++ {
		e := b.t.Events.At(i)
		if e.Kind != timeline.Sync {
			continue
		}
		p := b.t.Places[e.Place]
		if dev, ok := b.deviceOf(p.Context); ok && p.Has&event.HasDevice == 0 {
			p.Device = dev
			p.Has |= event.HasDevice
			e.Place = b.t.Place(p)
		}
		d := b.t.Syncs.At(e.Detail)
		if d.Has&event.HasEventID == 0 {
			continue
		}
		if rec, ok := b.recordings.of(d, p.Context, e.Correlation); ok {
			d.HasSource, d.SourceStream, d.SourceCorrelation = true, rec.stream, rec.correlation
		}
	}
}

// contexts maps contexts to devices. An id that stands for contexts of several
// devices, as separate driver instances may give out, tells none.
type contexts struct {
	devices   map[uint32]uint32
	ambiguous map[uint32]bool
}

func (c *contexts) learn(context, device uint32) {
	old, ok := c.devices[context]
	switch {
	case !ok:
		if c.devices == nil {
			c.devices = map[uint32]uint32{}
		}
		c.devices[context] = device
	case old != device:
		if c.ambiguous == nil {
			c.ambiguous = map[uint32]bool{}
		}
		c.ambiguous[context] = true
	}
}

// device returns the context's device; known is false for a context never seen,
// ok for one that tells no device.
func (c *contexts) device(context uint32) (device uint32, known, ok bool) {
	device, known = c.devices[context]
	return device, known, known && !c.ambiguous[context]
}

// deviceOf returns the device of a context: from its device work, or because
// there is only one device.
func (b *Builder) deviceOf(context uint32) (uint32, bool) {
	if dev, known, ok := b.contexts.device(context); known {
		return dev, ok
	}
	if len(b.t.Devices) == 1 {
		return b.t.Devices[0].ID, true
	}
	return 0, false
}
