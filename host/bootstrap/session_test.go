package bootstrap_test

import (
	"fmt"
	"strings"
	"testing"
)

// prelude is what the programs below begin with.
const prelude = `
import ctypes, os, sys
lib = ctypes.PyDLL(os.environ["HOSTLIB"])
import torch
def turn():
    for _ in range(3): pass
`

func TestOperatorsOfAProgram(t *testing.T) {
	o := run(t, program{text: prelude + `
torch.ones(2)                      # before the device: not seen
a = torch.ones(2, device="cuda")
for i in range(3):
    with torch.profiler.record_function("work"):
        torch.mm(a, a).backward()
print(a.item())
`})
	o.fine(t, "1.0\n")
	if got := len(o.of("open")); got != 1 || len(o.of("close")) != 1 {
		t.Fatalf("sessions: %v", o.lines)
	}
	for name, want := range map[string]int{"aten::ones": 1, "aten::mm": 3, "work": 3, "MmBackward0": 3, "aten::item": 1} {
		if got := o.count(name, false); got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
	if o.own() != "10" {
		t.Errorf("own: %v", o.calls)
	}
	python := o.of("python")
	if len(python) != 1 || python[0]["torch"] != "2.11.0+cu130" || python[0]["cuda"] != "13.0" || !strings.HasPrefix(python[0]["version"].(string), "3.") {
		t.Errorf("python: %v", python)
	}
	open, closed := o.of("open")[0], o.of("close")[0]
	if !(python[0]["ns"].(float64) < open["ns"].(float64) && open["ns"].(float64) < closed["ns"].(float64)) {
		t.Errorf("times: %v", o.lines)
	}
	if open["all_threads"] != false || open["stack"] != false || open["shapes"] != false {
		t.Errorf("open: %v", open)
	}
	if len(o.reasons()) != 0 {
		t.Errorf("reasons: %v", o.reasons())
	}
	if len(o.files) != 2 {
		t.Errorf("files: %v", o.files)
	}
}

func TestNeverMoreThanNeeded(t *testing.T) {
	for _, c := range []struct {
		name, text string
		files      int
		reasons    string
		env        []string
		stderr     string
		code       int
	}{
		{name: "no torch", text: "import json; print(1)"},
		{name: "no device", text: prelude + "torch.ones(2); print(1)", files: 1},
		{name: "no window", text: prelude + "torch.ones(2, device='cuda'); turn(); print(1)", files: 1, env: []string{"HOSTLIB_PAUSED=1"}},
		{name: "missing library", text: prelude + "torch.ones(2, device='cuda'); print(1)", files: 1, reasons: "library: OSError", env: []string{"FLAGOS_TRACE_LIBRARY=/none/lib.so"}},
		{name: "library not set", text: prelude + "torch.ones(2, device='cuda'); print(1)", files: 1, reasons: "library: OSError: FLAGOS_TRACE_LIBRARY", env: []string{"FLAGOS_TRACE_LIBRARY="}},
		{name: "library without our functions", text: prelude + "torch.ones(2, device='cuda'); print(1)", files: 1, reasons: "library: AttributeError", env: []string{"FLAGOS_TRACE_LIBRARY=libm.so.6"}},
		{name: "unattached library", text: prelude + "torch.ones(2); print(1)", files: 1, reasons: "library: flagos_trace_host_attach returned 2", env: []string{"HOSTLIB_ATTACH=2"}},
		{name: "no kineto", text: prelude + "torch.ones(2, device='cuda'); print(1)", files: 1, reasons: "torch_unsupported", env: []string{"FAKETORCH_NO_KINETO=1"}},
		{name: "daemon", text: prelude + "torch.ones(2, device='cuda'); turn(); print(1)", files: 1, reasons: "busy", env: []string{"KINETO_USE_DAEMON=1"}},
		{name: "wrong steps", text: prelude + "torch.ones(2); print(1)", files: 1, reasons: "steps", env: []string{"FLAGOS_TRACE_STEPS=3:x"}},
		{name: "not recorded", text: prelude + "torch.ones(2, device='cuda'); print(1)", env: []string{"FLAGOS_TRACE_DIR="}},
		{name: "folder gone", text: prelude + "torch.ones(2, device='cuda'); print(1)", env: []string{"FLAGOS_TRACE_DIR=/none/spool"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := run(t, program{text: c.text, env: c.env})
			o.fine(t, "1\n")
			if len(o.files) != c.files {
				t.Errorf("files: %v", o.files)
			}
			if got := strings.Join(o.reasons(), "; "); !strings.HasPrefix(got, c.reasons) || (c.reasons == "") != (got == "") {
				t.Errorf("reasons: %s, want %s", got, c.reasons)
			}
			if len(o.of("open")) != 0 {
				t.Errorf("a session: %v", o.lines)
			}
		})
	}
}

func TestVersionsOfTorch(t *testing.T) {
	for _, version := range []string{"1.13.1", "2.0.1", "2.4.1", "2.5.0", "2.11.0", "2.14.0"} {
		t.Run(version, func(t *testing.T) {
			o := run(t, program{env: []string{"FAKETORCH_VERSION=" + version, "FLAGOS_TRACE_HOST=shapes,stack,modules,other"}, text: prelude + `
import threading
a = torch.ones(2, device="cuda")
thread = threading.Thread(target=torch.relu, args=(a,))
thread.start()
thread.join()
for i in range(3):
    torch.mm(a, a)
    lib.hostlib_cut(); turn()
`})
			o.fine(t, "")
			all := version == "2.14.0"
			if got := o.count("aten::relu", false); (got == 1) != all {
				t.Errorf("operators of another thread: %d", got)
			}
			if got := o.count("aten::mm", false); got != 3 {
				t.Errorf("aten::mm: %d", got)
			}
			if got := len(o.of("close")); got != 4 {
				t.Errorf("slices: %d", got)
			}
			open := o.of("open")[0]
			if open["all_threads"] != all || open["stack"] != true || open["shapes"] != true {
				t.Errorf("open: %v", open)
			}
			if d := o.slices[1].document; d["record_shapes"] != 1.0 || d["with_stack"] != 1.0 || d["with_modules"] != 1.0 || d["profile_memory"] != nil {
				t.Errorf("metadata: %v", d)
			}
			if len(o.reasons()) != 0 {
				t.Errorf("reasons: %v", o.reasons())
			}
		})
	}
}

func TestMetadata(t *testing.T) {
	o := run(t, program{env: []string{"FAKETORCH_RANK=3", "FLAGOS_TRACE_HOST=memory"}, text: prelude + "torch.ones(2, device='cuda')"})
	o.fine(t, "")
	d := o.slices[1].document
	if info, _ := d["distributedInfo"].(map[string]any); info["rank"] != 3.0 || d["profile_memory"] != 1.0 || d["record_shapes"] != nil {
		t.Errorf("%v", d)
	}
}

// TestGroups: process groups that are made after the session began, and gone before
// it ends, are in its metadata; so are those of a program that leaves them.
func TestGroups(t *testing.T) {
	for _, end := range []string{"", "torch.distributed.destroy_process_group()"} {
		o := run(t, program{env: []string{"RANK=1", "WORLD_SIZE=2"}, text: prelude + `
a = torch.ones(2, device="cuda")
torch.distributed.init_process_group("nccl")
torch.distributed.new_group([1])
torch.distributed.all_reduce(a)
` + end})
		o.fine(t, "")
		info, _ := o.slices[1].document["distributedInfo"].(map[string]any)
		configs, _ := info["pg_config"].([]any)
		if info["rank"] != 1.0 || info["world_size"] != 2.0 || info["pg_count"] != 2.0 || len(configs) != 2 || len(o.reasons()) != 0 {
			t.Errorf("%q: %v, %v", end, info, o.reasons())
		}
	}
}

func TestWindowsAndSlices(t *testing.T) {
	o := run(t, program{env: []string{"HOSTLIB_PAUSED=1"}, text: prelude + `
a = torch.ones(2, device="cuda")
torch.relu(a); turn()
for i in range(3):
    lib.hostlib_window(1); turn()
    torch.mm(a, a)
    lib.hostlib_window(0); turn()
    torch.relu(a)
print(os.listdir(os.environ["FLAGOS_TRACE_DIR"]).__len__())
`})
	o.fine(t, "4\n") // the slices are there when their window is over, not only at the end
	if o.count("aten::mm", false) != 3 || o.count("aten::relu", false) != 0 || o.own() != "101010" {
		t.Errorf("%v %v", o.lines, o.calls)
	}
	o = run(t, program{text: prelude + `
a = torch.ones(2, device="cuda")
with torch.profiler.record_function("outer"):
    for i in range(100):
        with torch.profiler.record_function("inner"):
            torch.mm(a, a)
            lib.hostlib_cut(); turn()
`})
	o.fine(t, "")
	if got := o.count("aten::mm", false); got != 100 {
		t.Errorf("aten::mm: %d of 100", got)
	}
	if got := len(o.slices); got != 101 {
		t.Errorf("slices: %d", got)
	}
	if got := o.count("outer", false); got != 101 {
		t.Errorf("a range around all slices is in %d of them", got)
	}
	if got := o.count("inner", false); got != 200 {
		t.Errorf("a range across each cut: %d", got)
	}
	for n, s := range o.slices {
		for _, e := range s.document["traceEvents"].([]any) {
			if args, ok := e.(map[string]any)["args"].(map[string]any); ok && args["finished"] == false {
				t.Fatalf("slice %d has an open range: %v", n, e)
			}
		}
	}
}

// The stand-in for torch ends the process with 139 where the real one would write into freed memory.
func TestNoCutBelowAnOperator(t *testing.T) {
	o := run(t, program{text: prelude + `
a = torch.ones(2, device="cuda")
class Mine(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        lib.hostlib_cut(); turn()
        lib.hostlib_window(0); turn()
        lib.hostlib_window(1); turn()
        return torch.mm(x, x)
Mine.apply(a)
torch.relu(a)
lib.hostlib_queue(); turn()
torch.relu(a)
`})
	o.fine(t, "")
	if len(o.slices) != 2 || o.count("Mine", false) != 1 || o.count("aten::relu", false) != 1 {
		t.Errorf("%v", o.lines)
	}
}

func TestLooksRightAfterTheDeviceIsInitialised(t *testing.T) {
	for _, first := range []string{"torch.ones(2, device='cuda')", "torch.cuda.memory_allocated()", "torch.cuda.synchronize()"} {
		o := run(t, program{env: []string{"HOSTLIB_QUIET=1"}, text: prelude + `
seen = []
torch.cuda._lazy_call(lambda: seen.append(torch.cuda.synchronize.__name__))
before = torch.cuda._lazy_init
assert before.__name__ == "_lazy_init" and before.__doc__ and before.__wrapped__
` + first + `
torch.ones(2, device="cuda")
print(torch.cuda._lazy_init is before.__wrapped__, torch.cuda.memory._lazy_init is before.__wrapped__, len(seen))
`})
		o.fine(t, "True True 1\n")
		want := 1 + strings.Count(first, "ones")
		if o.count("aten::ones", false) != want {
			t.Errorf("%s: %v", first, o.lines)
		}
	}
	o := run(t, program{env: []string{"FAKETORCH_NO_DEVICE=1"}, text: prelude + `
for _ in range(2):
    try: torch.ones(2, device="cuda")
    except RuntimeError as e: print(e)
`})
	o.fine(t, strings.Repeat("No CUDA GPUs are available\n", 2))
}

func TestExits(t *testing.T) {
	for _, c := range []struct {
		name, end, stderr string
		code              int
		lost              bool
	}{
		{name: "end", end: ""},
		{name: "sys.exit", end: "sys.exit(5)", code: 5},
		{name: "exception", end: "raise ValueError('own')", code: 1, stderr: "ValueError: own\n"},
		{name: "os._exit", end: "os._exit(4)", code: 4, lost: true},
		{name: "SIGKILL", end: "os.kill(os.getpid(), 9)", code: -1, lost: true},
		{name: "atexit of the program's", end: "import atexit; atexit.register(lambda: torch.relu(a))"},
		{name: "daemon thread", end: "import threading; threading.Thread(target=lambda: [torch.relu(a) for _ in iter(int, 1)], daemon=True).start()"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := run(t, program{text: prelude + "a = torch.ones(2, device='cuda')\ntorch.mm(a, a)\nlib.hostlib_cut(); turn()\ntorch.mm(a, a)\n" + c.end})
			if o.code != c.code || !strings.HasSuffix(o.stderr, c.stderr) || (c.stderr == "") != (o.stderr == "") {
				t.Fatalf("exit %d: %s", o.code, o.stderr)
			}
			if len(o.of("open")) != 2 || (len(o.of("close")) == 1) != c.lost {
				t.Errorf("%v", o.lines)
			}
			if c.name == "atexit of the program's" && o.count("aten::relu", false) != 1 {
				t.Errorf("what the program does at its end is not seen: %v", o.slices[2].names)
			}
		})
	}
}

func TestExecKeepsCounting(t *testing.T) {
	o := run(t, program{text: prelude + `
torch.ones(2, device="cuda")
lib.hostlib_window(0); turn()
if len(sys.argv) < 2:
    os.execv(sys.executable, [sys.executable, __file__, "again"])
`})
	o.fine(t, "")
	if len(o.slices) != 2 || len(o.of("python")) != 2 {
		t.Errorf("%v", o.lines)
	}
	if fmt.Sprint(o.files[0]) == "" || len(o.files) != 3 {
		t.Errorf("%v", o.files)
	}
}
