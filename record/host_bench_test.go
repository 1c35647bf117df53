package record

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// BenchmarkHostSlices reads a slice of 300,000 operators as torch writes them, and
// reports what memory a byte of it takes: while it is read, and in the trace.
func BenchmarkHostSlices(b *testing.B) {
	dir := b.TempDir()
	var doc strings.Builder
	fmt.Fprintf(&doc, `{"schemaVersion": 1, "deviceProperties": [], "baseTimeNanoseconds": %d, "traceEvents": [`+"\n", spoolStart)
	const n = 300_000
	for i := range n {
		fmt.Fprintf(&doc, `  {
    "ph": "X", "cat": "cpu_op", "name": "aten::op%d", "pid": 4242, "tid": 4242,
    "ts": %d.250, "dur": 3.125,
    "args": {
      "External id": %d,"Record function id": 0, "Ev Idx": %d
    }
  },
`, i%300, i*10, i+1, i)
	}
	doc.WriteString(`  {"ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": "", "ts": 3000000.000}]}`)
	for name, text := range map[string]string{"1.1.spool": "", "1.1.host-1.json": doc.String()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	size := int64(doc.Len())
	doc.Reset()
	b.SetBytes(size)
	var before, after runtime.MemStats
	var allocated, held float64
	for range b.N {
		runtime.GC()
		runtime.ReadMemStats(&before)
		c := newCollector("bench")
		r := c.readHost(filepath.Join(dir, "1.1.spool"), dir, false)
		runtime.ReadMemStats(&after)
		allocated = float64(after.TotalAlloc - before.TotalAlloc)
		runtime.GC()
		runtime.ReadMemStats(&after)
		held = float64(after.HeapAlloc) - float64(before.HeapAlloc)
		if r.counts.Slices != 1 || c.trace.Events.Len() != n {
			b.Fatalf("%+v", r.counts)
		}
		runtime.KeepAlive(c)
	}
	b.ReportMetric(allocated/float64(size), "allocated/byte")
	b.ReportMetric(held/float64(size), "held/byte")
}
