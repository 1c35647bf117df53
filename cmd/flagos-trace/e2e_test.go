package main

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/cmd/flagos-trace/internal/tracecheck"
	"github.com/flagos-ai/flagos-trace/internal/fakegpu"
	"github.com/flagos-ai/flagos-trace/internal/testrig"
	"github.com/flagos-ai/flagos-trace/internal/unpack"
	"github.com/flagos-ai/flagos-trace/record"
	"github.com/flagos-ai/flagos-trace/timeline"
)

func TestMain(m *testing.M) { os.Exit(testrig.Run(m)) }

// session is one recording of a program on the look-alike GPU.
type session struct {
	status  int
	stdout  string
	stderr  string
	summary record.Summary
	dir     string
}

// recordFake records a command in a fresh folder, with libcupti 13.
func recordFake(t *testing.T, gpu fakegpu.Paths, flags []string, command ...string) session {
	t.Helper()
	return recordQuirk(t, gpu, fakegpu.CUPTI13, nil, flags, command...)
}

// recordQuirk records a command in a fresh folder, with a build of libcupti and
// with environment variables of its own.
func recordQuirk(t *testing.T, gpu fakegpu.Paths, cupti fakegpu.CUPTI, env, flags []string, command ...string) session {
	t.Helper()
	bin := testrig.Programs(t)
	s := session{dir: t.TempDir()}
	args := append([]string{"record", "-q", "--summary", "summary.json"}, flags...)
	cmd := exec.Command(filepath.Join(bin, "flagos-trace"), append(append(args, "--"), command...)...)
	cmd.Dir = s.dir
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "FLAGOS_") && !strings.HasPrefix(kv, "CUDA_") && !strings.HasPrefix(kv, "FAKE") {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	cmd.Env = append(append(cmd.Env, gpu.Env(cupti)...), env...)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		t.Fatal(err)
	}
	s.status, s.stdout = cmd.ProcessState.ExitCode(), string(out)
	if s.stderr = errs.String(); strings.Contains(s.stderr, "flagos-trace") {
		t.Errorf("stderr: %s", s.stderr)
	}
	data, err := os.ReadFile(filepath.Join(s.dir, "summary.json"))
	if err == nil {
		err = json.Unmarshal(data, &s.summary)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, tr := range s.summary.Traces {
		r := s.read(t, tr.File)
		for _, f := range r.Findings {
			t.Errorf("%s: %s", tr.File, f)
		}
		if n := r.Categories["kernel"]; uint64(n) != tr.Events["kernel"] {
			t.Errorf("%s holds %d kernels, the summary says %d", tr.File, n, tr.Events["kernel"])
		}
	}
	if left, _ := filepath.Glob(filepath.Join(s.dir, ".flagos-trace-*")); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
	return s
}

// text opens a trace of the session; it is closed when the test ends.
func (s *session) text(t *testing.T, name string) io.Reader {
	t.Helper()
	f, err := os.Open(filepath.Join(s.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	text, err := unpack.New(f)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// read checks a trace of the session.
func (s *session) read(t *testing.T, name string) *tracecheck.Report {
	t.Helper()
	r, err := tracecheck.Read(s.text(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// only returns the single trace of a session.
func (s *session) only(t *testing.T) record.TraceSummary {
	t.Helper()
	if len(s.summary.Traces) != 1 {
		t.Fatalf("%d traces: %+v", len(s.summary.Traces), s.summary.Traces)
	}
	return s.summary.Traces[0]
}

// counted is what the workload says it did.
type counted struct {
	Launches     uint64 `json:"launches"`
	GraphKernels uint64 `json:"graph_kernels"`
	Memcpys      uint64 `json:"memcpys"`
	Memsets      uint64 `json:"memsets"`
}

func (c counted) kernels() uint64 { return c.Launches + c.GraphKernels }

func readCounts(t *testing.T, name string) (c counted) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(data, &c)
	}
	if err != nil {
		t.Fatal(err)
	}
	if c.Launches == 0 {
		t.Fatal("the workload did nothing")
	}
	return c
}

// TestEverythingArrives compares the trace with what the workload counted.
func TestEverythingArrives(t *testing.T) {
	gpu := fakegpu.Get(t)
	commands := map[string][]string{
		"one thread":   {gpu.Workload},
		"many threads": {gpu.Workload, "--kernels", "4000", "--threads", "4", "--streams", "3", "--graphs", "5"},
	}
	if python, err := exec.LookPath("python3"); err == nil {
		commands["python"] = []string{python, gpu.WorkloadPy}
	}
	for name, command := range commands {
		t.Run(name, func(t *testing.T) {
			counts := filepath.Join(t.TempDir(), "counts.json")
			s := recordFake(t, gpu, nil, append(command, "--counts", counts)...)
			if s.status != 0 {
				t.Fatalf("status %d", s.status)
			}
			want := readCounts(t, counts)
			tr := s.only(t)
			if tr.Verdict != timeline.Complete || tr.Completeness.Ended != "exit" {
				t.Errorf("completeness: %+v", tr.Completeness)
			}
			if tr.Events["kernel"] != want.kernels() ||
				tr.Events["memcpy"] != want.Memcpys || tr.Events["memset"] != want.Memsets {
				t.Errorf("events %v, want %+v", tr.Events, want)
			}
			if len(tr.Devices) != 1 || tr.Devices[0].BusyNS <= 0 || tr.Devices[0].BusyNS > tr.WindowNS {
				t.Errorf("devices %+v in a window of %d ns", tr.Devices, tr.WindowNS)
			}
		})
	}
}

// TestEnds: whichever way the program ends, its status is kept and the trace
// says what it can vouch for.
func TestEnds(t *testing.T) {
	gpu := fakegpu.Get(t)
	for _, c := range []struct {
		name   string
		flags  []string
		status int
		traces int
		ended  timeline.Ending // of the first trace
	}{
		{"exit status", []string{"--exit-code", "5"}, 5, 1, "exit"},
		{"forked child", []string{"--fork"}, 0, 1, "exit"},
		{"subprocess", []string{"--subprocess"}, 0, 2, "exit"},
		{"killed", []string{"--signal", "9"}, 128 + 9, 1, "cut"},
		{"terminated", []string{"--signal", "15"}, 128 + 15, 1, "cut"},
		{"aborted", []string{"--abort"}, 128 + 6, 1, "cut"},
		{"_exit", []string{"--_exit"}, 0, 1, "cut"},
		{"no device used", []string{"--no-cuda"}, 0, 1, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := recordFake(t, gpu, nil, append([]string{gpu.Workload}, c.flags...)...)
			if s.status != c.status {
				t.Errorf("status %d, want %d", s.status, c.status)
			}
			if len(s.summary.Traces) != c.traces {
				t.Fatalf("%d traces, want %d", len(s.summary.Traces), c.traces)
			}
			if got := s.summary.Traces[0].Completeness.Ended; got != c.ended {
				t.Errorf("ended %q, want %q", got, c.ended)
			}
		})
	}
}

// TestOutputUntouched: with and without the recorder the program prints the same.
func TestOutputUntouched(t *testing.T) {
	gpu := fakegpu.Get(t)
	alone := exec.Command(gpu.Workload, "--print")
	alone.Env = append(os.Environ(), gpu.Env(fakegpu.CUPTI13)...)
	var stderr strings.Builder
	alone.Stderr = &stderr
	stdout, err := alone.Output()
	if err != nil {
		t.Fatal(err)
	}
	if len(stdout) == 0 || stderr.Len() == 0 {
		t.Fatal("the workload prints nothing")
	}
	s := recordFake(t, gpu, nil, gpu.Workload, "--print")
	if s.stdout != string(stdout) {
		t.Errorf("stdout %q, want %q", s.stdout, stdout)
	}
	if s.stderr != stderr.String() {
		t.Errorf("stderr %q, want %q", s.stderr, stderr.String())
	}
}

// TestLevels: each level of API recording holds at least what the one below it
// does, and the device's work is the same in all.
func TestLevels(t *testing.T) {
	gpu := fakegpu.Get(t)
	var calls, kernels []uint64
	for _, level := range []string{"minimal", "kineto", "all"} {
		tr := func() record.TraceSummary {
			s := recordFake(t, gpu, []string{"--api", level, "-o", level + ".json"}, gpu.Workload)
			return s.only(t)
		}()
		calls = append(calls, tr.Events["runtime"]+tr.Events["driver"])
		kernels = append(kernels, tr.Events["kernel"])
	}
	if calls[0] == 0 || calls[0] > calls[1] || calls[1] > calls[2] || calls[0] == calls[2] {
		t.Errorf("API calls by level: %v", calls)
	}
	if kernels[0] == 0 || kernels[0] != kernels[1] || kernels[1] != kernels[2] {
		t.Errorf("kernels by level: %v", kernels)
	}
}
