package bind

import (
	"time"

	"github.com/flagos-ai/flagos-trace/tracer"
	"github.com/flagos-ai/flagos-trace/tracer/cupti/bind"
	"github.com/flagos-ai/flagos-trace/tracer/musa"
)

// Dialect is libmupti in the process. A forced flush of it takes about a second, and
// one after another may wait for ever.
var Dialect = bind.Dialect{
	Dialect:    &musa.Dialect,
	What:       "MUPTI",
	Prefix:     "mupti",
	Loaded:     "libmupti",
	Names:      []string{"libmupti.so", "libmupti.so.1.2", "libmupti.so.1"},
	Env:        []string{"FLAGOS_MUPTI_LIBRARY"},
	Marks:      []string{"libmupti", "libmusart", "libmusa.so"},
	FlushLimit: 3 * time.Second,
}

// Name is the name of this tracer.
const Name = musa.Name

// Detect reports how near the vendor's devices are.
func Detect(getenv func(string) string) tracer.Presence { return Dialect.Detect(getenv) }

// Open finds and binds libmupti.
func Open(getenv func(string) string) (*bind.Binding, error) {
	return bind.OpenDialect(&Dialect, getenv)
}
