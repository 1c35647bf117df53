package bind

import (
	"github.com/flagos-ai/flagos-trace/tracer"
	"github.com/flagos-ai/flagos-trace/tracer/cupti/bind"
	"github.com/flagos-ai/flagos-trace/tracer/metax"
)

// Dialect is libmcpti in the process. It exports CUPTI's names beside its own. Asking
// it for the name of a call while it hands a buffer over is a deadlock; here names are
// asked for when a buffer is written, by another thread.
var Dialect = bind.Dialect{
	Dialect:   &metax.Dialect,
	What:      "MCPTI",
	Prefix:    "cupti",
	NameQuery: "mcptiActivityGetApiName",
	Loaded:    "libmcpti",
	Names:     []string{"libmcpti.so"},
	Marks:     []string{"libmcpti", "libmcruntime"},
}

// Name is the name of this tracer.
const Name = metax.Name

// Detect reports how near the vendor's devices are.
func Detect(getenv func(string) string) tracer.Presence { return Dialect.Detect(getenv) }

// Open finds and binds libmcpti.
func Open(getenv func(string) string) (*bind.Binding, error) {
	return bind.OpenDialect(&Dialect, getenv)
}
