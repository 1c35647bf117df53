package cupti_test

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/tracer"
	"github.com/flagos-ai/flagos-trace/tracer/cupti"
	"github.com/flagos-ai/flagos-trace/tracer/metax"
	"github.com/flagos-ai/flagos-trace/tracer/musa"
	"github.com/flagos-ai/flagos-trace/tracer/ppu"
)

var dialects = []*cupti.Dialect{&musa.Dialect, &metax.Dialect, &ppu.Dialect}

// FuzzDialect feeds arbitrary bytes as a buffer of a vendor's. The decoder must not
// panic, must emit only what is plausible, and must lose no more bytes than there are.
func FuzzDialect(f *testing.F) {
	kernel := make([]byte, 200)
	for off, v := range map[int]uint32{0: 10, 16: 1000, 24: 2000, 52: 1, 56: 1, 60: 1, 64: 32, 68: 1, 72: 1, 92: 7, 104: 0x10} {
		binary.LittleEndian.PutUint32(kernel[off:], v)
	}
	call := make([]byte, 40)
	for off, v := range map[int]uint32{0: 5, 4: 56, 8: 900, 16: 1100, 28: 1, 32: 7} {
		binary.LittleEndian.PutUint32(call[off:], v)
	}
	rubbish := []byte{9, 9, 9, 9, 9, 9, 9, 9}
	for which := range dialects {
		f.Add(append(append([]byte{}, kernel...), call...), byte(which), uint32(200), false)
		f.Add(append(append(append([]byte{}, call...), rubbish...), kernel...), byte(which), uint32(200), true)
	}
	f.Fuzz(func(t *testing.T, data []byte, which byte, stride uint32, offsets bool) {
		dl := dialects[int(which)%len(dialects)]
		d, err := cupti.NewDialectDecoder(tracer.Config{APIVersion: 3, Strings: new(event.Strings), API: tracer.APIAll}, dl)
		if err != nil {
			t.Fatal(err)
		}
		d.Name(0x10, "k")
		d.Stride(10, stride)
		d.Stride(5, 40)
		in := tracer.Buffer{Data: data, Origin: "fuzz"}
		if offsets {
			for i := 0; i+4 <= len(data) && i < 64; i += 4 {
				in.Offsets = append(in.Offsets, binary.LittleEndian.Uint32(data[i:])%uint32(len(data)+8))
			}
		}
		for range 2 {
			_ = d.Decode(in, func(e *event.Event) {
				if e.Kind == event.Invalid || e.Kind >= event.NumKinds || e.End < e.Start && !e.Incomplete && ofEpoch(e.Start) == ofEpoch(e.End) {
					t.Errorf("%+v", e)
				}
			})
		}
		if r := d.Report(); r.LostBytes > 2*uint64(len(data)) || len(r.Diagnoses) > 4 {
			t.Errorf("%d of %d bytes lost, %q", r.LostBytes, len(data), r.Diagnoses)
		}
		if w, err := dl.NewWalker(); err == nil && dl.Sizes != nil {
			for off := 0; ; {
				from, to, ok := w.Next(data, off)
				if !ok {
					break
				}
				if from < off || to <= from || to > len(data) {
					t.Fatalf("record %d to %d behind %d of %d", from, to, off, len(data))
				}
				off = to
			}
		}
	})
}

// Copies of kinds that nobody knows are given up, and kernels that were right all along are
// not; before they were, all work of the device is.
func TestOneKindGivenUp(t *testing.T) {
	record := func(bytes int, words map[int]uint32) []byte {
		b := make([]byte, bytes)
		for off, v := range words {
			binary.LittleEndian.PutUint32(b[off:], v)
		}
		return b
	}
	var kernels, copies []byte
	for i := range uint32(70) {
		kernels = append(kernels, record(168, map[int]uint32{0: 10, 16: 1000 * (i + 1), 24: 1000*(i+1) + 500, 52: 1, 56: 1, 60: 1, 64: 32, 68: 1, 72: 1, 92: i + 1, 104: 0x10})...)
	}
	for i := range uint32(5) {
		copies = append(copies, record(80, map[int]uint32{0: 1, 4: 11, 8: 64, 16: 90000 + i, 24: 90100 + i, 44: 100 + i})...)
	}
	for _, c := range []struct {
		buffers [][]byte
		kernels uint64
		says    string
	}{
		{[][]byte{kernels, copies, kernels}, 140, "a copy is of kind 11; they are left out"},
		{[][]byte{copies, kernels}, 0, "a copy is of kind 11; no work of the device is taken"},
	} {
		d, err := cupti.NewDialectDecoder(tracer.Config{Strings: new(event.Strings)}, &musa.Dialect)
		if err != nil {
			t.Fatal(err)
		}
		d.Name(0x10, "k")
		d.Stride(10, 168)
		d.Stride(1, 80)
		for _, b := range c.buffers {
			if err := d.Decode(tracer.Buffer{Data: b}, func(*event.Event) {}); err != nil {
				t.Fatal(err)
			}
		}
		r := d.Report()
		if r.Received[event.Kernel] != c.kernels || r.Received[event.Memcpy] != 0 || len(r.Diagnoses) != 1 || !strings.Contains(r.Diagnoses[0], c.says) {
			t.Errorf("%+v", r)
		}
	}
}

// The names of calls where the library says none.
func TestDialectNames(t *testing.T) {
	const driver, runtime = cupti.DomainDriver, cupti.DomainRuntime
	for _, c := range []struct {
		dl         *cupti.Dialect
		domain, id uint32
		want       string
	}{
		{&musa.Dialect, runtime, 211, "musaLaunchKernel"}, {&musa.Dialect, runtime, 430, "musaLaunchKernelExC"}, {&musa.Dialect, runtime, 165, "musaDeviceSynchronize"},
		{&musa.Dialect, runtime, 480, ""}, {&musa.Dialect, runtime, 523, ""}, {&musa.Dialect, driver, 307, ""}, {&musa.Dialect, runtime, 0, ""},
		{&metax.Dialect, runtime, 56, "mcLaunchKernel"}, {&metax.Dialect, runtime, 119, "mcMemcpyAsync"}, {&metax.Dialect, runtime, 211, ""}, {&metax.Dialect, driver, 56, ""},
		{&ppu.Dialect, runtime, 211, "cudaLaunchKernel"}, {&ppu.Dialect, driver, 307, "cuLaunchKernel"}, {&ppu.Dialect, runtime, 1 << 20, ""},
	} {
		if got := c.dl.Name(c.domain, c.id); got != c.want {
			t.Errorf("%s: %d %d: %q, want %q", c.dl.Tracer, c.domain, c.id, got, c.want)
		}
	}
	for _, c := range []struct {
		dl            *cupti.Dialect
		name          string
		minimal, show bool // at the two lower levels
	}{
		{&musa.Dialect, "musaLaunchKernel", true, true}, {&musa.Dialect, "musaGetDevice", false, false}, {&musa.Dialect, "musaMalloc", false, true},
		{&metax.Dialect, "mcModuleLaunchKernel", true, true}, {&metax.Dialect, "mcGetDevice", false, false}, {&metax.Dialect, "mcStreamSynchronize", true, true},
		{&ppu.Dialect, "cudaMemsetAsync", true, true},
	} {
		if m, k := c.dl.Shown(tracer.APIMinimal, runtime, 1, c.name), c.dl.Shown(tracer.APIKineto, runtime, 1, c.name); m != c.minimal || k != c.show {
			t.Errorf("%s: shown %v, %v", c.name, m, k)
		}
	}
}

// BenchmarkDialect decodes kernels, their calls and their external ids as MetaX's library
// writes them.
func BenchmarkDialect(b *testing.B) {
	var buf []byte
	put := func(size int, words map[int]uint32) {
		rec := make([]byte, size)
		for off, v := range words {
			binary.LittleEndian.PutUint32(rec[off:], v)
		}
		buf = append(buf, rec...)
	}
	for i := range uint32(1000) {
		put(24, map[int]uint32{0: 39, 4: 3, 8: i, 16: i + 1})
		put(40, map[int]uint32{0: 5, 4: 56, 8: 1000 * i, 16: 1000*i + 200, 24: 1, 28: 2, 32: i + 1})
		put(200, map[int]uint32{0: 10, 16: 1000*i + 300, 24: 1000*i + 900, 52: 4, 56: 1, 60: 1, 64: 64, 68: 1, 72: 1, 92: i + 1, 104: 0x10})
	}
	binary.LittleEndian.PutUint32(buf[24+8:], 1) // a call cannot begin at 0
	d, err := cupti.NewDialectDecoder(tracer.Config{Strings: new(event.Strings), API: tracer.APIKineto}, &metax.Dialect)
	if err != nil {
		b.Fatal(err)
	}
	d.Name(0x10, "k")
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
