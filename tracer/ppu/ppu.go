package ppu

import (
	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/tracer"
	"github.com/flagos-ai/flagos-trace/tracer/cupti"
)

// Name is the tracer's name in spools and completeness records.
const Name = "ppu"

// Dialect is the PPU's.
var Dialect = cupti.Dialect{
	Tracer:   Name,
	Layouts:  cupti.MinVersion,
	Prefix:   cupti.CommonPrefix,
	CallName: callName,
}

func init() {
	Dialect.Register()
	tracer.Offers(Name, event.Kernel, event.Memcpy, event.Runtime, event.Driver, event.ExternalCorrelation)
}

func callName(domain, cbid uint32) string {
	name, _ := cupti.CallbackName(domain, cbid)
	return name
}
