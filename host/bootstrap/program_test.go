package bootstrap_test

import (
	"strings"
	"testing"
)

// Programs that profile themselves: what they print is what they print without us, so each of these runs twice.
func TestTheProgramsOwnProfiler(t *testing.T) {
	const own = prelude + `
from torch.profiler import profile, schedule, ProfilerActivity
a = torch.ones(2, device="cuda")
def names(p): return sorted(e["name"] for e in p.events())
def trace(path):
    import json
    d = json.load(open(path))
    return sorted(e["name"] for e in d["traceEvents"] if e.get("cat")), d["lost"], d["prepared"], d.get("record_shapes"), d.get("mine")
`
	for _, c := range []struct {
		name, text string
		slices     int // of the program's that we have
		mm         int // times aten::mm is in ours
		missing    int // sessions of the program's without a trace
	}{
		{name: "saved", slices: 1, mm: 2, text: `
torch.mm(a, a)
with profile(record_shapes=True) as p:
    torch.relu(a)
torch.mm(a, a)
p.export_chrome_trace("t.json"); print(names(p), trace("t.json"))
try: p.export_chrome_trace("u.json")
except RuntimeError as e: print(e)
print(type(p.profiler.kineto_results).__name__, isinstance(p.profiler.kineto_results, torch.autograd._ProfilerResult))
`},
		{name: "never saved", slices: 1, mm: 1, text: `
with profile() as p: torch.relu(a)
torch.mm(a, a); print(names(p))
`},
		{name: "dropped", slices: 1, mm: 1, text: `
with profile() as p: torch.relu(a)
del p
torch.mm(a, a); lib.hostlib_queue() if hasattr(lib, "hostlib_queue") else 0; turn()
`},
		{name: "two in a row", slices: 2, mm: 1, text: `
for path in ("t.json", "u.json"):
    with profile() as p:
        torch.relu(a)
    p.export_chrome_trace(path); print(trace(path))
torch.mm(a, a)
`},
		{name: "both kept, then saved", slices: 2, mm: 1, text: `
with profile() as p: torch.relu(a)
with profile() as q: torch.ones(2)
torch.mm(a, a)
q.export_chrome_trace("u.json"); p.export_chrome_trace("t.json"); print(trace("t.json"), trace("u.json"))
`},
		{name: "schedule", slices: 2, mm: 4, text: `
def ready(p):
    p.export_chrome_trace("t%d.json" % p.step_num); print(p.step_num, trace("t%d.json" % p.step_num))
with profile(schedule=schedule(wait=1, warmup=1, active=2), on_trace_ready=ready) as p:
    for i in range(8):
        (torch.mm if i % 4 == 0 else torch.relu)(*([a, a] if i % 4 == 0 else [a]))
        p.step()
torch.mm(a, a); torch.mm(a, a)
`},
		{name: "range around it", slices: 1, mm: 2, text: `
with torch.profiler.record_function("around"):
    torch.mm(a, a)
    with profile() as p:
        torch.relu(a)
    torch.mm(a, a)
p.export_chrome_trace("t.json"); print(trace("t.json"))
`},
		{name: "range across its end", slices: 1, mm: 1, text: `
p = profile(); p.__enter__()
with torch.profiler.record_function("across"):
    torch.relu(a)
    p.__exit__(None, None, None)
    torch.mm(a, a)
p.export_chrome_trace("t.json"); print(trace("t.json"))
`},
		{name: "nested", slices: 1, mm: 1, text: `
with profile() as p:
    torch.relu(a)
    try:
        with profile() as q: torch.mm(a, a)
    except RuntimeError as e: print(e)
torch.mm(a, a)
`},
		{name: "without CPU", slices: 0, mm: 1, text: `
with profile(activities=[ProfilerActivity.CUDA]) as p: torch.mm(a, a)
p.export_chrome_trace("t.json"); print(trace("t.json")[1:])
torch.mm(a, a)
`},
		{name: "emit_nvtx", mm: 1, text: `
with torch.autograd.profiler.emit_nvtx():
    torch.mm(a, a)
    print(torch.autograd.profiler._is_profiler_enabled)
torch.mm(a, a)
`},
		{name: "ending what it did not begin", mm: 2, text: `
torch.mm(a, a)
r = torch.autograd._disable_profiler()
print(r.trace_start_ns(), r.events())
torch.mm(a, a)
`},
		{name: "an error inside", slices: 1, mm: 1, text: `
try:
    with profile() as p:
        torch.relu(a); raise KeyError(1)
except KeyError as e: print(repr(e))
torch.mm(a, a)
`},
		{name: "metadata before", slices: 1, mm: 1, text: `
with profile() as q: torch.relu(a)
torch.mm(a, a)
p = profile(); p.add_metadata_json("mine", "7")
with p: torch.relu(a)
p.export_chrome_trace("t.json"); print(trace("t.json"))
`, missing: 0},
		{name: "another thread", slices: 1, mm: 1, text: `
import threading
def work():
    with profile() as p: torch.relu(a)
    p.export_chrome_trace("t.json"); print(trace("t.json"))
thread = threading.Thread(target=work); thread.start()
while thread.is_alive(): thread.join(0.001)
lib.hostlib_queue() if hasattr(lib, "hostlib_queue") else 0; turn()
torch.mm(a, a)
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "metadata before" {
				c.slices = 2
			}
			alone := run(t, program{text: own + c.text, site: "-"})
			o := run(t, program{text: own + c.text})
			// Without us the profiler is not initialised at this point, and says so where it is not ended by us.
			if o.stdout != alone.stdout || o.stderr != alone.stderr || o.code != alone.code || o.code != 0 {
				t.Fatalf("exit %d, alone %d\nstdout: %s\nalone:  %s\nstderr: %s\nalone:  %s", o.code, alone.code, o.stdout, alone.stdout, o.stderr, alone.stderr)
			}
			programs := 0
			for _, line := range o.of("close") {
				if line["program"] == true {
					programs++
				}
			}
			if programs != c.slices || o.count("aten::mm", false) != c.mm {
				t.Errorf("%d slices of the program's, want %d; aten::mm %d, want %d\n%v", programs, c.slices, o.count("aten::mm", false), c.mm, o.lines)
			}
			on, off := 0, 0
			for _, line := range o.of("program") {
				if line["on"] == true {
					on++
					if line["cpu"] != (c.name != "without CPU" && c.name != "emit_nvtx") {
						t.Errorf("%v", line)
					}
				} else {
					off++
				}
			}
			if on != off || (on == 0 && c.slices > 0) {
				t.Errorf("%v", o.lines)
			}
			if own := o.own(); own != strings.Repeat("10", len(own)/2) {
				t.Errorf("own: %s", own)
			}
			if len(o.reasons()) != 0 {
				t.Errorf("reasons: %v", o.reasons())
			}
		})
	}
}

func TestTheProgramsTraceIsOneThatWasSaved(t *testing.T) {
	o := run(t, program{text: prelude + `
import json
from torch.profiler import profile
a = torch.ones(2, device="cuda")
with profile() as p: torch.relu(a)
p.export_chrome_trace("t.json")
folder = os.environ["FLAGOS_TRACE_DIR"]
copies = [f for f in os.listdir(folder) if f.endswith(".json")]
print(any(open(os.path.join(folder, f)).read() == open("t.json").read() for f in copies))
try: p.profiler.kineto_results.save("/none/t.json")
except RuntimeError as e: print(e)
with profile() as q: torch.relu(a)
try: q.export_chrome_trace("/none/t.json")
except OSError as e: print(type(e).__name__)
`})
	o.fine(t, "True\nTrace is already saved.\nFileNotFoundError\n")
	if o.count("aten::relu", true) != 2 {
		t.Errorf("a trace whose saving failed for the program is ours to save: %v", o.lines)
	}
}

func TestFlagForCompiledCode(t *testing.T) {
	o := run(t, program{text: prelude + `
from torch.profiler import profile
flag = lambda: torch.autograd.profiler._is_profiler_enabled
seen = [flag()]
a = torch.ones(2, device="cuda"); seen.append(flag())
with profile() as p: seen.append(flag())
seen.append(flag())
lib.hostlib_window(0); turn(); seen.append(flag())
with profile() as p: seen.append(flag())
seen.append(flag())
print(seen)
`})
	o.fine(t, "[False, True, True, True, False, True, False]\n")
}
