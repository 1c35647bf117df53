package record

import (
	"slices"
	"testing"
)

// A diagnosis is one line, and is told once.
func TestDiagnose(t *testing.T) {
	var c collector
	for _, text := range []string{"name it in FLAGOS_TRACER_LIBRARY\nMSPTI: library not found", "name it in FLAGOS_TRACER_LIBRARY; MSPTI: library not found", "other"} {
		c.diagnose(text)
	}
	if want := []string{"name it in FLAGOS_TRACER_LIBRARY; MSPTI: library not found", "other"}; !slices.Equal(c.diagnoses, want) {
		t.Errorf("%q", c.diagnoses)
	}
}
