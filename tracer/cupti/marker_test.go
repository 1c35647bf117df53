package cupti

import (
	"slices"
	"testing"

	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/tracer"
)

// markerRecord builds a marker of thread 7 in process 6.
func markerRecord(t testing.TB, api, flags, id uint32, at, name, domain uint64, object uint32) []byte {
	return makeRecord(t, api, KindMarker, map[string]uint64{
		"flags": uint64(flags), "id": uint64(id), "timestamp": at, "name": name, "domain": domain,
		"objectKind": uint64(object), "objectId": 6 | 7<<32,
	})
}

func TestMarkers(t *testing.T) {
	type fields struct {
		phase        event.MarkerPhase
		id           uint32
		at           uint64
		name, domain string
		pid, tid     uint32
		has          event.Fields
	}
	for _, c := range []struct {
		name        string
		flags, id   uint32
		at          uint64
		ptr, domain uint64
		object      uint32
		want        *fields
		dropped     string
		skipped     bool
	}{
		{name: "instant", flags: 1, id: 3, at: 50, ptr: 0x10, object: 2, want: &fields{event.MarkerInstant, 3, 50, "kernel_a", "", 6, 7, event.HasThread}},
		{name: "begin", flags: 2, id: 4, at: 51, ptr: 0x10, domain: 0x20, object: 2, want: &fields{event.MarkerBegin, 4, 51, "kernel_a", "domain_b", 6, 7, event.HasThread}},
		{name: "end", flags: 4, id: 4, at: 52, object: 2, want: &fields{event.MarkerEnd, 4, 52, "", "", 6, 7, event.HasThread}},
		{name: "end of nothing", flags: 4, at: 52, object: 2, want: &fields{event.MarkerEnd, 0, 52, "", "", 6, 7, event.HasThread}},
		{name: "a name nobody told", flags: 2, id: 5, at: 53, ptr: 0xdead, domain: 0xbeef, object: 2, want: &fields{event.MarkerBegin, 5, 53, "", "", 6, 7, event.HasThread}},
		{name: "no name", flags: 2, id: 5, at: 53, object: 2, want: &fields{event.MarkerBegin, 5, 53, "", "", 6, 7, event.HasThread}},
		{name: "of a process", flags: 1, id: 5, at: 53, ptr: 0x10, object: 1, want: &fields{event.MarkerInstant, 5, 53, "kernel_a", "", 0, 0, 0}},
		{name: "no time", flags: 1, id: 5, ptr: 0x10, object: 2, dropped: tracer.DropUntimed},
		{name: "synchronisation", flags: 8, id: 5, at: 60, object: 2, skipped: true},
		{name: "no flags", id: 5, at: 60, object: 2, skipped: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, api := range []uint32{17, 26, 130001} {
				rec := markerRecord(t, api, c.flags, c.id, c.at, c.ptr, c.domain, c.object)
				if len(rec) != 56 {
					t.Fatalf("API %d: %d bytes", api, len(rec))
				}
				s := new(event.Strings)
				d, err := NewDecoder(tracer.Config{APIVersion: api, Strings: s, API: tracer.APIKineto})
				if err != nil {
					t.Fatal(err)
				}
				d.Name(0x10, "kernel_a")
				d.Name(0x20, "domain_b")
				var got []fields
				err = d.Decode(tracer.Buffer{Data: slices.Concat(rec, kernelRecord(t, api, 5, 9, 0x10, 1))}, func(e *event.Event) {
					if e.Kind == event.Marker {
						got = append(got, fields{e.Phase, e.MarkerID, e.Start, s.At(e.Name), s.At(e.Domain), e.PID, e.TID, e.Has})
						if e.End != e.Start || e.Correlation != 0 {
							t.Errorf("event %+v", e)
						}
					}
				})
				if err != nil {
					t.Fatal(err)
				}
				r := d.Report()
				if r.Received[event.Kernel] != 1 {
					t.Error("the record behind it was not found")
				}
				switch {
				case c.want == nil && len(got) != 0, c.want != nil && (len(got) != 1 || got[0] != *c.want):
					t.Errorf("API %d: %+v, want %+v", api, got, c.want)
				case r.Received[event.Marker] != uint64(len(got)):
					t.Errorf("received %d", r.Received[event.Marker])
				case c.dropped != "" && r.Dropped[c.dropped] != 1, c.dropped == "" && len(r.Dropped) != 0:
					t.Errorf("dropped %v", r.Dropped)
				case (r.Skipped[KindMarker] == 1) != c.skipped:
					t.Errorf("skipped %v", r.Skipped)
				}
			}
		})
	}
}

func TestMarkerNameOffsets(t *testing.T) {
	for _, api := range []uint32{17, 26, 130001, 130400} {
		if name, domain, ok := MarkerNameOffsets(api); name != 40 || domain != 48 || !ok {
			t.Errorf("API %d: %d, %d, %v", api, name, domain, ok)
		}
	}
	if _, _, ok := MarkerNameOffsets(13); ok {
		t.Error("a version older than the table has offsets")
	}
}
