package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/flagos-ai/flagos-trace/doctor"
	"github.com/flagos-ai/flagos-trace/internal/fakegpu"
	"github.com/flagos-ai/flagos-trace/internal/testrig"
)

var probe struct {
	sync.Once
	err error
}

// buildProbe makes the program that doctor runs, beside the tool.
func buildProbe(dir string) error {
	probe.Do(func() { probe.err = compileProbe(dir) })
	return probe.err
}

func compileProbe(dir string) error {
	cmd := exec.Command("gcc", "-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-o", filepath.Join(dir, "flagos-trace-probe"), "../flagos-trace-probe/probe.c", "-ldl")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%v: %w\n%s", cmd.Args, err, out)
	}
	return nil
}

// examine runs doctor --json with a library path and more of the environment.
func examine(t *testing.T, libraries string, env []string, flags ...string) (*doctor.Report, int) {
	t.Helper()
	bin := testrig.Programs(t)
	if err := buildProbe(bin); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(bin, "flagos-trace"), append([]string{"doctor", "--json"}, flags...)...)
	cmd.Dir = t.TempDir()
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		switch {
		case strings.HasPrefix(name, "FLAGOS_"), strings.HasPrefix(name, "CUDA_"), strings.HasPrefix(name, "FAKE"), name == "LD_LIBRARY_PATH":
		default:
			cmd.Env = append(cmd.Env, kv)
		}
	}
	// A folder of temporary files that is empty now should be so afterwards.
	tmp := t.TempDir()
	cmd.Env = append(append(cmd.Env, "LD_LIBRARY_PATH="+libraries, "TMPDIR="+tmp), env...)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		t.Fatal(err)
	}
	if errs.Len() > 0 {
		t.Errorf("stderr: %s", errs.String())
	}
	if left, _ := os.ReadDir(tmp); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
	r := new(doctor.Report)
	if err := json.Unmarshal(out, r); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return r, cmd.ProcessState.ExitCode()
}

// TestDoctor examines machines with look-alike libraries. The fixes are looked
// for by words that only one reason has.
func TestDoctor(t *testing.T) {
	gpu := fakegpu.Get(t)
	lib := func(c fakegpu.CUPTI) string { return gpu.LibraryPath(c) }
	for _, c := range []struct {
		name      string
		libraries string
		env       []string
		flags     []string
		status    int
		id        string // a finding, its status, and a part of its fix or of what was seen
		want      doctor.Status
		text      string
	}{
		{"CUPTI 13", lib(fakegpu.CUPTI13), nil, nil, 0, "probe.library", doctor.OK, "libcupti.so.13 is used (loader search), API version 130001"},
		{"CUPTI 13, records", lib(fakegpu.CUPTI13), nil, nil, 0, "probe.records", doctor.OK, "2 memcpy, 1 memset"},
		{"CUPTI 12", lib(fakegpu.CUPTI12), nil, nil, 0, "probe.library", doctor.OK, "libcupti.so.12 is used (loader search), API version 26"},
		{"CUPTI 13, few functions", lib(fakegpu.CUPTI13Minimal), nil, nil, 0, "probe.records", doctor.OK, "2 memcpy, 1 memset"},
		{"no CUPTI", lib(fakegpu.NoCUPTI), nil, nil, 1, "probe.library", doctor.Fail, "nvidia-cuda-cupti<13.1"},
		{"no CUPTI, old driver", lib(fakegpu.NoCUPTI), []string{"FAKEGPU_DRIVER_VERSION=12080"}, nil, 1, "probe.library", doctor.Fail, "nvidia-cuda-cupti-cu12<12.9"},
		{"unusable", lib(fakegpu.CUPTI13Unusable), nil, nil, 1, "probe.library", doctor.Fail, "install the CUPTI"},
		{"unusable, another there", lib(fakegpu.CUPTI13Unusable) + ":" + filepath.Join(gpu.Dir, string(fakegpu.CUPTI12)), nil, nil, 1,
			"probe.library", doctor.Fail, "FLAGOS_CUPTI_LIBRARY=" + filepath.Join(gpu.Dir, "cupti12/libcupti.so.12")},
		{"newer than the driver", lib(fakegpu.CUPTI13), []string{"FAKECUPTI_FAIL=*=15"}, nil, 1, "probe.library", doctor.Fail, "update the driver"},
		{"not permitted", lib(fakegpu.CUPTI13), []string{"FAKECUPTI_FAIL=*=35"}, nil, 1, "probe.permission", doctor.Fail, "NVreg_RestrictProfilingToAdminUsers"},
		{"other client", lib(fakegpu.CUPTI13), []string{"FAKECUPTI_FAIL=*=39"}, nil, 1, "probe.other", doctor.Fail, "without that profiler"},
		{"unsupported device", lib(fakegpu.CUPTI13), []string{"FAKECUPTI_SUPPORTED=0"}, nil, 1, "probe.device", doctor.Fail, "newest CUDA"},
		{"layout", lib(fakegpu.CUPTI13), []string{"FAKECUPTI_SIZES=1=120"}, nil, 1, "probe.layout", doctor.Fail, "unchanged libcupti"},
		{"another clock", lib(fakegpu.CUPTI13), []string{"FAKECUPTI_CLOCK=monotonic"}, nil, 0, "probe.clock", doctor.OK, "mapped"},
		{"flush hangs", lib(fakegpu.CUPTI13), []string{"FAKECUPTI_FLUSH_BLOCK=forever", "FLAGOS_TRACE_EXIT_TIMEOUT_MS=500"}, nil, 1, "probe.records", doctor.Fail, "FLAGOS_TRACE_EXIT_TIMEOUT_MS"},
		{"clock of another profiler", lib(fakegpu.CUPTI13), []string{"FAKECUPTI_CLOCK=tsc"}, nil, 0, "probe.diagnosis", doctor.Warn, "without that profiler"},
		{"newer version", lib(fakegpu.CUPTI13), []string{"FAKECUPTI_VERSION=130500"}, nil, 0, "probe.layout", doctor.OK, "learned"},
		{"dropped", lib(fakegpu.CUPTI13), []string{"FAKECUPTI_DROP_EVERY=5"}, nil, 0, "probe.losses", doctor.Warn, "another libcupti"},
		{"no device", lib(fakegpu.CUPTI13), []string{"FAKEGPU_DEVICES=0", "CUDA_VISIBLE_DEVICES=7"}, nil, 1, "probe.alone", doctor.Fail, "unset CUDA_VISIBLE_DEVICES"},
		{"not injected", lib(fakegpu.CUPTI13), []string{"FAKEGPU_NO_INJECTION=1"}, nil, 1, "probe.recording", doctor.Fail, "NVIDIA's own driver"},
		{"slot taken", lib(fakegpu.CUPTI13), []string{"CUDA_INJECTION64_PATH=" + gpu.DumpInject}, nil, 1, "env.injection", doctor.Fail, "--chain"},
		{"slot shared", lib(fakegpu.CUPTI13), []string{"CUDA_INJECTION64_PATH=" + gpu.DumpInject}, []string{"--chain"}, 0, "env.injection", doctor.Warn, "unset"},
		{"named library", lib(fakegpu.CUPTI13), []string{"FLAGOS_CUPTI_LIBRARY=" + filepath.Join(gpu.Dir, "cupti12/libcupti.so.12")}, nil, 0,
			"probe.library", doctor.OK, "(FLAGOS_CUPTI_LIBRARY), API version 26"},
		{"device left alone", lib(fakegpu.CUPTI13), nil, []string{"--no-probe"}, 0, "probe.alone", doctor.Skip, "--no-probe"},
		{"output", lib(fakegpu.CUPTI13), nil, []string{"--no-probe", "-o", "missing/trace.json"}, 1, "output", doctor.Fail, "mkdir -p"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, status := examine(t, c.libraries, append(c.env, "PATH=/usr/bin:/bin"), c.flags...)
			if status != c.status || (r.Verdict == doctor.Fail) != (status == 1) {
				t.Errorf("status %d with verdict %s, want %d", status, r.Verdict, c.status)
			}
			found := false
			for _, f := range r.Findings {
				if f.ID == c.id {
					found = true
					text := f.Fix
					if text == "" {
						text = f.Seen
					}
					if f.Status != c.want || !strings.Contains(text, c.text) {
						t.Errorf("%+v, want %s with %q", f, c.want, c.text)
					}
				}
				if t.Failed() && f.Status != doctor.OK {
					t.Logf("%+v", f)
				}
			}
			if !found {
				t.Errorf("no finding %s among %+v", c.id, r.Findings)
			}
		})
	}
}

// TestDoctorTorch: where torch brings its own libcupti, it is that which counts.
func TestDoctorTorch(t *testing.T) {
	gpu := fakegpu.Get(t)
	dir := t.TempDir()
	lib := filepath.Join(dir, "nvidia/cu13/lib/libcupti.so.13")
	data, err := os.ReadFile(filepath.Join(gpu.Dir, "cupti13/libcupti.so.13"))
	if err == nil {
		err = os.MkdirAll(filepath.Dir(lib), 0o755)
	}
	if err == nil {
		err = os.WriteFile(lib, data, 0o755)
	}
	answer := fmt.Sprintf(`{"executable":"p","version":"3.12.0","prefix":"/none","path":[%q],"dists":{"torch":"2.9.0"},"torch_dir":%q,"torch_cuda":"13.0"}`, dir, filepath.Join(dir, "torch"))
	python := filepath.Join(dir, "python")
	if err == nil {
		err = os.WriteFile(python, []byte("#!/bin/sh\ncat <<'END'\nflagos-trace-doctor "+answer+"\nEND\n"), 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	r, status := examine(t, gpu.LibraryPath(fakegpu.NoCUPTI), nil, "--python", python)
	got := map[string]doctor.Finding{}
	for _, f := range r.Findings {
		got[f.ID] = f
	}
	if status != 0 || r.Verdict != doctor.Warn || len(r.Recordings) != 2 {
		t.Errorf("status %d, verdict %s, %d recordings", status, r.Verdict, len(r.Recordings))
	}
	if f := got["probe.torch.library"]; f.Status != doctor.OK || !strings.Contains(f.Seen, lib+" is used (already loaded)") {
		t.Errorf("%+v", f)
	}
	if f := got["probe.library"]; f.Status != doctor.Warn || f.Fix != "export FLAGOS_CUPTI_LIBRARY="+lib {
		t.Errorf("%+v", f)
	}
}

// TestProbe: the probe says where it is, ends by itself, and tells apart what
// goes wrong.
func TestProbe(t *testing.T) {
	gpu := fakegpu.Get(t)
	bin := testrig.Programs(t)
	if err := buildProbe(bin); err != nil {
		t.Fatal(err)
	}
	// A driver that never comes back.
	hangs := t.TempDir()
	source := filepath.Join(hangs, "hang.c")
	if err := os.WriteFile(source, []byte("#include <unistd.h>\nint cuInit(unsigned f) { for (;;) pause(); }\nint cuDriverGetVersion(int *v) { *v = 12080; return 0; }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("gcc", "-shared", "-fPIC", "-o", filepath.Join(hangs, "libcuda.so.1"), source)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	fake := gpu.LibraryPath(fakegpu.NoCUPTI)
	for _, c := range []struct {
		name, libraries string
		env             string
		args            []string
		status          int // -1: a signal
		want            string
	}{
		{"works", fake, "", nil, 0, "\ndone\tmemset 1\tmemcpy 2\n"},
		{"hangs", hangs, "", []string{"--seconds", "1"}, -1, "step\tcuInit\n"},
		{"call fails", fake, "FAKEGPU_INIT_RESULT=3", nil, 4, "error\tcuInit\t3\tCUDA_ERROR_NOT_INITIALIZED\t"},
		{"no such library", fake, "", []string{"--load", "/none.so"}, 5, "unloadable\t/none.so\t"},
		{"checked only", "", "", []string{"--check", filepath.Join(bin, "libflagos_trace.so")}, 0, "loaded\t"},
		{"usage", fake, "", []string{"--seconds", "soon"}, 2, ""},
	} {
		cmd := exec.Command(filepath.Join(bin, "flagos-trace-probe"), c.args...)
		cmd.Env = []string{"LD_LIBRARY_PATH=" + c.libraries, c.env}
		out, _ := cmd.Output()
		if got := cmd.ProcessState.ExitCode(); got != c.status || !strings.Contains(string(out), c.want) {
			t.Errorf("%s: status %d, want %d\n%s", c.name, got, c.status, out)
		}
		if c.status == -1 && !strings.HasSuffix(string(out), c.want) {
			t.Errorf("%s: it was not there that it hung: %s", c.name, out)
		}
	}
}

func TestDoctorText(t *testing.T) {
	var out, errs strings.Builder
	status := run([]string{"doctor", "--no-probe"}, &out, &errs)
	// The test binary has no agent beside it.
	if status != exitFinding || !strings.Contains(out.String(), "\nverdict: fail: ") || errs.Len() > 0 {
		t.Errorf("status %d\n%s%s", status, out.String(), errs.String())
	}
	if status := run([]string{"doctor", "now"}, &out, &errs); status != exitUsage {
		t.Errorf("status %d for an argument", status)
	}
}
