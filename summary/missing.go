package summary

import (
	"maps"
	"slices"

	"github.com/flagos-ai/flagos-trace/calltree"
)

// missing says what the trace does not hold, and what would have it be.
func (p *part) missing() {
	x := p.x
	has := func(c calltree.Class) bool { return x.Count(c) > 0 }
	say := func(text string) { p.trace.Missing = append(p.trace.Missing, text) }
	work := x.NumWorks() > 0
	kernels, sized := false, len(p.tables.copies) == 0
	for _, r := range p.tables.kernels {
		kernels = kernels || r.Kind == KindCompute || r.Kind == KindCommunication
	}
	for _, c := range p.tables.copies {
		sized = sized || c.Unsized < c.Works
	}
	switch {
	case !work:
		say("device work: there is no kernel, copy or fill in the trace, and nothing can be said about devices")
	case !kernels && !p.o.narrowed():
		say("kernels: the only device work are copies and fills")
	}
	if !has(calltree.Operator) {
		say("operators: device work is told by kernel only (torch.profiler records them with ProfilerActivity.CPU)")
	}
	called := false
	for w := range x.Works() {
		called = called || x.Call(w) != calltree.None
	}
	switch {
	case work && p.trace.Launches == nil && called:
		say("a clock that calls and device work share: work begins before its call, or more than an hour behind it, so that launch delay, queue depth, and what devices waited for cannot be told")
	case work && p.trace.Launches == nil:
		say("API calls that started device work: launch delay, queue depth, and what devices waited for")
	}
	if !has(calltree.Step) {
		say("steps: the program marked none (ProfilerStep#N, by profiler.step())")
	}
	if !has(calltree.Module) {
		say("modules: there is no Python stack (with_stack=True)")
	}
	if !sized {
		say("sizes of copies, and so their bandwidth")
	}
	communicates := false
	for _, r := range p.tables.kernels {
		communicates = communicates || r.Kind == KindCommunication
	}
	if communicates && len(p.tables.collectives) == 0 {
		say("what kernels of communication did: their arguments name no collective")
	}
	if o := &p.occupied.sums; o.Kernels > 0 && o.Calculable == 0 {
		why := "the launch configurations do not do"
		if list := slices.Sorted(maps.Keys(o.NotCalculable)); len(list) > 0 {
			why = list[0]
		}
		say("occupancy: " + why)
	}
}

// missingOf is what no trace has; and what only some have not, with how many.
func missingOf(traces []Trace) []string {
	seen := map[string]int{}
	out := []string{}
	for i := range traces {
		for _, text := range traces[i].Missing {
			if seen[text] == 0 {
				out = append(out, text)
			}
			seen[text]++
		}
	}
	for i, text := range out {
		if n := seen[text]; n < len(traces) {
			out[i] = text + " (" + itoa(int64(n)) + " of " + itoa(int64(len(traces))) + " traces)"
		}
	}
	return out
}

// check takes the sums anew.
func (s *Summary) check() {
	add := func(of string, sum, total int64) { s.Checks = append(s.Checks, Check{of, sum, total}) }
	if s.Whole == nil {
		return
	}
	var sum int64
	for i := range s.Operators {
		sum += s.Operators[i].DeviceNS
	}
	for _, m := range s.Unlinked {
		sum += m.DeviceNS
	}
	// Of the kernels it is the sum itself, so that these stand against the devices.
	total := s.Work.DeviceNS
	add("operators, and work without one", sum, total)
	if !s.narrowed {
		add("kernels, copies and fills", s.Work.DeviceNS, s.Whole.DeviceNS)
	}
	for _, t := range []struct {
		name string
		rows []Scope
	}{{"modules, and work outside of them", s.Modules}, {"annotations, and work outside of them", s.Annotations}} {
		sum = 0
		for i := range t.rows {
			sum += t.rows[i].DeviceNS
		}
		if len(t.rows) > 0 {
			add(t.name, sum, total)
		}
	}
	sum = 0
	for i := range s.Steps {
		sum += s.Steps[i].DeviceNS
	}
	if len(s.Steps) > 0 {
		add("steps, and work outside of them", sum, total)
	}
	sum = 0
	for i := range s.Traces {
		for k := range s.Traces[i].Devices {
			d := &s.Traces[i].Devices[k]
			sum += d.Busy.Total() + d.Idle.Total()
		}
	}
	add("busy and idle time of devices", sum, s.Whole.WindowNS)
	if c := s.CriticalPath; c != nil {
		sum = 0
		for i := range c.Entries {
			sum += c.Entries[i].NS
		}
		add("critical path", sum, c.NS)
	}
}
