package chrome

import (
	"slices"
	"testing"

	"github.com/flagos-ai/flagos-trace/tracer"
)

// Every vendor with a tracer has its rows here: without, its traces would be taken for
// those of NVIDIA's devices, in categories, labels and comparisons.
func TestTracerVendors(t *testing.T) {
	known := map[string]bool{}
	for _, v := range tracer.Vendors() {
		known[v.Tracer] = true
		if tracerVendors[v.Tracer] == "" {
			t.Errorf("%s: no row in tracerVendors (producer.go)", v.Tracer)
		}
		if !slices.ContainsFunc(dialects, func(d dialect) bool { return d.tracer == v.Tracer }) {
			t.Errorf("%s: no row in dialects (dialect.go)", v.Tracer)
		}
	}
	for name := range tracerVendors {
		if !known[name] {
			t.Errorf("%s: a row in tracerVendors, and no such tracer", name)
		}
	}
}
