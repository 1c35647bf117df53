package bootstrap_test

import (
	"fmt"
	"strings"
	"testing"
)

func TestSteps(t *testing.T) {
	const train = prelude + `
a = torch.ones(2, device="cuda")
optimizer = torch.optim.SGD([a])
other = torch.optim.SGD([a])
for step in range(8):
    with torch.profiler.record_function("step %d" % step):
        torch.mm(a, a).backward()
        optimizer.step()
        other.step()
    torch.relu(a)
print(torch.cuda._syncs)
`
	for i, c := range []struct{ steps, ranges, syncs string }{
		{"2:4", "ProfilerStep#2 ProfilerStep#3", "1"},
		{"0:2", "ProfilerStep#0 ProfilerStep#1", "1"},
		{"7:8", "ProfilerStep#7", "1"},
		{"6:20", "ProfilerStep#6 ProfilerStep#7 ProfilerStep#8", "0"},
		{"9:10", "", "0"},
	} {
		for _, version := range []string{"2.11.0", "1.13.1", "2.14.0"} {
			if i > 1 && version != "2.11.0" {
				continue
			}
			t.Run(version+" "+c.steps, func(t *testing.T) {
				o := run(t, program{text: train, env: []string{"FAKETORCH_VERSION=" + version, "HOSTLIB_PAUSED=1", "FLAGOS_TRACE_STEPS=" + c.steps}})
				o.fine(t, c.syncs+"\n")
				var ranges []string
				mm := 0
				for n := 1; n <= len(o.slices); n++ {
					for _, name := range o.slices[n].names {
						if strings.HasPrefix(name, "ProfilerStep#") {
							ranges = append(ranges, name)
						}
						if name == "aten::mm" {
							mm++
						}
					}
				}
				if got := strings.Join(ranges, " "); got != c.ranges {
					t.Errorf("ranges %s, want %s", got, c.ranges)
				}
				var first, end int
				fmt.Sscanf(c.steps, "%d:%d", &first, &end)
				want := max(0, min(end, 8)-first)
				if mm != want {
					t.Errorf("aten::mm %d, want %d", mm, want)
				}
				starts, stops := 0, 0
				for _, call := range o.calls {
					if call == "start 0" {
						starts++
					}
					if call == "stop 0" {
						stops++
					}
				}
				if starts != btoi(first <= 8) || stops != btoi(end <= 8) {
					t.Errorf("calls: %v", o.calls)
				}
				if missed := len(o.reasons()) > 0; missed != (first > 8) || missed && o.reasons()[0] != "steps_not_reached: the program made 8 steps, and the first to record was number 9, counted from 0" {
					t.Errorf("reasons: %q", o.reasons())
				}
				for i, line := range o.of("step") {
					if line["step"] != float64(first+i) {
						t.Errorf("%v", o.of("step"))
					}
				}
			})
		}
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Ranges of a thread lie inside each other, whatever a step ends in.
func TestStepsAndRangesAreNested(t *testing.T) {
	o := run(t, program{env: []string{"HOSTLIB_PAUSED=1", "FLAGOS_TRACE_STEPS=1:4"}, text: prelude + `
a = torch.ones(2, device="cuda")
optimizer = torch.optim.SGD([a])
with torch.profiler.record_function("epoch"):
    for step in range(6):
        with torch.profiler.record_function("step"):
            torch.mm(a, a)
            optimizer.step()
            torch.relu(a)
`})
	o.fine(t, "")
	type span struct {
		name       string
		begin, end float64
	}
	var spans []span
	for _, e := range o.slices[1].document["traceEvents"].([]any) {
		e := e.(map[string]any)
		if e["cat"] == "user_annotation" {
			begin := e["ts"].(float64)
			spans = append(spans, span{e["name"].(string), begin, begin + e["dur"].(float64)})
		}
	}
	if len(spans) < 9 {
		t.Fatalf("%v", spans)
	}
	for _, a := range spans {
		for _, b := range spans {
			if a.begin < b.begin && b.begin < a.end && a.end < b.end-0.0005 {
				t.Errorf("%v and %v cross", a, b)
			}
		}
	}
}

func TestStepMark(t *testing.T) {
	for _, c := range []struct{ name, mark, text string }{
		{"main", "__main__:train_step", "def train_step(): torch.mm(a, a)\na = torch.ones(2, device='cuda')\nfor i in range(6): train_step()"},
		{"module", "json:dumps", "import json\na = torch.ones(2, device='cuda')\nfor i in range(6): torch.mm(a, a); json.dumps(i)"},
		{"method", "textwrap:TextWrapper.fill", "import textwrap\na = torch.ones(2, device='cuda')\nfor i in range(6): torch.mm(a, a); textwrap.TextWrapper().fill('x')"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := run(t, program{text: prelude + c.text, env: []string{"HOSTLIB_PAUSED=1", "FLAGOS_TRACE_STEPS=2:4", "FLAGOS_TRACE_STEP_MARK=" + c.mark}})
			o.fine(t, "")
			if o.count("aten::mm", false) != 2 || o.count("ProfilerStep#2", false) != 1 || o.count("ProfilerStep#3", false) != 1 {
				t.Errorf("%v", o.lines)
			}
		})
	}
}

// A function that comes too late is told of, for which calls were missed nobody knows.
func TestStepMarkMissed(t *testing.T) {
	o := run(t, program{env: []string{"HOSTLIB_PAUSED=1", "FLAGOS_TRACE_STEPS=2:4", "FLAGOS_TRACE_STEP_MARK=__main__:late"}, text: prelude + `
a = torch.ones(2, device="cuda")
def late(): torch.mm(a, a)
for i in range(6): late()
`})
	o.fine(t, "")
	if got := o.reasons(); len(got) != 1 || !strings.HasPrefix(got[0], "steps_not_reached: __main__:late is not there") || len(o.slices) != 0 {
		t.Errorf("%q, %v", got, o.lines)
	}
}

// The ranges around the first step are not in front of it.
func TestFirstStepIsOutermost(t *testing.T) {
	o := run(t, program{env: []string{"HOSTLIB_PAUSED=1", "FLAGOS_TRACE_STEPS=1:2"}, text: prelude + `
a = torch.ones(2, device="cuda")
optimizer = torch.optim.SGD([a])
with torch.profiler.record_function("epoch"):
    for step in range(3): optimizer.step()
`})
	o.fine(t, "")
	if n := o.count("epoch", false); n != 1 {
		t.Errorf("%d pieces of the range, want the one inside the step: %v", n, o.slices[1].names)
	}
}

// A profiler of the program's inside the window has its own ranges and none of ours.
func TestStepsBesideTheProgramsProfiler(t *testing.T) {
	const text = prelude + `
from torch.profiler import profile
a = torch.ones(2, device="cuda")
optimizer = torch.optim.SGD([a])
for step in range(6):
    if step == 2: p = profile(); p.__enter__()
    torch.mm(a, a)
    optimizer.step()
    if step == 4: p.__exit__(None, None, None); print(sorted(e["name"] for e in p.events()))
`
	alone := run(t, program{text: text, site: "-"})
	o := run(t, program{text: text, env: []string{"HOSTLIB_PAUSED=1", "FLAGOS_TRACE_STEPS=1:6"}})
	o.fine(t, alone.stdout)
	if o.count("aten::mm", false) != 2 || o.count("aten::mm", true) != 3 {
		t.Errorf("%v", o.lines)
	}
}
