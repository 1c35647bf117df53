package roctracer

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/tracer"
)

// rec builds a record: 32-bit words and 64-bit words by offset.
func rec(words map[int]uint32, longs map[int]uint64) []byte {
	b := make([]byte, recordBytes)
	for off, v := range words {
		binary.LittleEndian.PutUint32(b[off:], v)
	}
	for off, v := range longs {
		binary.LittleEndian.PutUint64(b[off:], v)
	}
	return b
}

func op(kind, op uint32, correlation, begin, end, last uint64) []byte {
	return rec(map[int]uint32{offDomain: DomainHIPOps, offKind: kind, offOp: op, offDevice: 1},
		map[int]uint64{offCorrelation: correlation, offBegin: begin, offEnd: end, offQueue: 9, offName: last})
}

func launched(shape uint32, correlation uint64, grid, block [3]uint32, shared uint32) []byte {
	return rec(map[int]uint32{offDomain: DomainLaunch, offKind: shape, offGrid: grid[0], offGrid + 4: grid[1], offGrid + 8: grid[2],
		offBlock: block[0], offBlock + 4: block[1], offBlock + 8: block[2], offShared: shared, offHasShared: 1}, map[int]uint64{offCorrelation: correlation})
}

func call(id uint32, correlation, begin, end uint64) []byte {
	return rec(map[int]uint32{offDomain: DomainHIPAPI, offOp: id, offProcess: 100, offThread: 101},
		map[int]uint64{offCorrelation: correlation, offBegin: begin, offEnd: end})
}

func decode(t testing.TB, level tracer.APILevel, bufs ...[]byte) (list []event.Event, names []string, r tracer.Report, err error) {
	t.Helper()
	strs := new(event.Strings)
	d, err := tracer.NewDecoder(Name, tracer.Config{APIVersion: 4001, Strings: strs, API: level})
	if err != nil {
		t.Fatal(err)
	}
	d.Name(0x10, "_Z4gemmv")
	d.CallbackName(DomainHIPAPI, 38, "hipLaunchKernel")
	d.CallbackName(DomainHIPAPI, 33, "hipGetDevice")
	for _, b := range bufs {
		if e := d.Decode(tracer.Buffer{Data: b, Origin: "buffer"}, func(e *event.Event) {
			list = append(list, *e)
			names = append(names, strs.At(e.Name))
		}); e != nil {
			err = errors.Join(err, e)
		}
	}
	return list, names, d.Report(), err
}

func TestDecode(t *testing.T) {
	var buf []byte
	for _, b := range [][]byte{
		launched(ShapeDims, 7, [3]uint32{4, 2, 1}, [3]uint32{64, 1, 1}, 0),
		rec(map[int]uint32{offDomain: DomainExternal, offKind: 3}, map[int]uint64{offCorrelation: 7, offExternal: 0}),
		rec(map[int]uint32{offDomain: DomainExternal, offKind: 4}, map[int]uint64{offCorrelation: 7, offExternal: 55}),
		call(38, 7, 100, 120), call(33, 8, 121, 122), call(99, 9, 123, 124),
		op(1, 0, 7, 150, 170, 0x10),            // DTK's dispatch
		op(0x11F0, 0, 11, 180, 190, 0),         // ROCm's, of a launch nobody told of, without a name
		op(0x11F4, 1, 12, 200, 210, 4096),      // a copy
		op(0x1207, 1, 13, 220, 230, 512),       // a fill
		op(1, 0x11F3, 14, 240, 250, 64),        // kind and op in each other's place
		op(5, 2, 15, 260, 270, 0),              // a barrier
		op(1, 0, 16, 0, 0, 0x10),               // without times
		rec(map[int]uint32{offDomain: 4}, nil), // a domain nobody asked for
	} {
		buf = append(buf, b...)
	}
	list, names, r, err := decode(t, tracer.APIKineto, buf)
	if err != nil || len(list) != 8 {
		t.Fatalf("%v, %d events: %+v", err, len(list), list)
	}
	k := list[3]
	if names[2] != "hipLaunchKernel" || list[2].TID != 101 || list[2].Has != event.StartsWork || list[0].External != event.ExternalOperator || list[0].ExternalID != 0 || list[1].ExternalID != 55 {
		t.Errorf("%q %+v", names, list[:3])
	}
	if k.Kind != event.Kernel || names[3] != "_Z4gemmv" || k.Launch.Grid != [3]int32{4, 2, 1} || k.Launch.Block != [3]int32{64, 1, 1} ||
		k.Launch.Has != event.NoRegisters|event.NoShared || k.Has != event.HasDevice|event.HasStream|event.NoContext || k.Stream != 9 || k.Device != 1 {
		t.Errorf("%+v", k)
	}
	if u := list[4]; u.Launch.Has != event.NoLaunch || names[4] != noName || u.Launch.Grid != [3]int32{} {
		t.Errorf("%+v %q", u, names[4])
	}
	for i, want := range []struct {
		kind  event.Kind
		copy  event.CopyKind
		bytes uint64
	}{{event.Memcpy, 1, 4096}, {event.Memset, 0, 512}, {event.Memcpy, 2, 64}} {
		if e := list[5+i]; e.Kind != want.kind || e.Copy != want.copy || e.Bytes != want.bytes {
			t.Errorf("%d: %+v", i, e)
		}
	}
	if r.Dropped[tracer.DropUntimed] != 1 || r.Dropped[tracer.DropFiltered] != 1 || r.Dropped[tracer.DropNoCallbackName] != 1 || r.Repaired[tracer.RepairUnnamed] != 1 || r.Skipped[4] != 1 || r.Skipped[DomainHIPOps] != 1 {
		t.Errorf("%+v", r)
	}
}

// The grid of hipExtModuleLaunchKernel is in work items; where it is no whole number of
// blocks, nothing is said.
func TestGlobalGrid(t *testing.T) {
	list, _, _, err := decode(t, tracer.APIAll, append(launched(ShapeGlobal, 3, [3]uint32{256, 4, 1}, [3]uint32{64, 2, 1}, 1024), op(1, 0, 3, 5, 6, 0x10)...),
		append(launched(ShapeGlobal, 4, [3]uint32{255, 4, 1}, [3]uint32{64, 2, 1}, 0), op(1, 0, 4, 7, 8, 0x10)...))
	if err != nil || len(list) != 2 || list[0].Launch.Grid != [3]int32{4, 2, 1} || list[0].Launch.Dynamic != 1024 || list[1].Launch.Has != event.NoLaunch {
		t.Errorf("%v %+v", err, list)
	}
}

// Fields that have moved by a word are noticed, and nothing is made of them.
func TestShifted(t *testing.T) {
	var buf []byte
	for i := range uint64(20) {
		b := op(0x11F4, 1, i, 1e15+i*100, 1e15+i*100+50, 4096)
		copy(b[32:], append([]byte{}, b[24:56]...))
		buf = append(buf, b...)
	}
	list, _, r, err := decode(t, tracer.APIAll, buf)
	if err != nil || len(list) != 0 || r.Layout != "mismatch" || len(r.Diagnoses) != 1 || !strings.Contains(r.Diagnoses[0], "no work of the device") {
		t.Errorf("%v, %d events, %q %q", err, len(list), r.Layout, r.Diagnoses)
	}
}

func TestTruncated(t *testing.T) {
	_, _, r, err := decode(t, tracer.APIAll, append(op(1, 0, 1, 5, 6, 0x10), 1, 2, 3))
	if !errors.Is(err, ErrTruncated) || r.LostBytes != 3 || r.Received[event.Kernel] != 1 {
		t.Errorf("%v %+v", err, r)
	}
}

// FuzzDecode feeds arbitrary bytes as a buffer.
func FuzzDecode(f *testing.F) {
	f.Add(append(launched(ShapeModule, 3, [3]uint32{1, 1, 1}, [3]uint32{1, 1, 1}, 8), op(1, 0, 3, 5, 6, 0x10)...))
	f.Add(append(call(38, 1, 2, 3), op(0x1207, 1, 1, 4, 5, 6)...))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, _, r, err := decode(t, tracer.APIAll, data, data)
		var received uint64
		for _, n := range r.Received {
			received += n
		}
		if received != uint64(len(list)) || (err != nil) != (len(data)%recordBytes != 0) || r.LostBytes != 2*uint64(len(data)%recordBytes) {
			t.Errorf("%d events, %d counted, %v, %d bytes lost of %d", len(list), received, err, r.LostBytes, len(data))
		}
		for _, e := range list {
			if e.Kind == event.Invalid || e.Kind >= event.NumKinds {
				t.Errorf("%+v", e)
			}
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	var buf []byte
	for i := range uint64(1000) {
		buf = append(buf, launched(ShapeDims, i, [3]uint32{4, 2, 1}, [3]uint32{64, 1, 1}, 0)...)
		buf = append(buf, call(38, i, 100*i+1, 100*i+20)...)
		buf = append(buf, op(1, 0, i, 100*i+30, 100*i+40, 0x10)...)
	}
	strs := new(event.Strings)
	d := newDecoder(tracer.Config{Strings: strs, API: tracer.APIKineto})
	d.Name(0x10, "k")
	d.CallbackName(DomainHIPAPI, 38, "hipLaunchKernel")
	events := 0
	emit := func(*event.Event) { events++ }
	b.SetBytes(int64(len(buf)))
	b.ReportAllocs()
	for b.Loop() {
		if err := d.Decode(tracer.Buffer{Data: buf}, emit); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "events/s")
}
