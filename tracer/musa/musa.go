package musa

import (
	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/tracer"
	"github.com/flagos-ai/flagos-trace/tracer/cupti"
)

// Name is the tracer's name in spools and completeness records.
const Name = "musa"

// ownIDs is the first callback id of the runtime that is not CUDA's. Source: the
// table of names in the fork of Kineto that torch_musa uses.
const ownIDs = 480

// Dialect is MUPTI's. Atomics and transfers, which are MUSA's own kinds, are not in
// Prefix and so are stepped over.
var Dialect = cupti.Dialect{
	Tracer:    Name,
	Layouts:   cupti.MinVersion,
	Prefix:    cupti.CommonPrefix,
	CallName:  callName,
	Canonical: canonical,
	Untimed:   "MUPTI gives none after it could not connect to MT-Perf",
}

func init() {
	Dialect.Register()
	tracer.Offers(Name, event.Kernel, event.Memcpy, event.MemcpyPeer, event.Memset, event.Runtime, event.Driver, event.ExternalCorrelation,
		event.Sync, event.Overhead)
}

// callName knows the runtime's calls that are CUDA's by another name. Of the driver's
// ids nothing is confirmed: those are named by the library or not at all.
func callName(domain, cbid uint32) string {
	if domain != cupti.DomainRuntime || cbid >= ownIDs {
		return ""
	}
	cuda, _ := cupti.CallbackName(domain, cbid)
	name, ok := cupti.Renamed(cuda, "cuda", "musa")
	if !ok {
		return ""
	}
	return name
}

func canonical(domain uint32, name string) string {
	if domain == cupti.DomainDriver {
		name, _ = cupti.Renamed(name, "mu", "cu")
		return name
	}
	name, _ = cupti.Renamed(name, "musa", "cuda")
	return name
}
