package calltree

import (
	"fmt"
	"testing"

	"github.com/flagos-ai/flagos-trace/timeline"
)

// large makes a trace of so many events: operators three deep, a call and a kernel
// each, on four threads.
func large(events int) *timeline.Trace {
	t := &timeline.Trace{}
	op, launch, kernel := t.Strings.ID("cpu_op"), t.Strings.ID("cudaLaunchKernel"), t.Strings.ID("kernel")
	var names [50]uint32
	for i := range names {
		names[i] = t.Strings.ID(fmt.Sprint("aten::op", i))
	}
	stream := t.Row(timeline.Row{PID: 0, TID: 7, Kind: timeline.RowStream})
	place := t.Place(timeline.Place{Stream: 7})
	for i := 0; t.Events.Len() < events; i++ {
		row := t.Row(timeline.Row{PID: 1, TID: int64(i % 4), Kind: timeline.RowThread})
		at := int64(i) * 1000
		for depth := range int64(3) {
			t.Events.Add(timeline.Event{Start: at + depth, End: at + 900 - depth, Name: names[(i+int(depth))%50], Category: op, Row: row,
				Kind: timeline.Host, Flags: timeline.HasExternal, External: int64(i)*3 + depth})
		}
		id := uint64(i + 1)
		t.Events.Add(timeline.Event{Start: at + 10, End: at + 20, Name: launch, Row: row, Kind: timeline.Runtime, Correlation: id, External: int64(i)*3 + 2, Flags: timeline.HasExternal})
		t.Events.Add(timeline.Event{Start: at + 500, End: at + 700, Name: kernel, Row: stream, Place: place, Kind: timeline.Kernel, Correlation: id, External: int64(i)*3 + 2, Flags: timeline.HasExternal})
	}
	return t
}

func BenchmarkNew(b *testing.B) {
	t := large(1_000_000)
	b.ReportAllocs()
	for b.Loop() {
		if x := New(t); x.NumWorks() != 200_000 {
			b.Fatal(x.NumWorks())
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1e6, "ns/event")
}
