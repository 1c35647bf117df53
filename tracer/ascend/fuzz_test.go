package ascend_test

import (
	"encoding/binary"
	"testing"

	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/tracer"
	"github.com/flagos-ai/flagos-trace/tracer/ascend"
)

// sample is a buffer with records of every kind.
func sample() []byte {
	return concat(
		external(2, 1, 7), call(12, 10, 20, 101, 7, pRuntime), call(10, 0, 30, 101, 7, pLaunch), kernel(1000, 5000, 0, 5, 7, pAdd),
		memcpy(2, 4096, 0, 900, 0, 0xFFFFFFFF, 3, 0), memset(64, 2000, 2100, 0, 5, 9), communication(3, 524288, 0, 40000, 12),
		marker(1, 0, 1, 1, pStep, pDefault), record(64, 5, nil))
}

// FuzzDecode feeds arbitrary bytes as buffers. Whatever they are, the decoder must not
// panic, must account for every byte, and must emit only what is plausible.
func FuzzDecode(f *testing.F) {
	f.Add(sample(), false)
	f.Add(concat(kernel(1000, 5000, 0, 5, 7, pAdd), record(56, 4, nil)), true)
	f.Add([]byte{2, 0, 0, 0}, true)
	f.Fuzz(func(t *testing.T, data []byte, forced bool) {
		d := ascend.NewDecoder(tracer.Config{Strings: new(event.Strings), API: tracer.APIAll, Env: map[string]string{ascend.EnvVisible: string(data[:min(len(data), 8)])}})
		for p, n := range names {
			d.Name(p, n)
		}
		if len(data) >= 16 {
			d.Stride(binary.LittleEndian.Uint32(data[8:])%20, binary.LittleEndian.Uint32(data[12:])%100)
		}
		var emitted uint64
		emit := func(e *event.Event) {
			emitted++
			if e.Kind == event.Invalid || e.Kind >= event.NumKinds {
				t.Errorf("kind %d", e.Kind)
			}
			if e.End < e.Start && !e.Incomplete && tracer.EpochTime(e.Start) == tracer.EpochTime(e.End) {
				t.Errorf("an event ends at %d before it starts at %d", e.End, e.Start)
			}
		}
		for range 2 {
			err := d.Decode(tracer.Buffer{Data: data, Origin: "fuzz", Forced: forced}, emit)
			if err != nil && d.Report().LostBytes == 0 {
				t.Errorf("%v, and no byte counted as lost", err)
			}
		}
		r := d.Report()
		var received uint64
		for _, n := range r.Received {
			received += n
		}
		if received != emitted || r.LostBytes > 2*uint64(len(data)) {
			t.Errorf("%d events emitted, %d counted; %d of %d bytes lost", emitted, received, r.LostBytes, len(data))
		}
	})
}

// BenchmarkDecode decodes launches: an external id, two calls, a kernel.
func BenchmarkDecode(b *testing.B) {
	var data []byte
	for i := range 4000 {
		id, at := uint64(i+1), 10_000*i
		data = append(data, concat(external(2, id, id), call(12, at+10, at+20, 101, id, pRuntime), call(10, at, at+30, 101, id, pLaunch),
			kernel(at+1000, at+5000, 0, 5, id, pAdd))...)
	}
	d := decode(all)
	events := 0
	emit := func(*event.Event) { events++ }
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if err := d.Decode(tracer.Buffer{Data: data}, emit); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "events/s")
}
