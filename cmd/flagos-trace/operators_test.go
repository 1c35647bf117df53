package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/flagos-ai/flagos-trace/internal/fakegpu"
	"github.com/flagos-ai/flagos-trace/internal/faketorch"
	"github.com/flagos-ai/flagos-trace/internal/testrig"
	"github.com/flagos-ai/flagos-trace/record"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// deviceSource plays torch's device library on the look-alike GPU: a kernel for
// each operator.
const deviceSource = `
#include <stddef.h>
struct dim3 { unsigned x, y, z; };
int cuInit(unsigned);
void **__cudaRegisterFatBinary(void *);
void __cudaRegisterFunction(void **, const char *, char *, const char *, int, void *, void *, void *, void *, int *);
int cudaLaunchKernel(const void *, struct dim3, struct dim3, void **, size_t, void *);
int cudaFree(void *);
static char stub;
int faketorch_init(void)
{
	__cudaRegisterFunction(__cudaRegisterFatBinary(NULL), &stub, NULL, "_Z6kernelPf", -1, NULL, NULL, NULL, NULL, NULL);
	return cudaFree(NULL);
}
int faketorch_launch(void)
{
	struct dim3 one = {1, 1, 1};
	return cudaLaunchKernel(&stub, one, one, NULL, 0, NULL);
}
`

// torchProgram is a training loop.
const torchProgram = `
import sys, torch
x = torch.ones(4)          # before the device is used
torch.cuda.synchronize()
x = torch.ones(4, device="cuda")
opt = torch.optim.SGD([x])
for step in range(6):
    y = torch.mm(x, x)
    torch.relu(y)
    opt.step()
print("done")
`

// fakeTorch makes a folder with torch and the device library, and returns the
// environment for it.
func fakeTorch(t *testing.T, gpu fakegpu.Paths) []string {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is not installed")
	}
	dir := t.TempDir()
	if err := faketorch.Install(dir); err != nil {
		t.Fatal(err)
	}
	source, lib := filepath.Join(dir, "device.c"), filepath.Join(dir, "libdevice.so")
	if err := os.WriteFile(source, []byte(deviceSource), 0o644); err != nil {
		t.Fatal(err)
	}
	libs := filepath.Join(gpu.Dir, "lib")
	if out, err := exec.Command("gcc", "-shared", "-fPIC", "-o", lib, source, "-L"+libs, "-l:libcudart.so.13", "-l:libcuda.so.1").CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	program := filepath.Join(dir, "train.py")
	if err := os.WriteFile(program, []byte(torchProgram), 0o644); err != nil {
		t.Fatal(err)
	}
	// What PATH has may be a script that looks for the interpreter and takes its time.
	python, err := exec.Command("python3", "-c", "import sys; print(sys.executable)").Output()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Dir(strings.TrimSpace(string(python))) + string(os.PathListSeparator) + os.Getenv("PATH")
	return []string{"PATH=" + path, "PYTHONPATH=" + dir, "FAKETORCH_DEVICE=" + lib, "PROGRAM=" + program, "PYTHONDONTWRITEBYTECODE=1"}
}

// TestOperators records a program on stand-ins for torch and the GPU: its
// operators are in the trace, and each launch is linked to the one around it.
func TestOperators(t *testing.T) {
	gpu := fakegpu.Get(t)
	_ = testrig.Programs(t)
	env := fakeTorch(t, gpu)
	run := func(flags []string, command string) (*timeline.Operators, map[string]uint64) {
		t.Helper()
		s := recordQuirk(t, gpu, fakegpu.CUPTI13, env, flags, "sh", "-c", command)
		if s.status != 0 || s.stdout != "done\n" || s.stderr != "" {
			t.Fatalf("status %d, %q, %q", s.status, s.stdout, s.stderr)
		}
		// What a program ran before it replaced itself has a trace of its own.
		for _, tr := range s.summary.Traces {
			if tr.Events["kernel"] > 0 {
				return tr.Completeness.Operators, tr.Events
			}
		}
		t.Fatalf("no kernels: %+v", s.summary.Traces)
		return nil, nil
	}
	const program = `exec python3 "$PROGRAM"`
	// Two operators of the second tensor, three a step; the first launches before any
	// session is open would be counted as such.
	o, events := run(nil, program)
	if o == nil || o.Seen != 20 || o.Reason != "" || o.Slices != 1 || o.LinkedByID+o.LinkedByTime != 20 || o.Disagreed != 0 || o.DeviceLinked != 20 ||
		len(o.DeviceUnlinked) > 0 || events["kernel"] != 20 || events["gpu_user_annotation"] != 6 || o.Framework == "" || o.Python == "" {
		t.Errorf("%+v, %v", o, events)
	}
	o, events = run([]string{"--steps", "2:4", "--shapes"}, program)
	if o == nil || o.Steps != 2 || o.DeviceLinked == 0 || o.DeviceLinked != events["kernel"] || events["kernel"] >= 20 {
		t.Errorf("two steps: %+v, %v", o, events)
	}
	if o, events = run([]string{"--no-host"}, program); o != nil || events["kernel"] != 20 || events["host"] != 0 {
		t.Errorf("without operators: %+v, %v", o, events)
	}
	// The program replaces itself by another.
	o, events = run(nil, `exec python3 -c 'import sys, os, torch; torch.ones(4, device="cuda"); os.execv(sys.executable, ["python3", os.environ["PROGRAM"]])'`)
	if o == nil || o.Seen != 20 || o.Slices != 1 || o.LostSlices != 0 || o.DeviceLinked != 20 || events["kernel"] != 20 {
		t.Errorf("after exec: %+v, %v", o, events)
	}
	o, events = run(nil, `exec python3 -S -c 'import sys, os; p = os.environ["PROGRAM"]; sys.path.insert(0, os.path.dirname(p)); exec(open(p).read())'`)
	if o == nil || o.Reason != timeline.ReasonNoBootstrap || events["kernel"] != 20 || o.DeviceUnlinked[timeline.UnlinkedNoHost] != 20 {
		t.Errorf("python -S: %+v, %v", o, events)
	}
}

// TestOperatorsOfASnapshot reads what a program that runs has recorded, and kills it
// after its window was closed: operators are in the data by then.
func TestOperatorsOfASnapshot(t *testing.T) {
	gpu := fakegpu.Get(t)
	for _, kv := range fakeTorch(t, gpu) {
		name, value, _ := strings.Cut(kv, "=")
		t.Setenv(name, value)
	}
	r := recordCommand(t, []string{"--start-paused"}, []string{"env", "FAKETORCH_DEVICE=" + os.Getenv("FAKETORCH_DEVICE"), "python3", "-c", `
import time, torch
x = torch.ones(4, device="cuda")
while True:
    torch.mm(x, x)
    time.sleep(0.01)
`})
	pid := r.ready().PID
	r.must(r.cmd.Process.Pid, "start")
	time.Sleep(500 * time.Millisecond)
	if status, _, stderr := r.ctl(pid, "snapshot", "-o", "snap.json"); status != 0 || !strings.Contains(stderr, " of torch 2.11.0") {
		t.Errorf("snapshot: status %d\n%s", status, stderr)
	}
	r.must(pid, "stop")
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = r.cmd.Wait()
	var s record.Summary
	data, err := os.ReadFile(filepath.Join(r.dir, "summary.json"))
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	if err != nil || len(s.Traces) != 1 {
		t.Fatalf("%v: %s", err, data)
	}
	if o := s.Traces[0].Completeness.Operators; o == nil || o.Slices != 2 || o.LostSlices != 0 || o.DeviceLinked < 10 {
		t.Errorf("%+v", o)
	}
}
