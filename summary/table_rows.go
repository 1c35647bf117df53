package summary

import (
	"slices"
	"strings"

	"github.com/flagos-ai/flagos-trace/measure"
)

func (s *Summary) operators() *Table {
	t := &Table{Name: "operators", Title: "Operators", Note: "device: of an operator's own kernels, copies and fills; total: with those of operators inside it",
		Columns: []Column{{Key: "name", Title: "operator"}}}
	shapes := slices.ContainsFunc(s.Operators, func(o Operator) bool { return o.Shapes != "" })
	if shapes {
		t.Columns = append(t.Columns, Column{Key: "shapes", Title: "shapes"})
	}
	t.Columns = append(t.Columns, Column{Key: "calls", Title: "calls", Unit: Number})
	t.Columns = append(t.Columns, Column{Key: "cpu_self_ns", Title: "CPU", Unit: NS}, Column{Key: "cpu_total_ns", Title: "CPU total", Unit: NS})
	t.Columns = append(t.Columns, measureColumns("work")...)
	t.Columns = append(t.Columns, Column{Key: "device_total_ns", Title: "total", Unit: NS})
	add := func(name, shape string, calls, self, total any, m *measure.Measures, deviceTotal any) {
		row := []any{name}
		if shapes {
			row = append(row, shape)
		}
		row = append(row, calls, self, total)
		t.Rows = append(t.Rows, append(append(row, s.cells(m)...), deviceTotal))
	}
	for i := range s.Operators {
		o := &s.Operators[i]
		name := o.Name
		if o.Class != "" {
			name += " (" + o.Class + ")"
		}
		m, total := o.Work.cells()
		add(name, o.Shapes, o.Calls, o.CPUSelfNS, o.CPUTotalNS, m, total)
	}
	for _, why := range sortedKeys(s.Unlinked) {
		m := s.Unlinked[why]
		add("(no operator: "+words(why)+")", "", nil, nil, nil, &m, nil)
	}
	if len(s.Unlinked) > 0 {
		t.Sort("device_ns")
	}
	return t
}

func (s *Summary) kernelTable() *Table {
	t := &Table{Name: "kernels", Title: "Kernels, copies and fills",
		Columns: append([]Column{{Key: "name", Title: "kernel"}, {Key: "kind", Title: "kind"}}, measureColumns("count")...)}
	t.Columns = append(t.Columns, Column{Key: "min_ns", Title: "shortest", Unit: NS}, Column{Key: "max_ns", Title: "longest", Unit: NS})
	for i := range s.Kernels {
		k := &s.Kernels[i]
		t.Rows = append(t.Rows, append(append([]any{k.Name, k.Kind}, s.cells(&k.Measures)...), k.MinNS, k.MaxNS))
	}
	for i := range t.Columns {
		if t.Columns[i].Key == "mean_ns" {
			t.Columns[i].Wide = false
		}
	}
	return t
}

func (s *Summary) scopes(name, title string, rows []Scope) *Table {
	one := strings.TrimSuffix(name, "s")
	t := &Table{Name: name, Title: title, Note: "device: of work that has it as the innermost; total: with what is inside it",
		Columns: []Column{{Key: "name", Title: one}, {Key: "calls", Title: "calls", Unit: Number}, {Key: "cpu_total_ns", Title: "CPU total", Unit: NS}}}
	t.Columns = append(t.Columns, measureColumns("work")...)
	t.Columns = append(t.Columns, Column{Key: "device_total_ns", Title: "total", Unit: NS})
	for i := range rows {
		r := &rows[i]
		head := []any{strings.TrimPrefix(r.Name, "nn.Module: "), r.Calls, r.CPUTotalNS}
		if r.Name == "" {
			head = []any{"(outside)", nil, nil}
		}
		m, total := r.Work.cells()
		t.Rows = append(t.Rows, append(append(head, s.cells(m)...), total))
	}
	return t
}

func (s *Summary) steps() *Table {
	t := &Table{Name: "steps", Title: "Steps", Note: "device: of the work that was started in it; busy: while it lasted",
		Columns: []Column{{Key: "name", Title: "step"}, {Key: "spans", Title: "marked", Unit: Number, Wide: true}, {Key: "mean_duration_ns", Title: "duration", Unit: NS},
			{Key: "longest_ns", Title: "longest", Unit: NS, Wide: true}, {Key: "busy_ns", Title: "busy", Unit: NS}, {Key: "busy_share", Title: "busy", Unit: Share}}}
	t.Columns = append(t.Columns, measureColumns("work")...)
	for i := range s.Steps {
		r := &s.Steps[i]
		head := []any{r.Name, r.Spans, mean(r.DurationNS, r.Spans), r.LongestNS, nil, nil}
		var m *measure.Measures
		if r.StepWork != nil {
			m, head[4], head[5] = &r.Measures, r.BusyNS, share(r.BusyNS, r.DurationNS)
		}
		if r.Name == "" {
			head = []any{"(outside)", nil, nil, nil, nil, nil}
		}
		t.Rows = append(t.Rows, append(head, s.cells(m)...))
	}
	return t
}

func (s *Summary) copies() *Table {
	t := &Table{Name: "copies", Title: "Copies and fills", Columns: append([]Column{{Key: "name", Title: "copy"}}, measureColumns("count")...)}
	t.Columns = append(t.Columns, Column{Key: "bytes", Title: "size", Unit: Bytes}, Column{Key: "bandwidth_bytes_per_s", Title: "bandwidth", Unit: Rate})
	for i := range s.Copies {
		c := &s.Copies[i]
		var bytes any
		if c.Unsized < c.Works {
			bytes = c.Bytes
		}
		t.Rows = append(t.Rows, append(append([]any{c.Name}, s.cells(&c.Measures)...), bytes, optional(c.Bandwidth)))
	}
	return t
}

func (s *Summary) collectives() *Table {
	t := &Table{Name: "collectives", Title: "Collectives", Note: "size: of one; waits: until the last rank had begun; bandwidths are of the time without that, where it is known",
		Columns: []Column{{Key: "name", Title: "operation"}, {Key: "dtype", Title: "type"}, {Key: "group_size", Title: "ranks", Unit: Number}, {Key: "bytes", Title: "size", Unit: Bytes},
			{Key: "count", Title: "count", Unit: Number}, {Key: "device_ns", Title: "device", Unit: NS}, {Key: "min_ns", Title: "shortest", Unit: NS},
			{Key: "waiting_for_peer_ns", Title: "waits", Unit: NS}, {Key: "algorithm_bandwidth_bytes_per_s", Title: "algorithm bw", Unit: Rate}, {Key: "bus_bandwidth_bytes_per_s", Title: "bus bw", Unit: Rate},
			{Key: "in_elements", Title: "in", Unit: Number, Wide: true}, {Key: "out_elements", Title: "out", Unit: Number, Wide: true}}}
	for i := range s.Collectives {
		c := &s.Collectives[i]
		var size any
		if c.Ranks > 0 {
			size = int64(c.Ranks)
		}
		t.Rows = append(t.Rows, []any{c.Name, c.Dtype, size, optional(c.Bytes), c.Count, c.DeviceNS, c.MinNS, optional(c.WaitNS),
			optional(c.AlgorithmBandwidth), optional(c.BusBandwidth), optional(c.In), optional(c.Out)})
	}
	return t
}

func (s *Summary) calls() *Table {
	t := &Table{Name: "calls", Title: "API calls", Columns: []Column{{Key: "name", Title: "call"}, {Key: "calls", Title: "calls", Unit: Number},
		{Key: "cpu_self_ns", Title: "CPU", Unit: NS}, {Key: "cpu_total_ns", Title: "CPU total", Unit: NS, Wide: true}, {Key: "mean_ns", Title: "mean", Unit: NS}, {Key: "max_ns", Title: "longest", Unit: NS},
		{Key: "started", Title: "work started", Unit: Number}, {Key: "failed", Title: "failed", Unit: Number, Wide: true}}}
	for i := range s.Calls {
		c := &s.Calls[i]
		t.Rows = append(t.Rows, []any{c.Name, c.Calls, c.SelfNS, c.TotalNS, mean(c.TotalNS, c.Calls), c.MaxNS, c.Works, c.Failed})
	}
	return t
}
