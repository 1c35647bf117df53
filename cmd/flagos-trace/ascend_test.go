package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/flagos-ai/flagos-trace/internal/fakegpu"
	"github.com/flagos-ai/flagos-trace/internal/testrig"
	"github.com/flagos-ai/flagos-trace/record"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// ascendCounts is what the workload for Ascend says it did.
type ascendCounts struct {
	counted
	collectives, externals uint64
}

// recordAscend records the workload on the look-alike of Ascend's runtime.
func recordAscend(t *testing.T, m fakegpu.MSPTI, env, flags []string, args ...string) (session, record.TraceSummary, ascendCounts) {
	t.Helper()
	gpu := fakegpu.Get(t)
	file := filepath.Join(t.TempDir(), "counts.json")
	command := append([]string{gpu.Ascend(), "--print", "--counts", file}, args...)
	s := recordQuirk(t, gpu, fakegpu.NoCUPTI, append(gpu.AscendEnv(m), env...), append([]string{"--vendor", "ascend"}, flags...), command...)
	if want := "workload: this line is for stderr\n"; s.stderr != want {
		t.Errorf("stderr %q", s.stderr)
	}
	n := ascendCounts{counted: readCounts(t, file)}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	n.collectives, n.externals = gjson.GetBytes(data, "collectives").Uint(), gjson.GetBytes(data, "externals").Uint()
	return s, s.only(t), n
}

// diagnosed reports whether a text stands among what a trace's completeness says.
func diagnosed(c *timeline.Completeness, text string) bool {
	return slices.ContainsFunc(c.Diagnoses, func(d string) bool { return strings.Contains(d, text) })
}

// A program on Ascend, from the command line to a trace that is valid: what the library
// tells, in the words of that vendor's traces, and nothing else.
func TestAscend(t *testing.T) {
	s, tr, n := recordAscend(t, fakegpu.MSPTINow, nil, nil, "--exit-code", "3")
	if s.status != 3 || s.stdout != "workload: this line is for stdout\n" {
		t.Errorf("status %d, stdout %q", s.status, s.stdout)
	}
	c := tr.Completeness
	if want := n.kernels() + n.collectives; tr.Events["kernel"] != want {
		t.Errorf("%d kernels, want %d", tr.Events["kernel"], want)
	}
	if c.Tracer != "ascend" || c.Clock.Source != "realtime" || c.Flushed == nil || !*c.Flushed || c.Layout != "verified" {
		t.Errorf("%+v", c)
	}
	// Copies were wanted and not had: that is said. What the library never has is not.
	if !slices.Equal(c.Missing, []string{"memcpy_refused", "memset_refused"}) || c.Verdict != timeline.Incomplete || !diagnosed(c, "only if it is preloaded") {
		t.Errorf("missing %q, %s, %q", c.Missing, c.Verdict, c.Diagnoses)
	}
	if c.Unlinked["kernel"] != 0 || c.Noted["device_work_before_its_call"] != 0 {
		t.Errorf("unlinked %v, noted %v", c.Unlinked, c.Noted)
	}
	byCat := s.events(t, tr.File)
	for cat, want := range map[string]bool{"kernel": true, "privateuse1_runtime": true, "privateuse1_driver": true, "ac2g": true, "gpu_memcpy": false, "cuda_runtime": false} {
		if (len(byCat[cat]) > 0) != want {
			t.Errorf("%d events of category %s", len(byCat[cat]), cat)
		}
	}
	collectives := 0
	for _, k := range byCat["kernel"] {
		for _, absent := range []string{"grid", "block", "registers per thread", "shared memory", "context", "queued", "est. achieved occupancy %"} {
			if k.args.Get(gjsonKey(absent)).Exists() {
				t.Fatalf("%s has %q: %s", k.name, absent, k.args.Raw)
			}
		}
		if !k.args.Get("device").Exists() || !k.args.Get("stream").Exists() || !k.args.Get("correlation").Exists() {
			t.Fatalf("%s: %s", k.name, k.args.Raw)
		}
		switch strings.HasPrefix(k.name, "hcom_") {
		case true:
			collectives++
			if a := k.args; a.Get("commName").Str != "hccl_world_group" || a.Get("algType").Str == "" || a.Get("dataType").Str != "FP16" || a.Get("count").Int() != 1<<19 {
				t.Errorf("%s: %s", k.name, a.Raw)
			}
		default:
			if !strings.HasPrefix(k.args.Get("type").Str, "KERNEL_") {
				t.Errorf("%s: %s", k.name, k.args.Raw)
			}
		}
	}
	if uint64(collectives) != n.collectives {
		t.Errorf("%d collectives, want %d", collectives, n.collectives)
	}
	// An arrow leaves from the call that launches, whatever lies around it or after it.
	type point struct {
		tid string
		at  int64
	}
	starts := map[point]bool{}
	for _, f := range byCat["ac2g"] {
		if f.ph == "s" {
			starts[point{f.tid, f.start}] = true
		}
	}
	for _, call := range slices.Concat(byCat["privateuse1_runtime"], byCat["privateuse1_driver"]) {
		if call.args.Get("cbid").Exists() {
			t.Fatalf("%s has a callback id", call.name)
		}
		launches := call.name == "aclrtLaunchKernel" || call.name == "NnopbaseExecuteKernel" || call.name == "HcclAllReduce"
		if starts[point{call.tid, call.start}] && !launches && call.name != "aclnnMatmul" && call.name != "rtKernelLaunchWithHandle" {
			t.Errorf("an arrow leaves from %s", call.name)
		}
		if call.name == "aclrtSynchronizeStream" && call.args.Get("correlation").Exists() {
			t.Fatalf("a wait has the id of the launch before it: %s", call.args.Raw)
		}
	}
	label := false
	for _, m := range byCat[""] {
		label = label || m.name == "process_labels" && m.args.Get("labels").Str == "NPU 0"
	}
	if !label {
		t.Error("no process is labelled NPU 0")
	}
	validates(t, filepath.Join(s.dir, tr.File))
}

// gjsonKey escapes what gjson takes for a path.
func gjsonKey(k string) string { return strings.NewReplacer(".", `\.`).Replace(k) }

// validates runs the validate command on a trace.
func validates(t *testing.T, path string) {
	t.Helper()
	// Records that the library refused are missed: that is all. What it does not tell is
	// not applicable.
	cmd := exec.Command(filepath.Join(testrig.Programs(t), "flagos-trace"), "validate", "--fail-on", "error", path)
	out, err := cmd.CombinedOutput()
	known := strings.Count(string(out), "warning data-dropped:")
	if err != nil || strings.Count(string(out), "warning ") != known {
		t.Errorf("validate: %v\n%s", err, out)
	}
}

// With the library preloaded copies are recorded: as spans of the host, on rows of their
// own, without a bandwidth. A program that the command starts has only ours before it.
func TestAscendPreloaded(t *testing.T) {
	s, tr, n := recordAscend(t, fakegpu.MSPTINow, nil, []string{"--preload"}, "--child")
	c := tr.Completeness
	if tr.Events["memcpy"] != n.Memcpys || tr.Events["memset"] != n.Memsets || len(c.Missing) != 0 || c.Verdict != timeline.Complete {
		t.Errorf("%v, want %+v; missing %q, %s, %q", tr.Events, n, c.Missing, c.Verdict, c.Diagnoses)
	}
	if !strings.HasSuffix(s.stdout, "/libflagos_trace_preload.so") {
		t.Errorf("a child has LD_PRELOAD %q", s.stdout)
	}
	byCat := s.events(t, tr.File)
	kernelRows := map[string]bool{}
	for _, k := range byCat["kernel"] {
		kernelRows[k.tid] = true
	}
	for _, m := range slices.Concat(byCat["gpu_memcpy"], byCat["gpu_memset"]) {
		a := m.args
		if kernelRows[m.tid] || a.Get("timed by").Str != "host call" || a.Get("memory bandwidth (GB/s)").Exists() || a.Get("bytes").Int() == 0 {
			t.Fatalf("%s on row %s: %s", m.name, m.tid, a.Raw)
		}
		if strings.Contains(m.name, "DtoH") && a.Get("stream").Exists() {
			t.Errorf("a synchronous copy has a stream: %s", a.Raw)
		}
	}
	validates(t, filepath.Join(s.dir, tr.File))
}

// Other libraries and odd ones: what is missing is said, what is there is right.
func TestAscendQuirks(t *testing.T) {
	for _, c := range []struct {
		what  string
		m     fakegpu.MSPTI
		env   []string
		flags []string
		args  []string
		check func(tr record.TraceSummary, n ascendCounts) bool
	}{
		{"CANN 8.0", fakegpu.MSPTIOld, nil, nil, nil, func(tr record.TraceSummary, n ascendCounts) bool {
			return tr.Events["kernel"] >= n.kernels() && tr.Events["runtime"] > 0 && tr.Events["driver"] == 0 && diagnosed(tr.Completeness, "it has no external ids") &&
				!slices.Contains(tr.Completeness.Missing, "driver_refused")
		}},
		{"shifted fields", fakegpu.MSPTINow, []string{"FAKEMSPTI_LAYOUT=aligned"}, nil, nil, func(tr record.TraceSummary, n ascendCounts) bool {
			return tr.Events["kernel"] == n.collectives && tr.Completeness.Layout == "mismatch" && tr.Completeness.Verdict == timeline.Incomplete &&
				diagnosed(tr.Completeness, "layout mismatch: records of activity kind 2, 10, 11, 12 of this libmspti")
		}},
		{"late records", fakegpu.MSPTINow, []string{"FAKEMSPTI_DEVICE_DELAY_MS=60000"}, nil, nil, func(tr record.TraceSummary, n ascendCounts) bool {
			return tr.Events["kernel"] == n.kernels()+n.collectives
		}},
		{"another subscriber", fakegpu.MSPTINow, []string{"FAKEMSPTI_SUBSCRIBED=1"}, nil, nil, func(tr record.TraceSummary, n ascendCounts) bool {
			return tr.Events["kernel"] == 0 && tr.Completeness.Ended == timeline.EndUnavailable && diagnosed(tr.Completeness, "msprof, torch_npu.profiler")
		}},
		{"devices of a container", fakegpu.MSPTINow, []string{"ASCEND_RT_VISIBLE_DEVICES=5,3"}, nil, nil, func(tr record.TraceSummary, n ascendCounts) bool {
			return tr.Events["kernel"] == n.kernels()+n.collectives && !diagnosed(tr.Completeness, "name devices") && len(tr.Devices) == 1 && tr.Devices[0].Device == 0
		}},
		{"a flush that blocks", fakegpu.MSPTINow, []string{"FAKEMSPTI_FLUSH_BLOCK=forever", "FLAGOS_TRACE_EXIT_TIMEOUT_MS=700"}, nil, nil, func(tr record.TraceSummary, n ascendCounts) bool {
			return tr.Completeness.Flushed != nil && !*tr.Completeness.Flushed && diagnosed(tr.Completeness, "did not come back within")
		}},
		{"ranges", fakegpu.MSPTINow, nil, []string{"--nvtx"}, nil, func(tr record.TraceSummary, n ascendCounts) bool {
			return tr.Events["host"] == 20 // five steps in each of two threads, with a range and a mark
		}},
		{"external ids", fakegpu.MSPTINow, nil, nil, []string{"--threads", "1", "--agent", "AGENT"}, func(tr record.TraceSummary, n ascendCounts) bool {
			// One for each id pushed: with an id left on the stack, later launches would have one, too.
			return n.externals > 0 && tr.Completeness.Received["external_correlation"] == n.externals
		}},
	} {
		t.Run(c.what, func(t *testing.T) {
			for i, a := range c.args {
				if a == "AGENT" {
					c.args[i] = filepath.Join(testrig.Programs(t), "libflagos_trace.so")
				}
			}
			_, tr, n := recordAscend(t, c.m, c.env, c.flags, c.args...)
			if !c.check(tr, n) {
				t.Errorf("%v of %+v; %+v", tr.Events, n, tr.Completeness)
			}
		})
	}
}

// What cannot be is refused before the command starts.
func TestVendorRefused(t *testing.T) {
	bin := filepath.Join(testrig.Programs(t), "flagos-trace")
	for _, c := range []struct {
		args   []string
		status int
		text   string
	}{
		{[]string{"--vendor", "abacus"}, 2, `no tracer for this vendor: "abacus"; there are: auto, cupti, ascend`},
		{[]string{"--vendor", "cuda", "--preload"}, 125, "none of the libraries of the devices here (cupti) needs it"},
		{[]string{"--vendor", "ascend", "--preload"}, 125, "libmspti.so was not found; set ASCEND_HOME_PATH"},
		{[]string{"--vendor", "enflame"}, 2, "Enflame: its library"},
		{[]string{"--runtime-category", "kernel"}, 2, "readers take it for events of kind kernel; choose one of Runtime, cuda_runtime"},
		{[]string{"--runtime-category", "foo"}, 2, "readers do not know it"},
	} {
		cmd := exec.Command(bin, append(append([]string{"record", "-o", "t.json"}, c.args...), "--", "sh", "-c", "echo started")...)
		cmd.Dir = t.TempDir()
		cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
		out, _ := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != c.status || !strings.Contains(string(out), c.text) || strings.Contains(string(out), "started") {
			t.Errorf("%v: status %d\n%s", c.args, cmd.ProcessState.ExitCode(), out)
		}
	}
}
