package cupti

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/tracer"
)

const testAPI = 130001

// record builds one activity record by field names, as the layout table has them.
func makeRecord(t testing.TB, api, kind uint32, fields map[string]uint64) []byte {
	t.Helper()
	r, ok := revisionFor(api, kind)
	if !ok {
		t.Fatalf("no layout of kind %d in API %d", kind, api)
	}
	b := make([]byte, r.bytes)
	binary.LittleEndian.PutUint32(b, kind)
	for name, v := range fields {
		s, ok := r.fields()[name]
		if !ok {
			t.Fatalf("kind %d has no field %s", kind, name)
		}
		var full [8]byte
		binary.LittleEndian.PutUint64(full[:], v)
		copy(b[s.offset:s.offset+s.size], full[:])
	}
	return b
}

func kernelRecord(t testing.TB, api uint32, start, end, name uint64, correlation uint32) []byte {
	return makeRecord(t, api, KindConcurrentKernel, map[string]uint64{
		"start": start, "end": end, "name": name, "correlationId": uint64(correlation), "streamId": 7, "contextId": 1,
		"gridX": 2, "gridY": 3, "gridZ": 4, "blockX": 5, "blockY": 6, "blockZ": 1, "registersPerThread": 32,
	})
}

// decode runs buffers through a fresh decoder that knows one kernel name at 0x10.
func decode(t testing.TB, api uint32, level tracer.APILevel, forced bool, buffers ...[]byte) ([]event.Event, tracer.Report, error) {
	t.Helper()
	d, err := NewDecoder(tracer.Config{APIVersion: api, Strings: new(event.Strings), API: level})
	if err != nil {
		t.Fatal(err)
	}
	d.Name(0x10, "kernel_a")
	var events []event.Event
	var errs []error
	for i, b := range buffers {
		in := tracer.Buffer{Data: b, Origin: fmt.Sprint("buffer ", i), Forced: forced}
		errs = append(errs, d.Decode(in, func(e *event.Event) { events = append(events, *e) }))
	}
	return events, d.Report(), errors.Join(errs...)
}

func TestPlausibility(t *testing.T) {
	const ms, hour = 1_000_000, 3_600_000_000_000
	for _, c := range []struct {
		name                string
		start, end, ptr     uint64
		forced              bool
		dropped, repaired   string
		duration            uint64
		emitted, unfinished bool
	}{
		{name: "plain", start: 5, end: 25, ptr: 0x10, emitted: true, duration: 20},
		{name: "no length", start: 5, end: 5, ptr: 0x10, emitted: true},
		{name: "no times", ptr: 0x10, dropped: tracer.DropUntimed},
		{name: "no times, forced", ptr: 0x10, forced: true, dropped: tracer.DropUntimed},
		{name: "no start", end: 7, ptr: 0x10, dropped: tracer.DropUntimed},
		{name: "no end", start: 5, ptr: 0x10, dropped: tracer.DropUntimed},
		{name: "still running", start: 5, ptr: 0x10, forced: true, emitted: true, unfinished: true, repaired: tracer.RepairIncomplete},
		{name: "a little negative", start: ms + 5, end: 5, ptr: 0x10, emitted: true, repaired: tracer.RepairClamped},
		{name: "too negative", start: ms + 6, end: 5, ptr: 0x10, dropped: tracer.DropNegative},
		{name: "an hour", start: 5, end: hour + 5, ptr: 0x10, emitted: true, duration: hour},
		{name: "over an hour", start: 5, end: hour + 6, ptr: 0x10, dropped: tracer.DropTooLong},
		{name: "unknown name", start: 5, end: 9, ptr: 0x20, dropped: tracer.DropNoName},
		{name: "null name", start: 5, end: 9, dropped: tracer.DropNoName},
		{name: "wild times", start: math.MaxUint64, end: 3, ptr: 0x10, dropped: tracer.DropNegative},
	} {
		t.Run(c.name, func(t *testing.T) {
			ev, r, err := decode(t, testAPI, tracer.APIKineto, c.forced, kernelRecord(t, testAPI, c.start, c.end, c.ptr, 1))
			if err != nil {
				t.Fatal(err)
			}
			if (len(ev) == 1) != c.emitted {
				t.Fatalf("%d events", len(ev))
			}
			if c.emitted && (ev[0].Incomplete != c.unfinished || !c.unfinished && ev[0].End-ev[0].Start != c.duration) {
				t.Errorf("event %+v", ev[0])
			}
			if c.dropped != "" && r.Dropped[c.dropped] != 1 || c.dropped == "" && len(r.Dropped) != 0 {
				t.Errorf("dropped %v, want %q", r.Dropped, c.dropped)
			}
			if c.repaired != "" && r.Repaired[c.repaired] != 1 || c.repaired == "" && len(r.Repaired) != 0 {
				t.Errorf("repaired %v, want %q", r.Repaired, c.repaired)
			}
		})
	}
}

func TestOptionalFieldsAreAbsentInOldVersions(t *testing.T) {
	for _, c := range []struct {
		api     uint32
		has     event.Fields
		cluster bool
	}{
		{17, event.HasGraph | event.HasChannel, false},
		{19, event.HasGraph | event.HasChannel, true},
		{130001, event.HasGraph | event.HasChannel, true},
	} {
		ev, _, err := decode(t, c.api, tracer.APIKineto, false, kernelRecord(t, c.api, 5, 9, 0x10, 1))
		if err != nil || len(ev) != 1 {
			t.Fatalf("API %d: %d events, %v", c.api, len(ev), err)
		}
		if ev[0].Has&(event.HasGraph|event.HasChannel) != c.has || (ev[0].Launch.Has&event.HasCluster != 0) != c.cluster {
			t.Errorf("API %d: has %b, launch has %b", c.api, ev[0].Has, ev[0].Launch.Has)
		}
		if ev[0].Launch.Grid != [3]int32{2, 3, 4} || ev[0].Launch.Block != [3]int32{5, 6, 1} || ev[0].Launch.Registers != 32 {
			t.Errorf("API %d: launch %+v", c.api, ev[0].Launch)
		}
	}
}

func TestStrides(t *testing.T) {
	good := kernelRecord(t, testAPI, 5, 9, 0x10, 1)
	wide := append(slices.Clone(good), make([]byte, 24)...) // as a later version might write
	for _, c := range []struct {
		name    string
		api     uint32
		strides map[uint32]uint32
		buffer  []byte
		events  int
		dropped uint64
		layout  string
		err     error
	}{
		{"table", testAPI, nil, slices.Concat(good, good), 2, 0, "table", nil},
		{"verified", testAPI, map[uint32]uint32{10: 216}, good, 1, 0, "verified", nil},
		{"mismatch", testAPI, map[uint32]uint32{10: 240}, slices.Concat(wide, wide), 0, 2, "mismatch", nil},
		{"newer, told", 130400, map[uint32]uint32{10: 240}, slices.Concat(wide, wide), 2, 0, "learned", nil},
		{"newer, not told", 130400, nil, slices.Concat(good, good), 2, 0, "assumed", nil},
		{"newer, shorter than any", 130400, map[uint32]uint32{10: 160}, good[:160], 0, 1, "learned", nil},
		{"unknown kind, told", testAPI, map[uint32]uint32{57: 48}, slices.Concat(unknownRecord(57, 48), good), 1, 0, "table", nil},
		{"unknown far kind, told", testAPI, map[uint32]uint32{5000: 16}, slices.Concat(unknownRecord(5000, 16), good), 1, 0, "table", nil},
		{"unknown kind", testAPI, nil, slices.Concat(good, unknownRecord(57, 48)), 1, 0, "table", ErrUnknownKind},
		{"truncated", testAPI, nil, slices.Concat(good, good[:100]), 1, 0, "table", ErrTruncated},
		{"two bytes left", testAPI, nil, slices.Concat(good, good[:2]), 1, 0, "table", ErrTruncated},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, err := NewDecoder(tracer.Config{APIVersion: c.api, Strings: new(event.Strings)})
			if err != nil {
				t.Fatal(err)
			}
			d.Name(0x10, "k")
			for k, n := range c.strides {
				d.Stride(k, n)
			}
			n := 0
			err = d.Decode(tracer.Buffer{Data: c.buffer, Origin: "b"}, func(*event.Event) { n++ })
			r := d.Report()
			if !errors.Is(err, c.err) || c.err == nil && err != nil {
				t.Errorf("error %v, want %v", err, c.err)
			}
			if n != c.events || r.Dropped[tracer.DropLayout] != c.dropped || r.Layout != c.layout {
				t.Errorf("%d events, dropped %v, layout %q", n, r.Dropped, r.Layout)
			}
			if c.err != nil && r.LostBytes == 0 {
				t.Error("bytes were lost and not counted")
			}
		})
	}
}

// Garbage must not move the epoch in which the ids of good records are read.
func TestGarbageDoesNotMoveTheEpoch(t *testing.T) {
	good := func(id uint32) []byte { return kernelRecord(t, testAPI, 5, 9, 0x10, id) }
	bad := func(id uint32) []byte { return kernelRecord(t, testAPI, 0, 9, 0x10, id) }
	ev, _, err := decode(t, testAPI, tracer.APIKineto, false, slices.Concat(good(90), bad(0x7fffffff), bad(0xfffffff0), good(100)))
	if err != nil || len(ev) != 2 || ev[1].Correlation != 100 {
		t.Errorf("%+v, %v", ev, err)
	}
}

// A decoder that cannot be made is no decoder, also behind the interface.
func TestNoDecoderIsNil(t *testing.T) {
	d, err := tracer.NewDecoder(Name, tracer.Config{APIVersion: 16, Strings: new(event.Strings)})
	if err == nil || d != nil {
		t.Errorf("decoder %v, error %v", d, err)
	}
}

func unknownRecord(kind uint32, n int) []byte {
	b := make([]byte, n)
	binary.LittleEndian.PutUint32(b, kind)
	return b
}

func TestOffsets(t *testing.T) {
	k := kernelRecord(t, testAPI, 5, 9, 0x10, 1)
	// A variable-length record of an unknown kind stands between two kernels.
	data := slices.Concat(k, unknownRecord(58, 72), k)
	for _, c := range []struct {
		name    string
		offsets []uint32
		events  int
		err     error
	}{
		{"good", []uint32{0, 216, 288}, 2, nil},
		{"none", []uint32{}, 0, ErrTruncated},
		{"not from the start", []uint32{216}, 0, ErrTruncated},
		{"stopped early", []uint32{0}, 1, nil},
		{"out of range", []uint32{0, 216, 9999}, 1, ErrTruncated},
		{"backwards", []uint32{288, 0}, 0, ErrTruncated},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, _ := NewDecoder(tracer.Config{APIVersion: testAPI, Strings: new(event.Strings)})
			d.Name(0x10, "k")
			n := 0
			err := d.Decode(tracer.Buffer{Data: data, Offsets: c.offsets, Origin: "b"}, func(*event.Event) { n++ })
			if n != c.events || !errors.Is(err, c.err) || c.err == nil && err != nil {
				t.Errorf("%d events, %v", n, err)
			}
			if lost := d.Report().LostBytes; (lost == 0) != (c.name == "good") {
				t.Errorf("%d bytes lost", lost)
			}
		})
	}
}

// Two kinds share a layout's name, and a library may give each another size.
func TestStridesOfOneKindDoNotTouchAnother(t *testing.T) {
	d, _ := NewDecoder(tracer.Config{APIVersion: 130500, Strings: new(event.Strings)})
	d.Name(0x10, "k")
	d.Stride(KindConcurrentKernel, 176)
	d.Stride(KindKernel, 304)
	n := 0
	if err := d.Decode(tracer.Buffer{Data: kernelRecord(t, 17, 5, 9, 0x10, 1), Origin: "b"}, func(*event.Event) { n++ }); err != nil || n != 1 {
		t.Errorf("%d events, %v", n, err)
	}
}

func TestCorrelationIDsWrap(t *testing.T) {
	var buf []byte
	for _, id := range []uint32{0xFFFFFFFE, 0xFFFFFFFF, 1, 0xFFFFFFFD, 2, 0} {
		buf = append(buf, kernelRecord(t, testAPI, 5, 9, 0x10, id)...)
	}
	ev, _, err := decode(t, testAPI, tracer.APIKineto, false, buf)
	if err != nil {
		t.Fatal(err)
	}
	want := []uint64{0xFFFFFFFE, 0xFFFFFFFF, 1<<32 | 1, 0xFFFFFFFD, 1<<32 | 2, 0}
	for i, e := range ev {
		if e.Correlation != want[i] {
			t.Errorf("record %d: %#x, want %#x", i, e.Correlation, want[i])
		}
	}
}

func TestExternalIDs(t *testing.T) {
	var buf []byte
	for kind := range uint64(7) {
		buf = append(buf, makeRecord(t, testAPI, KindExternalCorrelation, map[string]uint64{
			"externalKind": kind, "externalId": 40 + kind, "correlationId": 9,
		})...)
	}
	ev, r, err := decode(t, testAPI, tracer.APIKineto, false, buf)
	if err != nil || len(ev) != 2 || r.Dropped[tracer.DropForeignExternal] != 5 {
		t.Fatalf("%d events, dropped %v, %v", len(ev), r.Dropped, err)
	}
	if ev[0].External != event.ExternalOperator || ev[0].ExternalID != 43 || ev[1].External != event.ExternalAnnotation || ev[1].ExternalID != 44 {
		t.Errorf("events %+v", ev)
	}
}

func TestAPINames(t *testing.T) {
	call := func(kind, cbid uint32) []byte {
		return makeRecord(t, testAPI, kind, map[string]uint64{
			"cbid": uint64(cbid), "start": 5, "end": 9, "correlationId": 1, "processId": 3, "threadId": 4, "returnValue": 2})
	}
	d, _ := NewDecoder(tracer.Config{APIVersion: testAPI, Strings: new(event.Strings), API: tracer.APIKineto})
	d.CallbackName(DomainRuntime, 9000, "cudaFutureThing_v14000")
	var names []string
	buf := slices.Concat(call(KindRuntime, 211), call(KindDriver, 652), call(KindRuntime, 9000), call(KindRuntime, 9001),
		call(KindRuntime, 17), call(KindRuntime, math.MaxUint32), call(KindDriver, 677))
	err := d.Decode(tracer.Buffer{Data: buf, Origin: "b"}, func(e *event.Event) {
		names = append(names, d.cfg.Strings.At(e.Name))
		if e.PID != 3 || e.TID != 4 || e.ReturnValue != 2 {
			t.Errorf("event %+v", *e)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"cudaLaunchKernel", "cuLaunchKernelEx", "cudaFutureThing"}; !slices.Equal(names, want) {
		t.Errorf("names %q, want %q", names, want)
	}
	if r := d.Report(); r.Dropped[tracer.DropNoCallbackName] != 2 || r.Dropped[tracer.DropFiltered] != 2 {
		t.Errorf("dropped %v", r.Dropped)
	}
}

func TestSyncsAndOverheads(t *testing.T) {
	wait := makeRecord(t, testAPI, KindSynchronization, map[string]uint64{
		"type": 2, "start": 5, "end": 6, "correlationId": 8, "contextId": 1, "streamId": 7, "cudaEventId": 3, "cudaEventSyncId": 11})
	context := makeRecord(t, testAPI, KindSynchronization, map[string]uint64{
		"type": 4, "start": 5, "end": 6, "correlationId": 9, "contextId": 1, "streamId": none, "cudaEventId": none})
	odd := makeRecord(t, testAPI, KindOverhead, map[string]uint64{"overheadKind": 99 << 16, "start": 5, "end": 6})
	known := makeRecord(t, testAPI, KindOverhead, map[string]uint64{"overheadKind": 7 << 16, "start": 5, "end": 6})
	ev, _, err := decode(t, testAPI, tracer.APIKineto, false, slices.Concat(wait, context, odd, known))
	if err != nil || len(ev) != 4 {
		t.Fatalf("%d events, %v", len(ev), err)
	}
	if e := ev[0]; e.SyncKind != event.StreamWaitEvent || e.Has != event.HasStream|event.HasEventID|event.HasSyncID || e.EventID != 3 || e.SyncID != 11 {
		t.Errorf("wait %+v", e)
	}
	if e := ev[1]; e.SyncKind != event.ContextSync || e.Has != 0 {
		t.Errorf("context wait %+v", e)
	}
	if ev[2].Name == ev[3].Name {
		t.Error("an unknown overhead has the name of a known one")
	}
}

func TestDecodeAllocatesNothing(t *testing.T) {
	var buf []byte
	for i := range uint32(200) {
		buf = append(buf, kernelRecord(t, testAPI, 5, 9, 0x10, i+1)...)
		buf = append(buf, makeRecord(t, testAPI, KindRuntime, map[string]uint64{"cbid": 211, "start": 5, "end": 9, "correlationId": uint64(i + 1)})...)
	}
	d, _ := NewDecoder(tracer.Config{APIVersion: testAPI, Strings: new(event.Strings)})
	d.Name(0x10, "k")
	emit := func(*event.Event) {}
	in := tracer.Buffer{Data: buf, Origin: "b"}
	if n := testing.AllocsPerRun(10, func() { _ = d.Decode(in, emit) }); n != 0 {
		t.Errorf("%v allocations a buffer of 400 records", n)
	}
}
