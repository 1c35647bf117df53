package chrome

import (
	"bytes"
	"fmt"
	"runtime"
	"testing"

	"github.com/flagos-ai/flagos-trace/internal/testrig"
)

// BenchmarkRead reads a training trace repeated to some 100 MB. What is reported
// beside the speed is the timeline's memory in proportion to the text.
func BenchmarkRead(b *testing.B) {
	path, ok := testrig.FindShared("traces/torch-cuda/train-stacks-shapes-memory.json.gz")
	if !ok {
		path = "../testdata/pairs/train.kineto.json.gz"
	}
	text := plainText(b, path)
	open := bytes.Index(text, []byte(`"traceEvents": [`)) + len(`"traceEvents": [`)
	end := bytes.LastIndexByte(text, ']')
	doc := append(make([]byte, 0, 130<<20), text[:open]...)
	for i := range 1 + 100<<20/(end-open) {
		if i > 0 {
			doc = append(doc, ',')
		}
		doc = append(doc, text[open:end]...)
	}
	doc = append(doc, text[end:]...)
	for workers := 1; workers <= 2; workers++ {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			b.SetBytes(int64(len(doc)))
			for b.Loop() {
				d, err := Read(bytes.NewReader(doc), ReadOptions{Workers: workers})
				if err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				runtime.GC()
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				b.ReportMetric((float64(m.HeapAlloc)-float64(cap(doc))-float64(cap(text)))/float64(len(doc)), "heap/text")
				runtime.KeepAlive(d)
				b.StartTimer()
			}
		})
	}
}
