package chrome

import (
	"fmt"
	"strings"

	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// h200 is the device of the tests: the properties that the driver reports for
// an NVIDIA H200.
func h200(id uint32) timeline.Device {
	return timeline.Device{ID: id, Name: "NVIDIA H200", Properties: []timeline.DeviceProperty{
		{Key: "totalGlobalMem", Value: 150109880320}, {Key: "computeMajor", Value: 9}, {Key: "computeMinor", Value: 0},
		{Key: "maxThreadsPerBlock", Value: 1024}, {Key: "maxThreadsPerMultiprocessor", Value: 2048},
		{Key: "regsPerBlock", Value: 65536}, {Key: "warpSize", Value: 32}, {Key: "sharedMemPerBlock", Value: 49152},
		{Key: "numSms", Value: 132}, {Key: "regsPerMultiprocessor", Value: 65536},
		{Key: "sharedMemPerBlockOptin", Value: 232448}, {Key: "sharedMemPerMultiprocessor", Value: 233472},
		{Key: "reservedSharedMemPerBlock", Value: 1024},
	}}
}

const (
	second = int64(1_000_000_000)
	// epoch lies 5099078.554 s into the base period that began at 227 * 7889238 s.
	epoch = 1790857026*second + 5099078554*second/1000
)

// sampleTrace is a small consistent trace with every kind of event, every flag
// and awkward text.
func sampleTrace() *timeline.Trace {
	t := &timeline.Trace{
		Process: timeline.Process{PID: 419, Name: "python3"},
		Window:  timeline.Window{Start: epoch, End: epoch + 40_049_060},
		Devices: []timeline.Device{h200(0), h200(1)},
		Metadata: []timeline.Property{
			{Key: "trace_id", Raw: []byte(`"3A990407340D4A1E9C5617E7C95EEB92"`)},
			{Key: "distributedInfo", Raw: []byte(`{"backend":"nccl","rank":3,"world_size":8}`)},
			{Key: "traceName", Raw: []byte(`"stale"`)},
			{Key: "user \"key\"", Raw: []byte("{\n  \"a\": [1,2 ,NaN]\n}")},
			{Key: "not json", Raw: []byte(`{oops`)},
		},
		Completeness: &timeline.Completeness{
			Verdict: timeline.Unknown, Tool: "flagos-trace test", Tracer: "cupti", Clock: timeline.Clock{Source: "realtime"},
			Received: map[string]uint64{"kernel": 5}, Written: map[string]uint64{"kernel": 4},
			Dropped: map[string]uint64{timeline.DropOutOfWindow: 1},
		},
	}
	at := func(us int64) int64 { return epoch + us*1000 }
	thread := t.Row(timeline.Row{PID: 419, TID: 419, Kind: timeline.RowThread, Name: "python3"})
	worker := t.Row(timeline.Row{PID: 419, TID: 543, Kind: timeline.RowThread, Name: "pt_\"autograd\"_0"})
	stream7 := t.Row(timeline.Row{PID: 0, TID: 7, Kind: timeline.RowStream, Stream: 7})
	lane := t.Row(timeline.Row{PID: 0, TID: 1000007, Kind: timeline.RowStream, Stream: 7, Lane: 1, SortIndex: 7, HasSortIndex: true})
	syncs := t.Row(timeline.Row{PID: 0, TID: 2000007, Kind: timeline.RowSync, Stream: 7})
	overhead := t.Row(timeline.Row{PID: -1, TID: 0, Kind: timeline.RowOverhead})
	t.Row(timeline.Row{PID: 0, TID: 99, Kind: timeline.RowStream, Stream: 99}) // nothing stands on it
	place := t.Place(timeline.Place{Device: 0, Context: 1, Stream: 7, Has: event.HasDevice | event.HasStream})
	whole := t.Place(timeline.Place{Device: 0, Context: 1, Stream: 0xffffffff, Has: event.HasDevice})

	host := func(name, category string, row uint32, start, end, external int64, args string) {
		t.Events.Add(timeline.Event{
			Kind: timeline.Host, Name: t.Strings.ID(name), Category: t.Strings.ID(category), Row: row,
			Start: at(start), End: at(end), External: external, Flags: timeline.HasExternal,
			Detail: t.Args.Add([]byte(args)),
		})
	}
	host("aten::mm", "cpu_op", thread, 1000, 2000, 0, `"Record function id": 0, "Ev Idx": 0`)
	host("c\tontrol \"quoted\" back\\slash 矩阵 \xff", "cpu_op", thread, 1100, 1200, -5,
		"\"Concrete Inputs\": [\"a\tb\", \"\xfe\", \"\\q\"],\n   \"x\": NaN")
	host("MmBackward0", "cpu_op", worker, 3000, 3900, 513, `"Sequence number": 30, "Fwd thread id": 1`)
	host("[memory]", "cpu_instant_event", thread, 1500, 1500, 4, `"Bytes": 512`)
	host("broken args", "user_annotation", thread, 4000, 4100, 6, `"a": {`)
	t.Flows = []timeline.FlowPoint{
		{ID: 1, TS: at(1000), Row: thread, Name: t.Strings.ID("fwdbwd"), Start: true},
		{ID: 1, TS: at(3000), Row: worker, Name: t.Strings.ID("fwdbwd")},
	}

	call := func(kind timeline.Kind, name string, cbid, result uint32, start, end int64, corr uint64, flags timeline.Flags) {
		t.Events.Add(timeline.Event{
			Kind: kind, Name: t.Strings.ID(name), Row: thread, Start: at(start), End: at(end), Correlation: corr,
			External: 1, Flags: flags, Detail: t.Calls.Add(timeline.CallDetail{CBID: cbid, ReturnValue: result, Has: event.HasReturn}),
		})
	}
	call(timeline.Runtime, "cudaLaunchKernel", 211, 0, 1010, 1020, 22, timeline.FlowOut|timeline.HasExternal)
	call(timeline.Driver, "cuLaunchKernelEx", 652, 0, 1030, 1040, 1<<40, timeline.FlowOut)
	call(timeline.Runtime, "cudaMemcpyAsync", 41, 700, 1050, 1060, 24, timeline.FlowOut|timeline.Unfinished)
	call(timeline.Runtime, "cudaStreamIsCapturing", 317, 0, 1061, 1062, 25, 0)

	kernel := func(name string, row uint32, start, end int64, corr uint64, flags timeline.Flags, l event.Launch, d timeline.KernelDetail) {
		d.Launch = t.Launch(l)
		t.Events.Add(timeline.Event{
			Kind: timeline.Kernel, Name: t.Strings.ID(name), Row: row, Place: place, Start: at(start) + 854, End: at(end) + 134,
			Correlation: corr, External: 1, Flags: flags, Detail: t.Kernels.Add(d),
		})
	}
	small := event.Launch{Grid: [3]int32{1056, 1, 1}, Block: [3]int32{256, 1, 1}, Registers: 44}
	big := event.Launch{Grid: [3]int32{24, 1, 1}, Block: [3]int32{544, 1, 1}, Registers: 96, Static: 2048, Dynamic: 101760}
	kernel("void at::native::(anonymous namespace)::k<float, 4>(at::TensorIteratorBase&)", stream7, 1100, 1105, 22,
		timeline.FlowIn|timeline.HasExternal, small, timeline.KernelDetail{Has: event.HasQueued})
	kernel("kernel", lane, 1102, 1200, 1<<40, timeline.FlowIn, big, timeline.KernelDetail{
		Has:     event.HasQueued | event.HasGraph | event.HasChannel | event.HasPriority,
		GraphID: 4, GraphNodeID: 17179869184, Channel: 5, ChannelType: 1, Priority: -2,
		Collective: t.Args.Add([]byte(`"Collective name": "allreduce", "Comms Id": 18446744073709551615`)),
	})
	kernel("unfinished", stream7, 39000, 40000, 0, timeline.Unfinished, small, timeline.KernelDetail{})

	move := func(kind timeline.Kind, start, end int64, corr uint64, flags timeline.Flags, d timeline.CopyDetail) {
		t.Events.Add(timeline.Event{Kind: kind, Row: stream7, Place: place, Start: at(start), End: at(end),
			Correlation: corr, Flags: flags, Detail: t.Copies.Add(d)})
	}
	move(timeline.Memcpy, 1200, 1535, 24, timeline.FlowIn, timeline.CopyDetail{Bytes: 4194304, Copy: 1, Src: 1, Dst: 3,
		Has: event.HasGraph | event.HasChannel, Channel: 2, ChannelType: 2})
	move(timeline.Memcpy, 1600, 1600, 0, 0, timeline.CopyDetail{Bytes: 4, Copy: 2, Src: 3, Dst: 2})
	move(timeline.MemcpyPeer, 1700, 1710, 0, 0, timeline.CopyDetail{Bytes: 1 << 20, Copy: 10, Src: 3, Dst: 3, DstDevice: 1, SrcContext: 1, DstContext: 2})
	move(timeline.Memset, 1800, 1801, 0, 0, timeline.CopyDetail{Bytes: 4, Dst: 3})

	wait := func(start, end int64, p uint32, d timeline.SyncDetail) {
		t.Events.Add(timeline.Event{Kind: timeline.Sync, Row: syncs, Place: p, Start: at(start), End: at(end), Correlation: 30, Detail: t.Syncs.Add(d)})
	}
	wait(2000, 2100, place, timeline.SyncDetail{Kind: event.StreamSync})
	wait(2100, 2200, place, timeline.SyncDetail{Kind: event.EventSync, Has: event.HasEventID, EventID: 3, HasSource: true, SourceStream: 7, SourceCorrelation: 28})
	wait(2200, 2300, place, timeline.SyncDetail{Kind: event.StreamWaitEvent, Has: event.HasEventID, EventID: 4})
	wait(2300, 2400, whole, timeline.SyncDetail{Kind: event.ContextSync})

	t.Events.Add(timeline.Event{Kind: timeline.Overhead, Name: t.Strings.ID("Activity Buffer Request"), Row: overhead, Start: at(10), End: at(2916)})
	t.Events.Add(timeline.Event{Kind: timeline.DeviceAnnotation, Name: t.Strings.ID("ProfilerStep#1"), Row: stream7,
		Start: at(1100), End: at(1200), External: 2, Flags: timeline.HasExternal})
	return t
}

// largeTrace has n kernels with demangled names of some 350 bytes, and their
// launches.
func largeTrace(n int) *timeline.Trace {
	t := &timeline.Trace{
		Process: timeline.Process{PID: 419, Name: "python3"},
		Window:  timeline.Window{Start: epoch, End: epoch + int64(n)*10_000 + second},
		Devices: []timeline.Device{h200(0)},
	}
	var names [64]uint32
	for i := range names {
		names[i] = t.Strings.ID(fmt.Sprintf("void at::native::vectorized_elementwise_kernel<%d, at::native::functor_%d<%s>>(int, at::detail::Array<char*, %d>)",
			i%8, i*7919, strings.Repeat("at::native::templates::cuda::normal_and_transform<float, ", 4+i%3), i%5+1))
	}
	launch := t.Strings.ID("cudaLaunchKernel")
	var launches [256]uint32
	for i := range launches {
		launches[i] = t.Launch(event.Launch{Grid: [3]int32{int32(i*37 + 1), 1, 1}, Block: [3]int32{128, 1, 1}, Registers: uint32(16 + i%200), Dynamic: int32(i) * 512})
	}
	thread := t.Row(timeline.Row{PID: 419, TID: 419, Kind: timeline.RowThread, Name: "python3"})
	stream := t.Row(timeline.Row{PID: 0, TID: 7, Kind: timeline.RowStream, Stream: 7})
	place := t.Place(timeline.Place{Context: 1, Stream: 7, Has: event.HasDevice | event.HasStream})
	x := uint32(1)
	now := epoch
	for i := range n {
		x = x*1664525 + 1013904223
		now += int64(4000 + x>>20)
		corr, ext := uint64(3*i+11), int64(i/2)
		t.Events.Add(timeline.Event{Kind: timeline.Runtime, Name: launch, Row: thread, Start: now, End: now + int64(x>>18), Correlation: corr,
			External: ext, Flags: timeline.HasExternal | timeline.FlowOut, Detail: t.Calls.Add(timeline.CallDetail{CBID: 211})})
		t.Events.Add(timeline.Event{Kind: timeline.Kernel, Name: names[x>>26], Row: stream, Place: place, Start: now + 5000, End: now + 5000 + int64(x>>17),
			Correlation: corr, External: ext, Flags: timeline.HasExternal | timeline.FlowIn,
			Detail: t.Kernels.Add(timeline.KernelDetail{Launch: launches[x>>16&255], Has: event.HasQueued | event.HasGraph})})
	}
	return t
}

// tinyTrace has one event, with text that needs escapes.
func tinyTrace() *timeline.Trace {
	t := &timeline.Trace{Metadata: []timeline.Property{{Key: "a", Raw: []byte(`{"b": [1, "\\\""]}`)}}}
	row := t.Row(timeline.Row{PID: 1, TID: 1, Kind: timeline.RowThread})
	t.Events.Add(timeline.Event{Kind: timeline.Host, Name: t.Strings.ID("quote \" and \\"), Row: row, Start: epoch, End: epoch + 1,
		Detail: t.Args.Add([]byte(`"x": [-1.5e3, true]`))})
	return t
}
