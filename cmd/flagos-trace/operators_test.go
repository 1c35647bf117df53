package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/flagos-ai/flagos-trace/internal/fakegpu"
	"github.com/flagos-ai/flagos-trace/internal/faketorch"
	"github.com/flagos-ai/flagos-trace/internal/testrig"
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
	return []string{"PYTHONPATH=" + dir, "FAKETORCH_DEVICE=" + lib, "PROGRAM=" + program, "PYTHONDONTWRITEBYTECODE=1"}
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
		if len(s.summary.Traces) != 1 {
			t.Fatalf("%d traces", len(s.summary.Traces))
		}
		return s.summary.Traces[0].Completeness.Operators, s.summary.Traces[0].Events
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
	o, events = run(nil, `exec python3 -S -c 'import sys, os; p = os.environ["PROGRAM"]; sys.path.insert(0, os.path.dirname(p)); exec(open(p).read())'`)
	if o == nil || o.Reason != timeline.ReasonNoBootstrap || events["kernel"] != 20 || o.DeviceUnlinked[timeline.UnlinkedNoHost] != 20 {
		t.Errorf("python -S: %+v, %v", o, events)
	}
}
