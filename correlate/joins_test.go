package correlate

import (
	"testing"

	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// Two calls that do not nest and share an id (two processes, or a library that
// counts anew): the arrow leaves the one that can have started the work.
func TestSeveralCallsOfOneID(t *testing.T) {
	for _, c := range []struct {
		name  string
		calls [][2]uint64
		work  uint64
		want  uint64 // start of the call the arrow leaves
	}{
		{"later one after the work", [][2]uint64{{100, 110}, {900, 910}}, 150, 100},
		{"latest before the work", [][2]uint64{{100, 110}, {120, 130}, {900, 910}}, 150, 120},
		{"all after the work", [][2]uint64{{300, 310}, {200, 210}}, 150, 200},
		{"nested", [][2]uint64{{105, 108}, {100, 110}}, 150, 100},
	} {
		w := newWorld(nil)
		for _, s := range c.calls {
			w.call(event.Runtime, "call", 5, 1, s[0], s[1])
		}
		w.kernel("k", 7, 1, c.work, c.work+10)
		out := 0
		for _, e := range w.finish(t, Options{ThreadIDs: true}) {
			if e.Flags&timeline.FlowOut != 0 {
				out++
				if e.Start != int64(c.want) {
					t.Errorf("%s: the arrow leaves the call at %d, want %d", c.name, e.Start, c.want)
				}
			}
		}
		if out != 1 {
			t.Errorf("%s: %d arrows leave", c.name, out)
		}
	}
}

func (w *world) wait(name string, context uint32, sync uint64) {
	w.b.Add(&event.Event{Kind: event.Sync, Name: w.t.Strings.ID(name), SyncKind: event.StreamWaitEvent, Correlation: 50, Context: context,
		Stream: 8, EventID: 1, SyncID: sync, Has: event.HasStream | event.HasEventID | event.HasSyncID, Start: 200, End: 300})
}

func TestDeviceOfAContext(t *testing.T) {
	onDevice := func(w *world, device, context uint32) {
		w.b.Add(&event.Event{Kind: event.Kernel, Name: w.t.Strings.ID("k"), Device: device, Context: context, Stream: 7, Start: 1, End: 2, Has: event.HasDevice | event.HasStream})
	}
	for _, c := range []struct {
		name  string
		setup func(*world)
		pid   int64
		kind  timeline.RowKind
	}{
		{"from its work", func(w *world) { onDevice(w, 3, 1) }, 3, timeline.RowSync},
		{"from its creation", func(w *world) {
			w.b.Add(&event.Event{Kind: event.Context, Context: 1, Device: 4, Has: event.HasDevice})
		}, 4, timeline.RowSync},
		{"from an event", func(w *world) {
			w.b.Add(&event.Event{Kind: event.DeviceEvent, Context: 1, Device: 5, Stream: 7, EventID: 1, Has: event.HasDevice | event.HasStream | event.HasEventID})
		}, 5, timeline.RowSync},
		{"the only device", func(w *world) { w.t.Devices = []timeline.Device{{ID: 2}} }, 2, timeline.RowSync},
		{"not known", func(w *world) {}, 77, timeline.RowOther},
		{"of two devices", func(w *world) { onDevice(w, 0, 1); onDevice(w, 1, 1) }, 77, timeline.RowOther},
	} {
		w := newWorld(nil)
		w.t.Process.PID = 77
		c.setup(w)
		w.wait("wait", 1, 0)
		w.finish(t, Options{ThreadIDs: true})
		if r := w.t.Rows[w.find(t, "wait").Row]; r.PID != c.pid || r.Kind != c.kind {
			t.Errorf("%s: the wait is on row %+v", c.name, r)
		}
	}
}

// The library may name the recording a wait waited for, also across contexts.
func TestSyncIDsJoinAcrossContexts(t *testing.T) {
	w := newWorld(nil)
	w.b.Add(&event.Event{Kind: event.DeviceEvent, Correlation: 10, Context: 1, Stream: 13, EventID: 1, SyncID: 9, Has: event.HasStream | event.HasEventID | event.HasSyncID})
	w.b.Add(&event.Event{Kind: event.DeviceEvent, Correlation: 11, Context: 2, Stream: 14, EventID: 1, SyncID: 8, Has: event.HasStream | event.HasEventID | event.HasSyncID})
	w.wait("wait", 2, 9)
	w.finish(t, Options{ThreadIDs: true})
	if d := w.t.Syncs.At(w.find(t, "wait").Detail); !d.HasSource || d.SourceStream != 13 || d.SourceCorrelation != 10 {
		t.Errorf("source %+v", d)
	}
}

// In a container a process may have the number of a device, and a thread that of
// a stream: they must not share a row.
func TestRowsOfProcessAndDeviceDoNotMeet(t *testing.T) {
	w := newWorld(nil)
	w.b.Add(&event.Event{Kind: event.Runtime, Name: w.t.Strings.ID("call"), PID: 7, TID: 7, Start: 1, End: 2})
	w.b.Add(&event.Event{Kind: event.Kernel, Name: w.t.Strings.ID("k"), Device: 7, Context: 1, Stream: 7, Start: 1, End: 2, Has: event.HasDevice | event.HasStream})
	w.finish(t, Options{ThreadIDs: true})
	call, kernel := w.find(t, "call").Row, w.find(t, "k").Row
	if call == kernel || w.t.Rows[kernel].Kind != timeline.RowStream {
		t.Errorf("the call is on row %+v, the kernel on %+v", w.t.Rows[call], w.t.Rows[kernel])
	}
}

// Annotations that follow each other without a gap stay on one row with their
// work.
func TestAdjacentAnnotations(t *testing.T) {
	for _, gap := range []uint64{0, 1, 2, 3} {
		w := newWorld(func(w *world) {
			w.host("user_annotation", "a", 5, 0, 400, 1)
			w.host("user_annotation", "b", 5, 500, 900, 2)
		})
		for i := range uint64(2) {
			w.external(event.ExternalAnnotation, i+1, i+1)
			w.kernel("k", 7, i+1, 100+i*(100+gap), 200+i*(100+gap))
		}
		for _, e := range w.finish(t, Options{ThreadIDs: true}) {
			if r := w.t.Rows[e.Row]; e.Kind != timeline.Host && r.TID != 7 {
				t.Errorf("gap %d: %s is on tid %d", gap, w.t.Strings.At(e.Name), r.TID)
			}
		}
		checkRows(t, w.t)
	}
}
