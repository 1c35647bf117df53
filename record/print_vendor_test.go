package record

import (
	"bytes"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/timeline"
)

// What a vendor's library does not deliver is not claimed to be there.
func TestPrintVerdictOfVendors(t *testing.T) {
	for _, c := range []struct {
		tracer    string
		operators *timeline.Operators
		want      string
	}{
		{"cupti", nil, "  complete: nothing is known to be missing\n"},
		{"", nil, "  complete: nothing is known to be missing\n"},
		{"ppu", nil, "  complete: nothing that the vendor's library delivers is known to be missing\n"},
		{"ascend", nil, "  complete: nothing that the vendor's library delivers is known to be missing\n"},
		{"ppu", &timeline.Operators{LostSlices: 1}, "  complete but for operators: nothing else that the vendor's library delivers is known to be missing\n"},
	} {
		var b bytes.Buffer
		printCompleteness(&b, &timeline.Completeness{Tracer: c.tracer, Ended: timeline.EndExit, Verdict: timeline.Complete, Operators: c.operators}, map[string]bool{})
		if !strings.HasPrefix(b.String(), c.want) {
			t.Errorf("%s: %s", c.tracer, &b)
		}
	}
}
