package arm64test

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/internal/fakegpu"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// did is what the workload says it did.
type did struct {
	Launches     uint64 `json:"launches"`
	GraphKernels uint64 `json:"graph_kernels"`
	Memcpys      uint64 `json:"memcpys"`
	Memsets      uint64 `json:"memsets"`
}

// bundled records the bundled workload on a vendor's look-alikes.
func (m *machine) bundled(t *testing.T, vendor string) recording {
	t.Helper()
	program, env := m.gpu.Bundled(vendor)
	flags := []string{"--vendor", vendor}
	switch vendor {
	case "cuda":
	case "ascend":
		flags = append(flags, "--preload")
		// Copies are as long as the calls take, and those take long when emulated.
		env = append(env, "FLAGOS_TRACER_LIBRARY="+m.gpu.MSPTILibrary(fakegpu.MSPTINow), "FAKEACL_KERNEL_NS=2000000")
	}
	counts := filepath.Join(t.TempDir(), "counts.json")
	r := m.record(t, env, flags, program, "--counts", counts)
	var n did
	readJSON(t, counts, &n)
	got := r.summary.Events
	if r.status != 0 || r.summary.Verdict != timeline.Complete || n.Launches == 0 || got["kernel"] != n.Launches+n.GraphKernels ||
		got["memcpy"] != n.Memcpys || vendor != "ppu" && got["memset"] != n.Memsets {
		t.Errorf("%s: status %d, %s; events %v, the program says %+v; %q", m.name, r.status, r.summary.Verdict, got, n, r.summary.Completeness.Diagnoses)
	}
	return r
}

// shapes counts the events of a trace by category, name and arguments they have. What
// depends on when a thread ran is left out: the library's own time, and results of calls,
// which are written only if the device was not ready.
func shapes(t *testing.T, file string) map[string]int {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	text, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var trace struct {
		Events []struct {
			Phase string         `json:"ph"`
			Cat   string         `json:"cat"`
			Name  string         `json:"name"`
			Args  map[string]any `json:"args"`
		} `json:"traceEvents"`
	}
	if err := json.NewDecoder(text).Decode(&trace); err != nil {
		t.Fatal(err)
	}
	n := map[string]int{}
	for _, e := range trace.Events {
		delete(e.Args, "return value")
		if e.Cat == "" || e.Cat == "overhead" || e.Cat == "Trace" {
			continue
		}
		n[fmt.Sprintf("%s %s %s %s", e.Phase, e.Cat, e.Name, strings.Join(slices.Sorted(maps.Keys(e.Args)), ","))]++
	}
	return n
}

// TestVendors records each vendor's workload there and here: the traces have the same
// events with the same arguments, and this machine's diff and validate agree.
func TestVendors(t *testing.T) {
	for _, vendor := range strings.Fields(*vendors) {
		t.Run(vendor, func(t *testing.T) {
			t.Parallel()
			arm64, here := machines(t)
			want, got := here.bundled(t, vendor), arm64.bundled(t, vendor)
			a, b := shapes(t, want.trace), shapes(t, got.trace)
			if len(b) < 10 {
				t.Errorf("only %d kinds of events", len(b))
			}
			for _, k := range slices.Sorted(maps.Keys(maps.Collect(union(a, b)))) {
				if a[k] != b[k] {
					t.Errorf("%d on arm64, %d here: %s", b[k], a[k], k)
				}
			}
			tool := filepath.Join(here.bin, "flagos-trace")
			if status, out := start(t, nil, []string{tool, "diff", "--scope", "device", want.trace, got.trace}); status != 0 {
				t.Errorf("diff: status %d\n%s", status, out)
			}
			if status, out := start(t, nil, []string{tool, "validate", got.trace}); status != 0 {
				t.Errorf("validate: status %d\n%s", status, out)
			}
			t.Logf("%v", got.summary.Events)
		})
	}
}

// union has the keys of both.
func union(a, b map[string]int) func(yield func(string, int) bool) {
	return func(yield func(string, int) bool) {
		for _, m := range []map[string]int{a, b} {
			for k, v := range m {
				if !yield(k, v) {
					return
				}
			}
		}
	}
}

// TestEnds records programs that end otherwise than by returning from main: the status is
// theirs. What a program that was killed did at last may be lost, and is never told to be
// complete.
func TestEnds(t *testing.T) {
	for _, c := range []struct {
		args   string
		status int
		whole  bool
	}{
		{"--exit-code 3", 3, true},
		{"--_exit", 0, false},
		{"--abort", 128 + 6, false},
		{"--signal 15", 128 + 15, false},
		{"--crash", 128 + 11, false},
	} {
		t.Run(c.args, func(t *testing.T) {
			t.Parallel()
			arm64, _ := machines(t)
			r := arm64.record(t, arm64.gpu.Env(fakegpu.CUPTI13), nil, arm64.gpu.Workload, strings.Fields(c.args)...)
			if whole := r.summary.Verdict == timeline.Complete && r.summary.Events["kernel"] > 0; r.status != c.status || whole != c.whole {
				t.Errorf("status %d, want %d; %v; %s", r.status, c.status, r.summary.Events, r.summary.Verdict)
			}
		})
	}
}

// TestProgramsOwnProfiler has the calls of a program's profiler caught in its import
// table, which is laid out by the architecture's rules: the profiler gets what it gets
// alone, and the trace has everything.
func TestProgramsOwnProfiler(t *testing.T) {
	for _, c := range []struct{ name, library, args string }{
		{"bound when loaded", fakegpu.KinetoNow, ""},
		{"bound at the first call", fakegpu.KinetoLazy, "--lazy"},
		{"called through the table", fakegpu.KinetoNoPLT, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			arm64, _ := machines(t)
			type profiled struct {
				Launches uint64           `json:"launches"`
				Sessions []map[string]int `json:"sessions"`
			}
			var want, got profiled
			dir, env := t.TempDir(), arm64.gpu.Env(fakegpu.CUPTI13)
			args := func(counts string) []string {
				return append([]string{"--kineto", filepath.Join(arm64.gpu.Dir, c.library), "--sessions", "2", "--counts", counts}, strings.Fields(c.args)...)
			}
			alone, recorded := filepath.Join(dir, "alone.json"), filepath.Join(dir, "recorded.json")
			if status, out := start(t, env, arm64.command(arm64.gpu.Kineto, args(alone)...)); status != 0 || out != "" {
				t.Fatalf("alone: status %d, %q", status, out)
			}
			r := arm64.record(t, env, nil, arm64.gpu.Kineto, args(recorded)...)
			readJSON(t, alone, &want)
			readJSON(t, recorded, &got)
			for i, w := range want.Sessions {
				for _, k := range []string{"kernels", "watched", "copies", "sets", "runtime", "driver", "externals", "unexpected", "unfinished", "outside", "unordered", "dropped"} {
					if g := got.Sessions[i][k]; g != w[k] {
						t.Errorf("session %d got %d %s, alone %d", i, g, k, w[k])
					}
				}
			}
			rec := r.summary.Completeness
			if r.status != 0 || r.summary.Events["kernel"] != got.Launches || got.Launches == 0 || rec.Verdict != timeline.Complete || rec.Noted["program_profiler_sessions"] != 2 {
				t.Errorf("status %d, %v of %d launches; %s, noted %v, %q", r.status, r.summary.Events, got.Launches, rec.Verdict, rec.Noted, rec.Diagnoses)
			}
		})
	}
}
