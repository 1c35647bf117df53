package chrome

import "github.com/flagos-ai/flagos-trace/timeline"

// dialect is what a tracer's events are called in a document: the category of
// each kind, what a device is called in labels, and the name of the process that shows
// the tracer's own time.
type dialect struct {
	tracer          string
	device          string
	categories      [timeline.NumKinds]string
	overheadProcess string
}

// dialects holds a row for each tracer whose names are settled. Source: the
// activity type strings of Kineto (ActivityType.cpp).
var dialects = []dialect{
	{
		tracer: "cupti", device: "GPU",
		categories: [timeline.NumKinds]string{
			timeline.Kernel:           "kernel",
			timeline.Memcpy:           "gpu_memcpy",
			timeline.MemcpyPeer:       "gpu_memcpy",
			timeline.Memset:           "gpu_memset",
			timeline.Runtime:          "cuda_runtime",
			timeline.Driver:           "cuda_driver",
			timeline.Sync:             "cuda_sync",
			timeline.Overhead:         "overhead",
			timeline.DeviceAnnotation: "gpu_user_annotation",
		},
		overheadProcess: "CUPTI Overhead",
	},
	private("ascend", "NPU", ""),
	private("musa", "MUSA", "MUPTI Overhead"),
	private("metax", "MetaX", ""),
	private("ppu", "PPU", ""),
	private("roctracer", "DCU", ""),
}

// private has the categories that frameworks give to devices that are none of their own
// (privateuse1), as torch_npu's, torch_musa's and FlagOS' traces have them.
func private(tracer, device, overhead string) dialect {
	return dialect{
		tracer: tracer, device: device,
		categories: [timeline.NumKinds]string{
			timeline.Kernel:           "kernel",
			timeline.Memcpy:           "gpu_memcpy",
			timeline.MemcpyPeer:       "gpu_memcpy",
			timeline.Memset:           "gpu_memset",
			timeline.Runtime:          "privateuse1_runtime",
			timeline.Driver:           "privateuse1_driver",
			timeline.Sync:             "cuda_sync",
			timeline.Overhead:         "overhead",
			timeline.DeviceAnnotation: "gpu_user_annotation",
		},
		overheadProcess: overhead,
	}
}

// dialectOf finds a tracer's row. A trace without a tracer (one that was read, or
// made by hand) and a tracer without a row have the first one's names.
func dialectOf(t *timeline.Trace) *dialect {
	if t.Completeness != nil {
		for i := range dialects {
			if dialects[i].tracer == t.Completeness.Tracer {
				return &dialects[i]
			}
		}
	}
	return &dialects[0]
}

// Categories and names with a meaning of their own in Kineto's documents.
const (
	catInstant   = "cpu_instant_event" // written as an instant, without duration
	catTraceSpan = "Trace"
	flowDevice   = "ac2g"      // API call to device work
	timedByCall  = "host call" // of a copy whose times are those of the call; our own

	pidSpans       = "Spans"
	tidProfiler    = "PyTorch Profiler"
	spanName       = "PyTorch Profiler (0)"
	pidTraces      = "Traces"
	tidTraces      = "Trace PyTorch Profiler"
	iterationStart = "Iteration Start: PyTorch Profiler"
	windowEnd      = "Record Window End"
)

// Sort indices of processes, as Kineto has them.
const (
	sortDevices  = 5000000   // plus the ordinal
	sortSpans    = 536870912 // 0x20000000
	sortOverhead = 16777226  // 0x100000A
)

// basePeriod is the period in seconds ("3 months") to whose start times are
// relative: every rank that starts in the same one shares its base, and ts stays
// below 2^53 ns.
const basePeriod = 7889238

const nsPerSecond = 1_000_000_000

// BaseTime is the baseTimeNanoseconds of a document whose first event is at ns: the
// start of the base period that it falls into, ns since the Unix epoch.
func BaseTime(ns int64) int64 {
	if ns < 0 {
		return 0
	}
	return ns / nsPerSecond / basePeriod * basePeriod * nsPerSecond
}
