package validate

import (
	"bytes"
	"testing"

	"github.com/flagos-ai/flagos-trace/internal/hostile"
)

// TestMemory: 10 MB made to be hard to check take less than 200 MB.
func TestMemory(t *testing.T) {
	for name, text := range hostile.Documents(testing.Short()) {
		t.Run(name, func(t *testing.T) {
			var err error
			var r *Report
			peak := hostile.Peak(func() { r, err = Run(bytes.NewReader(text), Options{}) })
			if peak > hostile.Bound {
				t.Errorf("%d MB", peak>>20)
			}
			t.Logf("%d MB, %v %v", peak>>20, err, r != nil)
		})
	}
}
