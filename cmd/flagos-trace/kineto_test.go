package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/internal/fakegpu"
	"github.com/flagos-ai/flagos-trace/internal/testrig"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// profiled is what a program that profiles itself says.
type profiled struct {
	Launches uint64           `json:"launches"`
	Others   uint64           `json:"others"`
	Sessions []map[string]int `json:"sessions"`
}

func readProfiled(t *testing.T, file string) (p profiled) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, &p)
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// alone runs such a program without a recorder.
func alone(t *testing.T, gpu fakegpu.Paths, env []string, command ...string) profiled {
	t.Helper()
	file := filepath.Join(t.TempDir(), "alone.json")
	cmd := exec.Command(command[0], append(command[1:], "--counts", file)...)
	cmd.Env = append(append(os.Environ(), gpu.Env(fakegpu.CUPTI13)...), env...)
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
	return readProfiled(t, file)
}

// Counts that depend on nothing but the program's own launches, and those that
// depend on other threads of it as well.
var (
	steadyCounts = []string{"watched", "copies", "sets", "externals", "unexpected", "unfinished", "unordered", "dropped"}
	quietCounts  = []string{"kernels", "runtime", "driver", "outside"}
)

// TestProgramsOwnProfiler records programs that profile themselves: their sessions
// get what they get without a recorder, and the trace has everything.
func TestProgramsOwnProfiler(t *testing.T) {
	gpu := fakegpu.Get(t)
	const whole = 0
	for _, c := range []struct {
		name    string
		library string
		args    string
		flags   string
		env     string
		kernels uint64 // in the trace; whole for all
		note    bool   // the session is noted in the trace
	}{
		{"device", fakegpu.KinetoNow, "--sessions 2", "", "", whole, true},
		{"bound at the first call", fakegpu.KinetoLazy, "--sessions 2 --lazy", "", "", whole, true},
		{"called through the table", fakegpu.KinetoNoPLT, "--sessions 2", "", "", whole, true},
		{"calls only", fakegpu.KinetoNow, "--sessions 2 --device 0", "", "", whole, true},
		{"both in turn", fakegpu.KinetoNow, "--sessions 6 --device 2 --between-ms 20", "", "", whole, true},
		{"before the device is used", fakegpu.KinetoNow, "--early --sessions 2", "", "", whole, true},
		{"before the device is used, lazily bound, calls only", fakegpu.KinetoLazy, "--early --lazy --device 0", "", "", whole, true},
		{"loaded when the device is in use", fakegpu.KinetoNow, "--late --before-ms 1300 --sessions 2", "", "", whole, true},
		{"longer than a second", fakegpu.KinetoNow, "--last-ms 1500", "", "", whole, true},
		{"its clock set slowly", fakegpu.KinetoNow, "--sessions 2 --last-ms 1500", "", "FAKECUPTI_CLOCK_SLOW=1200", whole, true},
		{"many records", fakegpu.KinetoNow, "--launches 9000", "", "", whole, true},
		{"short buffers", fakegpu.KinetoNow, "--launches 4000 --sessions 2", "", "FLAGOS_TRACE_BUFFER_SIZE=65536 FLAGOS_TRACE_BUFFERS=400", whole, true},
		{"beside launching threads", fakegpu.KinetoNow, "--threads 3 --sessions 4 --last-ms 30 --between-ms 10", "", "FAKECUPTI_AT_COMPLETION=1", whole, true},
		{"beside a full queue", fakegpu.KinetoNow, "--threads 1 --flood --sessions 4 --last-ms 30", "", "FAKECUPTI_AT_COMPLETION=1 FAKEGPU_KERNEL_NS=80000", whole, true},
		{"few calls recorded", fakegpu.KinetoNow, "--sessions 2", "--api minimal", "", whole, true},
		{"all calls recorded", fakegpu.KinetoNow, "--sessions 2", "--api all", "", whole, true},
		{"buffers of every thread's own", fakegpu.KinetoNow, "--sessions 2 --threads 3 --last-ms 20", "", "FLAGOS_TRACE_PER_THREAD=1 FAKECUPTI_AT_COMPLETION=1", whole, true},
		{"callbacks under a lock", fakegpu.KinetoNow, "--sessions 3 --threads 2 --last-ms 20", "", "FAKECUPTI_LOCKED_CALLBACKS=1 FAKECUPTI_AT_COMPLETION=1", whole, true},
		{"recording starts in it", fakegpu.KinetoNow, "--last-ms 900", "--delay 400ms", "", 200, true},
		{"recording starts in it, before the device is used", fakegpu.KinetoNow, "--early --last-ms 900", "--delay 400ms", "", 200, true},
		{"recording ends in it", fakegpu.KinetoNow, "--last-ms 900 --sessions 2", "--duration 400ms", "", 200, true},
		{"recording starts and ends in it", fakegpu.KinetoNow, "--last-ms 1200 --sessions 2", "--delay 200ms --duration 500ms", "", 0, true},
		{"recording starts behind it", fakegpu.KinetoNow, "--between-ms 900", "--delay 400ms", "", 100, false},
		{"recording starts behind it, and ends before the next", fakegpu.KinetoNow, "--between-ms 1000 --sessions 2", "--delay 300ms --duration 400ms", "", 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			command := append([]string{gpu.Kineto, "--kineto", filepath.Join(gpu.Dir, c.library)}, strings.Fields(c.args)...)
			env := strings.Fields(c.env)
			want := alone(t, gpu, env, command...)
			file := filepath.Join(t.TempDir(), "counts.json")
			if strings.Contains(c.args, "--early") {
				command = append(command, "--attach", filepath.Join(testrig.Programs(t), "libflagos_trace.so"))
			}
			s := recordQuirk(t, gpu, fakegpu.CUPTI13, env, strings.Fields(c.flags), append(command, "--counts", file)...)
			if s.status != 0 || s.stderr != "" || s.stdout != "" {
				t.Fatalf("status %d, stdout %q, stderr %q", s.status, s.stdout, s.stderr)
			}
			got := readProfiled(t, file)
			counts := steadyCounts
			if !strings.Contains(c.args, "--threads") {
				counts = slices.Concat(counts, quietCounts)
			}
			for i, w := range want.Sessions {
				if strings.Contains(c.args, "--flood") {
					// Alone it loses what is running at its end.
					w["watched"], w["copies"], w["sets"], w["externals"], w["unfinished"] = 200, 2, 2, 200, 0
				}
				for _, k := range counts {
					if g := got.Sessions[i][k]; g != w[k] {
						t.Errorf("session %d got %d %s, alone %d", i, g, k, w[k])
					}
				}
			}
			tr := s.only(t)
			rec := tr.Completeness
			kernels := c.kernels
			if kernels == whole && !strings.Contains(c.flags, "--d") {
				kernels = got.Launches + got.Others
			}
			if tr.Events["kernel"] != kernels || rec.Verdict != timeline.Complete {
				t.Errorf("%d kernels, want %d; %s, missing %v, dropped %v, diagnoses %q", tr.Events["kernel"], kernels, rec.Verdict, rec.Missing, rec.Dropped, rec.Diagnoses)
			}
			if n := rec.Noted["program_profiler_sessions"]; n > 0 != c.note {
				t.Errorf("%d sessions noted", n)
			}
			if kernels > 0 {
				checkOrder(t, &s, tr.File, c.flags == "--api minimal")
			}
		})
	}
}

// checkOrder compares when kernels run with when they were launched: the clocks of
// both are one, whatever the program's profiler did to them.
func checkOrder(t *testing.T, s *session, name string, some bool) {
	t.Helper()
	var trace struct {
		Events []struct {
			Phase    string          `json:"ph"`
			Category string          `json:"cat"`
			TS       float64         `json:"ts"`
			Dur      float64         `json:"dur"`
			Args     json.RawMessage `json:"args"`
		} `json:"traceEvents"`
	}
	if err := json.NewDecoder(s.text(t, name)).Decode(&trace); err != nil {
		t.Fatal(err)
	}
	calls := map[uint64]float64{}
	type kernel struct {
		id uint64
		ts float64
	}
	var kernels []kernel
	for _, e := range trace.Events {
		if e.Phase != "X" || e.Category != "kernel" && e.Category != "cuda_runtime" && e.Category != "cuda_driver" {
			continue
		}
		var args struct {
			Correlation uint64 `json:"correlation"`
		}
		if err := json.Unmarshal(e.Args, &args); err != nil {
			t.Fatal(err)
		}
		if e.Category == "kernel" {
			kernels = append(kernels, kernel{args.Correlation, e.TS})
		} else {
			calls[args.Correlation] = e.TS
		}
	}
	seen := map[uint64]bool{}
	bad := map[string]int{}
	for _, k := range kernels {
		start, ok := calls[k.id]
		switch {
		case !ok:
			bad["without a call"]++
		// On a loaded machine a thread of the look-alike may stand still between two
		// readings of its clock. A clock that was mixed up is off by far more.
		case k.ts < start-100:
			bad[fmt.Sprintf("before its call, by %.0f us", start-k.ts)]++
		}
		if seen[k.id] {
			bad["twice"]++
		}
		seen[k.id] = true
	}
	if len(bad) > 0 {
		t.Errorf("of %d kernels: %v", len(kernels), bad)
	}
}

// TestOwnSessions has the recorder's own sessions of the program's profiler, a hundred
// in a row under a full launch queue: nothing of them reaches the vendor's library.
func TestOwnSessions(t *testing.T) {
	gpu := fakegpu.Get(t)
	lib := filepath.Join(testrig.Programs(t), "libflagos_trace.so")
	file, calls := filepath.Join(t.TempDir(), "counts.json"), filepath.Join(t.TempDir(), "calls")
	for _, args := range []string{"--device 0", "--device 1"} {
		command := append([]string{gpu.Kineto, "--kineto", filepath.Join(gpu.Dir, fakegpu.KinetoNow), "--own", lib, "--sessions", "100",
			"--launches", "20", "--threads", "1", "--flood", "--last-ms", "2", "--counts", file}, strings.Fields(args)...)
		s := recordQuirk(t, gpu, fakegpu.CUPTI13, []string{"FAKEGPU_KERNEL_NS=80000", "FAKECUPTI_LOG=" + calls}, nil, command...)
		if s.status != 0 || s.stderr != "" {
			t.Fatalf("status %d, stderr %q", s.status, s.stderr)
		}
		got := readProfiled(t, file)
		tr := s.only(t)
		if n := tr.Events["kernel"]; n != got.Launches+got.Others || got.Others == 0 || tr.Completeness.Verdict != timeline.Complete {
			t.Errorf("%d kernels, want %d + %d; %s, missing %v, dropped %v, diagnoses %q", n, got.Launches, got.Others,
				tr.Completeness.Verdict, tr.Completeness.Missing, tr.Completeness.Dropped, tr.Completeness.Diagnoses)
		}
		if n := tr.Completeness.Repaired["incomplete"]; n != 0 {
			t.Errorf("%d kernels without an end", n)
		}
		if got := tr.Completeness.Received["external_correlation"]; got < 20*100 {
			t.Errorf("%d external ids", got)
		}
		checkOrder(t, &s, tr.File, false)
		log, err := os.ReadFile(calls)
		if err != nil {
			t.Fatal(err)
		}
		for _, call := range []string{"cuptiActivityRegisterTimestampCallback", "cuptiActivityDisable"} {
			if strings.Contains(string(log), call) {
				t.Errorf("%s reached the library", call)
			}
		}
		if n := strings.Count(string(log), "cuptiActivityFlushAll(1)"); n != 1 {
			t.Errorf("%d forced flushes", n)
		}
		_ = os.Remove(calls)
	}
}
