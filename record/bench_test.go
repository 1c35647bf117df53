package record

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/merge"
	"github.com/flagos-ai/flagos-trace/spool"
	"github.com/flagos-ai/flagos-trace/tracer"
)

// syntheticSpool writes a spool of n launches as libcupti 13.0 would record them:
// a 216-byte kernel record and the 40-byte record of its API call each, names of
// about 350 bytes once demangled, 40 launch configurations, 4 streams.
func syntheticSpool(tb testing.TB, path string, n int) {
	tb.Helper()
	const start, names = int64(1_795_955_228_000_000_000), 60
	w, err := spool.Create(path, spool.Header{
		PID: 4242, Process: "python", StartNS: start, Requested: []string{"kernel", "memcpy", "memset", "runtime", "driver"},
		Binding: tracer.BindingInfo{Tracer: "cupti", APIVersion: 130001},
		Options: tracer.Options{API: tracer.APIKineto},
	})
	if err != nil {
		tb.Fatal(err)
	}
	defer w.Close()
	check := func(err error) {
		if err != nil {
			tb.Fatal(err)
		}
	}
	check(w.Devices([]tracer.Device{{ID: 0, Name: "NVIDIA H200", Attributes: map[string]int64{
		"totalGlobalMem": 150109880320, "computeMajor": 9, "computeMinor": 0, "maxThreadsPerBlock": 1024,
		"maxThreadsPerMultiprocessor": 2048, "regsPerBlock": 65536, "warpSize": 32, "sharedMemPerBlock": 49152, "numSms": 132,
		"regsPerMultiprocessor": 65536, "sharedMemPerBlockOptin": 232448, "sharedMemPerMultiprocessor": 233472,
		"reservedSharedMemPerBlock": 1024}}}))
	var list []spool.Name
	for i := range names {
		list = append(list, spool.Name{Ptr: uint64(0x1000 + i*8), Name: fmt.Sprintf("kernel_%02d_%s", i, strings.Repeat("elementwise<float, 4>, ", 15))})
	}
	check(w.Names(list))
	check(w.Clock(spool.Clock{Realtime: start, Vendor: uint64(start)}))
	const batch = 4096
	var buf []byte
	for i := 0; i < n; {
		buf = buf[:0]
		for j := 0; j < batch && i < n; j++ {
			t := uint64(start) + 1000 + uint64(i)*10_000
			k := kernelRecord(t+6000, t+14_000, uint32(i+1))
			le := binary.LittleEndian
			le.PutUint16(k[6:], uint16(32+i%8))
			le.PutUint32(k[48:], uint32(7+i%4))
			for f, v := range []uint32{uint32(64 << (i % 5)), 1, 1, 256, 1, 1} {
				le.PutUint32(k[52+4*f:], v)
			}
			le.PutUint64(k[104:], uint64(0x1000+i%names*8))
			buf = append(buf, k...)
			a := callRecord(t, t+4000, uint32(i+1), 4242)
			buf = append(buf, a...)
			i++
		}
		check(w.Buffer(spool.Buffer{Sequence: uint64(i), Data: buf}))
	}
	check(w.End(spool.End{Reason: "exit", NS: start + int64(n)*10_000 + 1_000_000, Flushed: true}))
}

// BenchmarkSpoolToTrace turns a spool into a gzip'd trace. With
// FLAGOS_TRACE_BENCH_LAUNCHES=1000000 it is the job of a long recording.
func BenchmarkSpoolToTrace(b *testing.B) {
	n := 100_000
	if s := os.Getenv("FLAGOS_TRACE_BENCH_LAUNCHES"); s != "" {
		if _, err := fmt.Sscan(s, &n); err != nil {
			b.Fatal(err)
		}
	}
	dir := b.TempDir()
	path := filepath.Join(dir, "1.1.spool")
	syntheticSpool(b, path, n)
	var json int64
	for b.Loop() {
		t, err := CollectSpool(path, CollectOptions{})
		if err != nil {
			b.Fatal(err)
		}
		if got := t.Completeness.Written["kernel"]; got != uint64(n) {
			b.Fatalf("%d kernels, want %d", got, n)
		}
		st, err := chrome.WriteFile(filepath.Join(dir, "trace.json.gz"), t, chrome.Options{})
		if err != nil {
			b.Fatal(err)
		}
		json = st.Bytes
	}
	b.SetBytes(json)
	b.ReportMetric(float64(json)/float64(n), "JSON-bytes/launch")
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "launches/s")
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.Sys)/(1<<20), "MB-from-system")
}

// BenchmarkMerge shows what memoryPerByte is taken from: the memory of two traces
// and of the one made of them, for each byte of their spools.
func BenchmarkMerge(b *testing.B) {
	dir := b.TempDir()
	var bytes int64
	var paths []string
	for _, pid := range []string{"1", "2"} {
		path := filepath.Join(dir, pid+".1"+spoolExt)
		syntheticSpool(b, path, 200_000)
		st, err := os.Stat(path)
		if err != nil {
			b.Fatal(err)
		}
		bytes, paths = bytes+st.Size(), append(paths, path)
	}
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		var parts []merge.Part
		for _, path := range paths {
			t, err := CollectSpool(path, CollectOptions{})
			if err != nil {
				b.Fatal(err)
			}
			parts = append(parts, merge.Part{Trace: t})
		}
		all, err := merge.Traces(parts)
		if err != nil {
			b.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.Sys)/float64(bytes), "sys-B/B")
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(bytes), "heap-B/B")
		runtime.KeepAlive(all)
	}
}
