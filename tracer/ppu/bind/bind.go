package bind

import (
	"github.com/flagos-ai/flagos-trace/tracer"
	"github.com/flagos-ai/flagos-trace/tracer/cupti/bind"
	"github.com/flagos-ai/flagos-trace/tracer/ppu"
)

// Dialect is the libcupti of the PPU's SDK in the process: CUPTI's functions in front
// of libhgpti, with results that are not all CUPTI's.
var Dialect = bind.Dialect{
	Dialect:       &ppu.Dialect,
	What:          "CUPTI of the PPU SDK",
	Prefix:        "cupti",
	Loaded:        "libcupti",
	Names:         []string{"libcupti.so.13", "libcupti.so.12", "libcupti.so"},
	Marks:         []string{"libhgpti"},
	EndUnknown:    true,
	OneKernelKind: true,
	CUDADriver:    true,
	Gap:           "fills are not recorded: whether the PPU's library can is not known, and it is not asked to",
}

// Name is the name of this tracer.
const Name = ppu.Name

// Detect reports how near the vendor's devices are.
func Detect(getenv func(string) string) tracer.Presence { return Dialect.Detect(getenv) }

// Open finds and binds the library.
func Open(getenv func(string) string) (*bind.Binding, error) {
	return bind.OpenDialect(&Dialect, getenv)
}
