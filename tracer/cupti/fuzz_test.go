package cupti_test

import (
	"encoding/binary"
	"testing"

	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/tracer"
	"github.com/flagos-ai/flagos-trace/tracer/cupti"
)

// FuzzDecode feeds arbitrary bytes as a buffer. Whatever they are, the decoder
// must not panic, must account for every byte, and must emit only what is
// plausible.
func FuzzDecode(f *testing.F) {
	for _, r := range []recording{load(f, 130001, "pairs/basic"), load(f, 26, "injected/cupti-12.8")} {
		f.Add(r.buffers[0][:min(len(r.buffers[0]), 4096)], r.api, false)
	}
	for _, flags := range []byte{1, 2, 4, 6, 8} {
		marker := make([]byte, 56)
		marker[0], marker[4], marker[8], marker[16], marker[20] = cupti.KindMarker, flags, 9, 1, 2
		f.Add(marker, uint32(130001), false)
	}
	f.Add([]byte{10, 0, 0, 0}, uint32(17), true)
	f.Add(binary.LittleEndian.AppendUint32(nil, 4000), uint32(130500), true)
	f.Fuzz(func(t *testing.T, data []byte, api uint32, offsets bool) {
		d, err := cupti.NewDecoder(tracer.Config{APIVersion: api, Strings: new(event.Strings), API: tracer.APIAll})
		if err != nil {
			return
		}
		in := tracer.Buffer{Data: data, Origin: "fuzz", Forced: offsets}
		if offsets {
			for i := 0; i+4 <= len(data) && i < 64; i += 4 {
				in.Offsets = append(in.Offsets, binary.LittleEndian.Uint32(data[i:])%uint32(len(data)+8))
			}
		}
		if len(data) >= 24 {
			d.Stride(binary.LittleEndian.Uint32(data[8:]), binary.LittleEndian.Uint32(data[16:]))
			d.Name(binary.LittleEndian.Uint64(data[:8]), "k")
			d.CallbackName(binary.LittleEndian.Uint32(data)%4, binary.LittleEndian.Uint32(data[4:]), string(data[:24]))
		}
		var emitted uint64
		err = d.Decode(in, func(e *event.Event) {
			emitted++
			if e.Kind == event.Invalid || e.Kind >= event.NumKinds {
				t.Errorf("kind %d", e.Kind)
			}
			// Of a span whose times are of two clocks the order is not known yet.
			if e.End < e.Start && !e.Incomplete && ofEpoch(e.Start) == ofEpoch(e.End) {
				t.Errorf("an event ends at %d before it starts at %d", e.End, e.Start)
			}
		})
		r := d.Report()
		var received uint64
		for _, n := range r.Received {
			received += n
		}
		if received != emitted {
			t.Errorf("%d events emitted, %d counted", emitted, received)
		}
		if err != nil && r.LostBytes == 0 && len(data) > 0 {
			if !offsets {
				t.Errorf("%v, and no byte counted as lost", err)
			}
		}
		if r.LostBytes > uint64(len(data)) {
			t.Errorf("%d of %d bytes lost", r.LostBytes, len(data))
		}
	})
}

// BenchmarkDecode decodes a recorded training run: kernels, copies, API calls
// and external ids in their natural mix.
func BenchmarkDecode(b *testing.B) {
	rec := load(b, 130001, "pairs/train")
	d, _ := newDecoder(b, 130001)
	for p, n := range rec.names {
		d.Name(p, n)
	}
	var bytes int64
	for _, buf := range rec.buffers {
		bytes += int64(len(buf))
	}
	var events int
	emit := func(*event.Event) { events++ }
	b.SetBytes(bytes)
	b.ReportAllocs()
	for b.Loop() {
		for _, buf := range rec.buffers {
			if err := d.Decode(tracer.Buffer{Data: buf, Forced: true}, emit); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "events/s")
}

// ofEpoch reports whether a time can be nanoseconds since the epoch.
func ofEpoch(t uint64) bool { return t >= 980_000_000e9 && t <= 4_100_000_000e9 }
