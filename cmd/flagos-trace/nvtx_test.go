package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/flagos-ai/flagos-trace/internal/fakegpu"
	"github.com/flagos-ai/flagos-trace/record"
)

// traced is an event of a trace file, times in ns.
type traced struct {
	cat, name, ph, pid, tid string
	start, end              int64
	args                    gjson.Result
}

// events reads the events of a trace by category.
func (s *session) events(t *testing.T, name string) map[string][]traced {
	t.Helper()
	text, err := io.ReadAll(s.text(t, name))
	if err != nil {
		t.Fatal(err)
	}
	ns := func(v gjson.Result) int64 { // microseconds with three decimals
		whole, part, _ := strings.Cut(v.Raw, ".")
		n, err := strconv.ParseInt(whole+(part + "000")[:3], 10, 64)
		if err != nil && v.Exists() {
			t.Fatalf("time %s: %v", v.Raw, err)
		}
		return n
	}
	byCategory := map[string][]traced{}
	gjson.GetBytes(text, "traceEvents").ForEach(func(_, e gjson.Result) bool {
		x := traced{e.Get("cat").Str, e.Get("name").Str, e.Get("ph").Str, e.Get("pid").Raw, e.Get("tid").Raw, ns(e.Get("ts")), ns(e.Get("ts")) + ns(e.Get("dur")), e.Get("args")}
		byCategory[x.cat] = append(byCategory[x.cat], x)
		return true
	})
	return byCategory
}

// counts the events of a list by name and domain.
func byName(list []traced) map[string]int {
	n := map[string]int{}
	for _, e := range list {
		key := e.name
		if d := e.args.Get("domain"); d.Exists() {
			key += "@" + d.Str
		}
		n[key]++
	}
	return n
}

// recordNVTX records the workload with its ranges, and without the operators' side.
func recordNVTX(t *testing.T, gpu fakegpu.Paths, cupti fakegpu.CUPTI, env []string, args ...string) (session, record.TraceSummary) {
	t.Helper()
	command := append([]string{gpu.Workload, "--nvtx", "--print", "--kernels", "45", "--threads", "2", "--graphs", "0"}, args...)
	s := recordQuirk(t, gpu, cupti, env, []string{"--nvtx"}, command...)
	const out, errs = "workload: this line is for stdout\n", "workload: this line is for stderr\n"
	if s.stdout != out || s.stderr != errs {
		t.Errorf("stdout %q, stderr %q", s.stdout, s.stderr)
	}
	return s, s.only(t)
}

// What the program told NVTX stands in the trace: 5 steps in each of two threads,
// with a range of a domain and a mark in each, and a range from the first thread to
// the last. What it told before it used the device does not.
func TestNVTX(t *testing.T) {
	gpu := fakegpu.Get(t)
	for _, cupti := range []fakegpu.CUPTI{fakegpu.CUPTI13, fakegpu.CUPTI12} {
		t.Run(string(cupti), func(t *testing.T) {
			s, tr := recordNVTX(t, gpu, cupti, nil, "--counts", "counts.json", "--exit-code", "3")
			if s.status != 3 {
				t.Errorf("status %d", s.status)
			}
			if tr.Verdict != "complete" {
				t.Errorf("verdict %s: %v", tr.Verdict, tr.Completeness)
			}
			all := s.events(t, tr.File)
			ranges := all["user_annotation"]
			want := map[string]int{"step": 10, "even batch@batches": 5, "odd batch@batches": 5, "whole run": 1}
			if got := byName(ranges); !maps.Equal(got, want) {
				t.Errorf("ranges %v, want %v", got, want)
			}
			if got, want := byName(all["cpu_instant_event"]), map[string]int{"loss@batches": 10}; !maps.Equal(got, want) {
				t.Errorf("marks %v, want %v", got, want)
			}
			rows := map[string]map[string]int{} // by row
			for _, e := range ranges {
				if e.args.Get("source").Str != "NVTX" || e.args.Get("External id").Exists() || e.args.Get("finished").Exists() || e.end <= e.start {
					t.Errorf("%+v", e)
				}
				row := e.pid + ":" + e.tid
				if rows[row] == nil {
					rows[row] = map[string]int{}
				}
				rows[row][e.name]++
				if e.name == "whole run" {
					tid := strconv.FormatInt(e.args.Get("ended on thread").Int(), 10)
					if n, _ := strconv.ParseInt(e.tid, 10, 64); n < 10_000_000 || tid == "0" || tid == strconv.FormatInt(n-10_000_000, 10) {
						t.Errorf("a range across threads on row %s, ended on %s", e.tid, tid)
					}
				}
			}
			if len(rows) != 3 {
				t.Errorf("rows %v", rows)
			}
			checkNested(t, ranges)
			checkDevice(t, all)
		})
	}
}

// checkNested: each range of a domain lies in a step of its thread, with all calls
// that launch in between.
func checkNested(t *testing.T, ranges []traced) {
	t.Helper()
	for _, inner := range ranges {
		if !strings.HasSuffix(inner.name, "batch") {
			continue
		}
		if !slices.ContainsFunc(ranges, func(outer traced) bool {
			return outer.name == "step" && outer.tid == inner.tid && outer.start <= inner.start && inner.end <= outer.end
		}) {
			t.Errorf("no step around %+v", inner)
		}
	}
}

// checkDevice works the ranges' spans on the streams out anew, from the calls.
func checkDevice(t *testing.T, all map[string][]traced) {
	t.Helper()
	calls := map[int64]traced{}
	for _, cat := range []string{"cuda_runtime", "cuda_driver"} {
		for _, c := range all[cat] {
			calls[c.args.Get("correlation").Int()] = c
		}
	}
	var want, got []string
	for _, r := range all["user_annotation"] {
		tid, _ := strconv.ParseInt(r.tid, 10, 64)
		spans := map[string][2]int64{}
		for _, cat := range []string{"kernel", "gpu_memcpy", "gpu_memset"} {
			for _, w := range all[cat] {
				c, ok := calls[w.args.Get("correlation").Int()]
				if !ok || c.tid != strconv.FormatInt(tid%10_000_000, 10) || c.start < r.start || c.start > r.end {
					continue
				}
				stream := w.args.Get("stream").Raw
				sp, ok := spans[stream]
				if !ok {
					sp = [2]int64{w.start, w.end}
				}
				spans[stream] = [2]int64{min(sp[0], w.start), max(sp[1], w.end)}
			}
		}
		for stream, sp := range spans {
			want = append(want, fmt.Sprintf("%s on %s", r.name, stream))
			if !slices.ContainsFunc(all["gpu_user_annotation"], func(g traced) bool {
				return g.name == r.name && g.start >= sp[0]-1 && g.start <= sp[0] && g.end >= sp[1] && g.end <= sp[1]+1
			}) {
				t.Errorf("no span of %s on stream %s, %d to %d", r.name, stream, sp[0], sp[1])
			}
		}
	}
	for _, g := range all["gpu_user_annotation"] {
		tid, _ := strconv.ParseInt(g.tid, 10, 64)
		got = append(got, fmt.Sprintf("%s on %d", g.name, tid%10_000_000))
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("spans on streams %v, want %v", got, want)
	}
}

// Without the option, or in a program without NVTX, a recording is what it was.
func TestNVTXNotUsed(t *testing.T) {
	gpu := fakegpu.Get(t)
	for _, c := range []struct {
		name  string
		flags []string
		nvtx  []string
	}{
		{"not asked for", nil, []string{"--nvtx"}},
		{"not in the program", []string{"--nvtx"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := recordFake(t, gpu, c.flags, append([]string{gpu.Workload, "--kernels", "18", "--threads", "1"}, c.nvtx...)...)
			tr := s.only(t)
			all := s.events(t, tr.File)
			if s.status != 0 || tr.Verdict != "complete" || tr.Events["kernel"] != 22 {
				t.Errorf("status %d, %s, %v", s.status, tr.Verdict, tr.Events)
			}
			for _, cat := range []string{"user_annotation", "gpu_user_annotation", "cpu_instant_event"} {
				if n := len(all[cat]); n > 0 {
					t.Errorf("%d events %s", n, cat)
				}
			}
		})
	}
	// A program that never uses the device gives no trace for its ranges alone.
	s := recordFake(t, gpu, []string{"--nvtx"}, gpu.Workload, "--nvtx", "--no-cuda")
	if all := s.events(t, s.only(t).File); s.status != 0 || len(all["user_annotation"]) > 0 {
		t.Errorf("status %d, %v", s.status, all["user_annotation"])
	}
}

// Names that cannot be read, a library that records no marks, and children.
func TestNVTXTrouble(t *testing.T) {
	gpu := fakegpu.Get(t)
	t.Run("wild names", func(t *testing.T) {
		s, tr := recordNVTX(t, gpu, fakegpu.CUPTI13, []string{"FAKECUPTI_WILD_MARKER_EVERY=3"})
		all := s.events(t, tr.File)
		n := byName(all["user_annotation"])
		unnamed := n["(no name)@batches"] + n["(no name)"]
		// Which ones it hits depends on how the threads take turns: at times mostly marks.
		marks := byName(all["cpu_instant_event"])
		hit := unnamed + marks["(no name)@batches"] + marks["(no name)"]
		if total := unnamed + n["step"] + n["even batch@batches"] + n["odd batch@batches"] + n["whole run"]; total != 21 || hit < 5 || tr.Verdict != "complete" {
			t.Errorf("%v, marks %v, verdict %s", n, marks, tr.Verdict)
		}
	})
	for _, c := range []struct {
		name  string
		cupti fakegpu.CUPTI
		env   string
		text  string
	}{
		{"refused", fakegpu.CUPTI13, "FAKECUPTI_FAIL=cuptiActivityEnable(12)=27", "cuptiActivityEnable(12)"},
		{"no function", fakegpu.CUPTI13Minimal, "", "cuptiNvtxInitialize2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			env := []string{"UNUSED=1"}
			if c.env != "" {
				env = []string{c.env}
			}
			_, tr := recordNVTX(t, gpu, c.cupti, env)
			text := strings.Join(tr.Completeness.Missing, "\n") + strings.Join(tr.Completeness.Diagnoses, "\n")
			if tr.Verdict != "incomplete" || !strings.Contains(text, c.text) || !strings.Contains(text, "marker") {
				t.Errorf("verdict %s: %s", tr.Verdict, text)
			}
			if tr.Events["kernel"] != 90 {
				t.Errorf("events %v", tr.Events)
			}
		})
	}
	t.Run("forked child", func(t *testing.T) {
		const reached = "marker-in-forked-child"
		log := filepath.Join(t.TempDir(), "log")
		s, tr := recordNVTX(t, gpu, fakegpu.CUPTI13, []string{"FAKECUPTI_LOG=" + log}, "--fork")
		if n := byName(s.events(t, tr.File)["user_annotation"]); s.status != 0 || n["range of a forked child"] != 0 || n["step"] != 10 {
			t.Errorf("status %d, %v", s.status, n)
		}
		if data, err := os.ReadFile(log); err != nil || strings.Contains(string(data), reached) {
			t.Errorf("the child's ranges reached the parent's library (%v)", err)
		}
		// They do where nobody sees to it.
		alone := filepath.Join(t.TempDir(), "log")
		cmd := exec.Command(gpu.Workload, "--nvtx", "--fork", "--kernels", "9")
		cmd.Env = append(append(os.Environ(), gpu.Env(fakegpu.CUPTI13)...), "FAKECUPTI_LOG="+alone, "FAKEGPU_DUMP_KINDS=12",
			"FAKEGPU_DUMP="+filepath.Join(t.TempDir(), "dump"), "CUDA_INJECTION64_PATH="+gpu.DumpInject,
			"NVTX_INJECTION64_PATH="+filepath.Join(gpu.Dir, string(fakegpu.CUPTI13), "libcupti.so.13"))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if data, err := os.ReadFile(alone); err != nil || !strings.Contains(string(data), reached) {
			t.Errorf("the look-alike says nothing of children (%v)", err)
		}
	})
}
