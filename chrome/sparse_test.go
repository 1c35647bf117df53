package chrome

import (
	"bytes"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// sparseTrace is a trace of a library that tells little of its events.
func sparseTrace() *timeline.Trace {
	t := &timeline.Trace{Process: timeline.Process{PID: 42, Name: "python"}, Completeness: &timeline.Completeness{Tracer: "ascend"},
		Devices: []timeline.Device{{ID: 0, Name: "chip"}}}
	row := t.Row(timeline.Row{PID: 0, TID: 5, Stream: 5, Kind: timeline.RowStream})
	host := t.Row(timeline.Row{PID: 42, TID: 43})
	place := t.Place(timeline.Place{Stream: 5, Has: event.HasDevice | event.HasStream | event.NoContext})
	add := func(e timeline.Event) {
		e.Start, e.End = e.Start+1_790_000_000_000_000_000, e.Start+1_790_000_000_000_001_000
		t.Events.Add(e)
	}
	add(timeline.Event{Kind: timeline.Runtime, Name: t.Strings.ID("aclrtLaunchKernel"), Row: host, Correlation: 7, Detail: t.Calls.Add(timeline.CallDetail{Has: event.NoCallID})})
	add(timeline.Event{Kind: timeline.Kernel, Name: t.Strings.ID("Add"), Start: 2000, Row: row, Place: place, Correlation: 7,
		Detail: t.Kernels.Add(timeline.KernelDetail{Launch: t.Launch(event.Launch{Has: event.NoLaunch}), Collective: t.Args.Add([]byte(`"type": "VEC"`))})})
	add(timeline.Event{Kind: timeline.Memcpy, Name: t.Strings.ID("Memcpy HtoD (Unknown -> Device)"), Start: 4000, Row: row, Place: place,
		Detail: t.Copies.Add(timeline.CopyDetail{Bytes: 4096, Copy: 1, Dst: 3, Has: event.HostSpan})})
	return t
}

// What the library does not tell is absent, and the names are those of its vendor.
func TestSparse(t *testing.T) {
	doc := renderTrace(t, sparseTrace(), Options{})
	for _, want := range []string{
		`"cat": "kernel", "name": "Add", "pid": 0, "tid": 5, "ts": `, `"args": {"device": 0, "stream": 5, "correlation": 7, "type": "VEC"}}`,
		`"cat": "privateuse1_runtime", "name": "aclrtLaunchKernel"`, `"args": {"correlation": 7}}`,
		`"args": {"device": 0, "stream": 5, "bytes": 4096, "timed by": "host call"}}`, `"labels": "NPU 0"`,
	} {
		if !bytes.Contains(doc, []byte(want)) {
			t.Errorf("there is no %s in\n%s", want, doc)
		}
	}
	for _, absent := range []string{"context", "grid", "registers", "cbid", "bandwidth", "queued", "cuda"} {
		if strings.Contains(string(doc), absent) {
			t.Errorf("there is %q", absent)
		}
	}
	// A reader knows again which times are the host's.
	d, err := Read(bytes.NewReader(doc), ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	timed := 0
	for i := range d.Trace.Events.Len() {
		if d.Trace.HostTimed(d.Trace.Events.At(uint32(i))) {
			timed++
		}
	}
	if timed != 1 {
		t.Errorf("%d events have the host's times, want the copy", timed)
	}
}
