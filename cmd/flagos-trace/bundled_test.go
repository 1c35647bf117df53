package main

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/flagos-ai/flagos-trace/capability"
	"github.com/flagos-ai/flagos-trace/internal/fakegpu"
	"github.com/flagos-ai/flagos-trace/internal/testrig"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// recordBundled records the bundled workload on a vendor's look-alikes and returns the
// trace's path.
func recordBundled(t *testing.T, vendor string) string {
	t.Helper()
	gpu := fakegpu.Get(t)
	program, env := gpu.Bundled(vendor)
	var flags []string
	switch vendor {
	case "cuda":
	case "ascend": // copies are recorded only with the library preloaded
		flags = []string{"--vendor", vendor, "--preload"}
		env = append(env, "FLAGOS_TRACER_LIBRARY="+gpu.MSPTILibrary(fakegpu.MSPTINow))
	default:
		flags = []string{"--vendor", vendor}
	}
	counts := filepath.Join(t.TempDir(), "counts.json")
	s := recordQuirk(t, gpu, fakegpu.NoCUPTI, env, flags, program, "--counts", counts)
	tr, n := s.only(t), readCounts(t, counts)
	if s.status != 0 || tr.Completeness.Verdict != timeline.Complete || tr.Events["kernel"] != n.kernels() || tr.Events["memcpy"] != n.Memcpys ||
		vendor != "ppu" && tr.Events["memset"] != n.Memsets {
		t.Fatalf("%s: status %d, events %v, did %+v, %+v", vendor, s.status, tr.Events, n, tr.Completeness)
	}
	return filepath.Join(s.dir, tr.File)
}

// The bundled workload on each vendor against the same on CUDA: what the vendor's
// library is known not to deliver is told, and nothing else differs.
func TestBundledVendors(t *testing.T) {
	base := recordBundled(t, "cuda")
	host := []string{"operators", "operator-work", "attribution", "linked"}
	for _, c := range []struct {
		vendor string
		cannot []string // among what is told, assertion and subject
		never  []string // what this library does deliver
	}{
		{"ascend", []string{"arg-keys arg:kernel/grid", "arg-keys arg:cuda_runtime/cbid", "arg-coverage coverage:cuda_runtime/correlation", "categories category:cuda_sync",
			"arg-keys arg:gpu_memcpy/memory bandwidth (GB/s)"}, []string{"categories category:gpu_memcpy"}},
		{"musa", []string{"arg-keys arg:kernel/queued", "categories category:cuda_driver", "metadata member:deviceProperties"},
			[]string{"arg-keys arg:kernel/grid", "categories category:cuda_sync", "categories category:gpu_memset"}},
		{"metax", []string{"arg-keys arg:kernel/queued", "categories category:overhead"}, []string{"arg-keys arg:kernel/registers per thread"}},
		{"ppu", []string{"categories category:gpu_memset", "arg-keys arg:kernel/graph id"}, []string{"arg-keys arg:kernel/registers per thread"}},
		{"dcu", []string{"arg-keys arg:kernel/registers per thread", "arg-keys arg:kernel/context", "arg-coverage coverage:kernel/grid"}, []string{"arg-keys arg:kernel/grid"}},
	} {
		t.Run(c.vendor, func(t *testing.T) {
			out, err := exec.Command(filepath.Join(testrig.Programs(t), "flagos-trace"), "diff", "--scope", "device", "--json", base, recordBundled(t, c.vendor)).Output()
			if err != nil {
				t.Errorf("diff: %v", err)
			}
			r := gjson.ParseBytes(out)
			if r.Get("verdict").Str != "pass" || r.Get("new.vendor").Str != c.vendor {
				t.Errorf("%s: %s; findings %s", r.Get("verdict"), r.Get("why"), r.Get("findings"))
			}
			for _, f := range r.Get("findings").Array() {
				// Arguments of the vendor's own are no gap.
				if f.Get("severity").Str != "note" || !strings.Contains(f.Get("what").Str, "have arguments that the base does not") {
					t.Errorf("beside the declared gaps: %s", f)
				}
			}
			declared := capability.Default().Vendors[c.vendor]
			var told []string
			for _, x := range r.Get("cannot").Array() {
				told = append(told, x.Get("assertion").Str+" "+x.Get("subject").Str)
				if !slices.ContainsFunc(declared, func(m capability.Missing) bool { return m.Reason == x.Get("reason").Str }) {
					t.Errorf("%s is excused for a reason that is not the vendor's", x)
				}
			}
			for _, want := range c.cannot {
				if !slices.Contains(told, want) {
					t.Errorf("not told: %s; told: %q", want, told)
				}
			}
			for _, not := range c.never {
				if slices.Contains(told, not) {
					t.Errorf("told, but the library delivers it: %s", not)
				}
			}
			outcomes := map[string]string{}
			for _, a := range r.Get("assertions").Array() {
				outcomes[a.Get("id").Str] = a.Get("outcome").Str
			}
			for _, id := range host {
				if outcomes[id] != "not recorded" {
					t.Errorf("%s: %q", id, outcomes[id])
				}
			}
			for _, id := range []string{"ids", "after-launch", "flows", "names", "launches", "api-names", "kernels-dominate"} {
				if outcomes[id] != "holds" {
					t.Errorf("%s: %q", id, outcomes[id])
				}
			}
		})
	}
}
