package reliability

import (
	"path/filepath"
	"testing"

	"github.com/flagos-ai/flagos-trace/timeline"
)

// TestRig: without a fault all is there, and said to be.
func TestRig(t *testing.T) {
	file := filepath.Join(t.TempDir(), "counts")
	o := job{args: []string{"--counts", file, "--print", "--exit-code", "3"}, stdin: "in\n"}.record(t)
	want, tr := readCounts(t, file), o.only()
	if o.status != 3 || o.stdout != "workload: this line is for stdout\nin\n" {
		t.Errorf("status %d, stdout %q", o.status, o.stdout)
	}
	if tr.spans["kernel"] != want.kernels() || tr.spans["gpu_memcpy"] != want.Memcpys || tr.spans["gpu_memset"] != want.Memsets ||
		tr.record.Verdict != timeline.Complete || tr.flows < want.kernels() || tr.loose != 0 || len(tr.kernels) != want.kernels() || tr.base == 0 {
		t.Errorf("%v, %d flows, %d loose, want %+v; %+v", tr.spans, tr.flows, tr.loose, want, tr.record)
	}
	for _, k := range tr.kernels {
		if _, ok := tr.calls[k.correlation]; !ok {
			t.Fatalf("kernel %+v has no API call", k)
		}
	}
}
