package cupti

import (
	"strings"

	"github.com/flagos-ai/flagos-trace/tracer"
)

// hiddenRuntime are the runtime calls Kineto leaves out: they are many and say
// nothing. Source: Kineto's cbid registry.
var hiddenRuntime = map[string]bool{
	"cudaGetDevice": true, "cudaSetDevice": true, "cudaGetLastError": true,
	"cudaEventCreate": true, "cudaEventCreateWithFlags": true, "cudaEventDestroy": true,
}

// shownDriver are the driver calls Kineto shows; beside them we show those that
// start device work, without which the work would have no API call.
var shownDriver = map[string]bool{
	"cuMemCreate": true, "cuMemMap": true, "cuMemUnmap": true, "cuMemRelease": true,
	"cuMemExportToShareableHandle": true, "cuMemImportFromShareableHandle": true,
}

// workPrefixes are the beginnings of the names of calls that start device work.
var workPrefixes = []string{
	"cudaLaunch", "__cudaLaunch", "cudaGraphLaunch", "cudaMemcpy", "cudaMemset", "cudaMemPrefetch",
	"cuLaunch", "cuGraphLaunch", "cuMemcpy", "cuMemset", "cuMemPrefetch", "cuMemBatchDecompress",
}

// waitNames are the calls with which a host thread waits, or orders streams.
var waitNames = map[string]bool{
	"cudaDeviceSynchronize": true, "cudaStreamSynchronize": true, "cudaEventSynchronize": true,
	"cudaStreamWaitEvent": true, "cudaEventRecord": true, "cudaEventRecordWithFlags": true,
	"cudaThreadSynchronize": true, "cuCtxSynchronize": true, "cuCtxSynchronize_v2": true,
	"cuStreamSynchronize": true, "cuEventSynchronize": true, "cuStreamWaitEvent": true,
	"cuEventRecord": true, "cuEventRecordWithFlags": true,
}

// Shown reports whether calls of a callback id are recorded at a level. name is
// the display name of the id. The binding asks the same question to switch ids
// off in the library, so both halves agree.
func Shown(level tracer.APILevel, domain, cbid uint32, name string) bool {
	switch level {
	case tracer.APIAll:
		return true
	case tracer.APIMinimal:
		return startsWork(name) || waitNames[name]
	}
	if domain == DomainDriver {
		return startsWork(name) || shownDriver[name]
	}
	return !hiddenRuntime[name]
}

func startsWork(name string) bool {
	for _, p := range workPrefixes {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}

// CallbackIDs returns the number of callback ids of a domain the table covers:
// ids run from 0 to one below it, with holes.
func CallbackIDs(domain uint32) uint32 {
	if domain == DomainDriver {
		return uint32(len(driverNames))
	}
	return uint32(len(runtimeNames))
}
