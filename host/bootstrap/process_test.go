package bootstrap_test

import (
	"strings"
	"testing"
)

func TestForks(t *testing.T) {
	for _, c := range []struct{ name, text, stdout string }{
		{"DataLoader", `
from torch.utils.data import DataLoader
for epoch in range(3):
    for item in DataLoader(range(2), num_workers=4):
        torch.mm(a, a)
`, ""},
		{"child ends by itself", `
if os.fork() == 0:
    torch.ones(2); torch.relu(torch.ones(2)); print("child"); sys.exit(0)
os.wait(); torch.mm(a, a)
`, "child\n"},
		{"child of a child", `
if os.fork() == 0:
    if os.fork() == 0: torch.relu(torch.ones(2)); sys.exit(0)
    os.wait(); sys.exit(0)
os.wait(); torch.mm(a, a)
`, ""},
		{"child profiles", `
if os.fork() == 0:
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as p: torch.relu(torch.ones(2))
    print([e["name"] for e in p.events()][1:], torch.autograd.profiler._prepare_profiler.__name__, hasattr(torch.autograd._prepare_profiler, "__wrapped__")); sys.exit(0)
os.wait(); torch.mm(a, a)
`, "['aten::ones', 'aten::fill_', 'aten::relu'] _prepare_profiler False\n"},
		{"a thread forks", `
import threading
def work():
    if os.fork() == 0: torch.relu(torch.ones(2)); os._exit(0)
    os.wait()
thread = threading.Thread(target=work); thread.start(); thread.join(); torch.mm(a, a)
`, ""},
		{"subprocess", `
import subprocess
subprocess.run([sys.executable, "-c", "import os; print(1)"], check=True, stdout=subprocess.DEVNULL); torch.mm(a, a)
`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := run(t, program{text: prelude + "a = torch.ones(2, device='cuda'); torch.mm(a, a)\n" + c.text})
			o.fine(t, c.stdout)
			want := 2
			if c.name == "DataLoader" {
				want = 7
			}
			if o.count("aten::mm", false) != want || o.count("aten::relu", false) != 0 {
				t.Errorf("aten::mm: %d\n%v", o.count("aten::mm", false), o.lines)
			}
			bases := map[string]bool{}
			for _, line := range o.lines {
				bases[line["base"].(string)] = true
			}
			if len(bases) != 1 {
				t.Errorf("a child wrote: %v", o.files)
			}
			if len(o.of("open")) != len(o.of("close")) || len(o.reasons()) != 0 {
				t.Errorf("%v", o.lines)
			}
		})
	}
}

// A child that is forked before the device is used can use it: nothing of ours was running.
func TestForkThenDevice(t *testing.T) {
	o := run(t, program{text: prelude + `
torch.ones(2)
if os.fork() == 0:
    torch.ones(2, device="cuda"); os._exit(3)
print(os.WEXITSTATUS(os.wait()[1]))
`})
	o.fine(t, "3\n")
	if len(o.files) != 1 {
		t.Errorf("%v", o.files)
	}
}

func TestChildrenOfTheirOwn(t *testing.T) {
	o := run(t, program{text: `
import multiprocessing, os, subprocess, sys
def work(n):
    import torch
    a = torch.ones(2, device="cuda"); torch.mm(a, a)
if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    children = [context.Process(target=work, args=(i,)) for i in range(2)]
    for c in children: c.start()
    for c in children: c.join()
    print([c.exitcode for c in children])
    import torch
    torch.ones(2, device="cuda")
    subprocess.run([sys.executable, "-c", "import torch; a = torch.ones(2, device='cuda'); torch.mm(a, a)"], check=True)
`})
	o.fine(t, "[0, 0]\n")
	if len(o.of("python")) != 4 || len(o.of("close")) != 4 {
		t.Errorf("%v", o.lines)
	}
}

func TestThreads(t *testing.T) {
	o := run(t, program{text: prelude + `
import threading
a = torch.ones(2, device="cuda")
stop = []
def work():
    while not stop: torch.relu(a)
threads = [threading.Thread(target=work) for _ in range(3)]
for each in threads: each.start()
for i in range(100):
    torch.mm(a, a).backward()
    if i % 10 == 0: lib.hostlib_cut(); turn()
stop.append(1)
for each in threads: each.join()
`})
	o.fine(t, "")
	if o.count("aten::mm", false) != 100 || o.count("MmBackward0", false) != 100 || o.count("aten::relu", false) != 0 {
		t.Errorf("aten::mm %d", o.count("aten::mm", false))
	}
	o = run(t, program{env: []string{"FAKETORCH_VERSION=2.14.0"}, text: prelude + `
import threading
def work():
    a = torch.ones(2, device="cuda")
    for i in range(20): torch.mm(a, a)
thread = threading.Thread(target=work); thread.start(); thread.join()
`})
	o.fine(t, "")
	if o.count("aten::mm", false) != 20 {
		t.Errorf("a program whose training runs in a thread: %v", o.lines)
	}
}

// Signals arrive anywhere, also inside our code; the program's handlers raise.
func TestSignals(t *testing.T) {
	for _, c := range []struct{ name, handler, want string }{
		{"SIGINT", "", "KeyboardInterrupt"},
		{"own handler", "def handler(n, f): raise RuntimeError('mine')\nsignal.signal(signal.SIGINT, handler)\n", "RuntimeError"},
		{"sys.exit", "signal.signal(signal.SIGINT, lambda n, f: sys.exit(3))\n", "SystemExit"},
		{"handler that returns", "signal.signal(signal.SIGINT, lambda n, f: caught.append(1))\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := run(t, program{text: prelude + `
import signal, threading, time
caught = []
` + c.handler + `
a = torch.ones(2, device="cuda")
done = [0]
def kick():
    for i in range(150):
        os.kill(os.getpid(), signal.SIGINT)
        done[0] += 1
        time.sleep(0.001)
thread = threading.Thread(target=kick)
got = {}
mm = 0
started = False
while True:
    try:
        if not started: started = True; thread.start()
        if done[0] >= 150: thread.join(); break
        lib.hostlib_cut()
        with torch.profiler.record_function("range"): pass
        if mm < 5: torch.mm(a, a); mm += 1
    except BaseException as e:
        got[type(e).__name__] = got.get(type(e).__name__, 0) + 1
signal.signal(signal.SIGINT, signal.SIG_IGN)
lib.hostlib_queue(); turn()
torch.item = a.item()
print(sorted(got), sum(got.values()) + len(caught) > 10)
`})
			want := "['" + c.want + "'] True\n"
			if c.want == "" {
				want = "[] True\n"
			}
			o.fine(t, want)
			if o.count("aten::item", false) != 1 {
				t.Errorf("the session after the signals is missing: %v", o.lines)
			}
			for _, reason := range o.reasons() {
				t.Errorf("reason: %s", reason)
			}
			if strings.Trim(o.own(), "01") != "" || !strings.HasSuffix(o.own(), "0") {
				t.Errorf("own: %s", o.own())
			}
		})
	}
}
