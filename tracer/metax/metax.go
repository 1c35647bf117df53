package metax

import (
	"strings"

	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/tracer"
	"github.com/flagos-ai/flagos-trace/tracer/cupti"
)

// Name is the tracer's name in spools and completeness records.
const Name = "metax"

// Dialect is MCPTI's. A kernel out of a graph may have no name.
var Dialect = cupti.Dialect{
	Tracer:  Name,
	Layouts: cupti.Version118,
	Prefix: map[uint32]uint32{
		cupti.KindMemcpy: 64, cupti.KindMemset: 64, cupti.KindKernel: 112, cupti.KindConcurrentKernel: 112,
		cupti.KindDriver: 40, cupti.KindRuntime: 40, cupti.KindExternalCorrelation: 24,
	},
	Sizes: map[uint32]uint32{
		cupti.KindMemcpy: 88, cupti.KindMemset: 88, cupti.KindKernel: 200, cupti.KindConcurrentKernel: 200,
		cupti.KindDriver: 40, cupti.KindRuntime: 40, cupti.KindExternalCorrelation: 24,
	},
	CallName:  func(domain, cbid uint32) string { return runtimeNames[[2]uint32{domain, cbid}] },
	Canonical: canonical,
	NullNames: true,
	Untimed:   "MCPTI means by it that it has not measured them",
}

func init() {
	Dialect.Register()
	tracer.Offers(Name, event.Kernel, event.Memcpy, event.Memset, event.Runtime, event.Driver, event.ExternalCorrelation)
}

// runtimeNames are the callback ids that users of MCPTI have in their tables, for
// when the library was not asked.
var runtimeNames = map[[2]uint32]string{}

func init() {
	for id, name := range map[uint32]string{
		18: "mcDeviceSynchronize", 19: "mcGetDevice", 20: "mcGetDeviceCount", 22: "mcGetDeviceProperties", 23: "mcSetDevice",
		46: "mcStreamSynchronize", 47: "mcStreamWaitEvent", 56: "mcLaunchKernel", 60: "mcModuleLaunchKernel", 62: "mcLaunchKernelExC",
		74: "mcEventRecord", 76: "mcEventSynchronize", 107: "mcMalloc", 108: "mcFree", 118: "mcMemcpy", 119: "mcMemcpyAsync",
		146: "mcMemset", 147: "mcMemsetAsync",
	} {
		runtimeNames[[2]uint32{cupti.DomainRuntime, id}] = name
	}
}

func canonical(domain uint32, name string) string {
	name = strings.Replace(name, "mcModule", "mc", 1)
	cuda := "cuda"
	if domain == cupti.DomainDriver {
		cuda = "cu"
	}
	name, _ = cupti.Renamed(name, "mc", cuda)
	return name
}
