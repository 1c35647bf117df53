package shape

import (
	"strings"

	"github.com/flagos-ai/flagos-trace/calltree"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// operators lists the operators with the kinds of device work they start.
func (s *scanner) operators() {
	t, tree := s.t, s.tree
	ops := make([]*Operator, t.Strings.Len())
	for n := range tree.Nodes() {
		if tree.Class(n) != calltree.Operator {
			continue
		}
		e := tree.At(n)
		p := ops[e.Name]
		if p == nil {
			p = &Operator{Presence: Always}
			ops[e.Name] = p
			if s.shape.Operators == nil {
				s.shape.Operators = map[string]*Operator{}
			}
			s.shape.Operators[t.Strings.At(e.Name)] = p
			s.o.OperatorFirst[t.Strings.At(e.Name)] = tree.Event(n)
			s.keep(tree.Event(n))
		}
	}
	type kernel struct{ operator, name uint32 }
	ran := map[kernel]int64{}
	for w := range tree.Works() {
		op := tree.Operator(w)
		if op == calltree.None || tree.Class(op) != calltree.Operator {
			continue
		}
		e, p := tree.WorkAt(w), ops[tree.At(op).Name]
		kind := canonical[e.Kind]
		if p.Work[kind] == "" {
			if p.Work == nil {
				p.Work = map[string]Presence{}
			}
			p.Work[kind] = Always
		}
		if e.Kind == timeline.Kernel {
			ran[kernel{tree.At(op).Name, e.Name}]++
		}
	}
	for k, n := range ran {
		operator, name := t.Strings.At(k.operator), t.Strings.At(k.name)
		ops[k.operator].Kernels = append(ops[k.operator].Kernels, kernelName(name))
		if s.o.OperatorKernels[operator] == nil {
			s.o.OperatorKernels[operator] = map[string]int64{}
		}
		s.o.OperatorKernels[operator][name] = n
	}
	for _, p := range s.shape.Operators {
		p.Kernels = union(p.Kernels, nil)
	}
}

// rows checks and lists the names of rows and the labels of processes.
func (s *scanner) rows() {
	t := s.t
	rowsNamed, labelled := s.measure(RowsNamed), s.measure(ProcessesLabeled)
	s.shape.Rows = map[string]map[string]Presence{}
	list := func(kind, name string) {
		if s.shape.Rows[kind] == nil {
			s.shape.Rows[kind] = map[string]Presence{}
		}
		s.shape.Rows[kind][name] = Always
	}
	type process struct {
		pid  int64
		text string
	}
	used := map[process]bool{} // to true for those with device work
	for i := range t.Rows {
		r := &t.Rows[i]
		if !s.rowUsed[i] || r.EmptyPID {
			continue
		}
		p := process{r.PID, r.PIDText}
		used[p] = used[p] || r.Kind == timeline.RowStream
		switch r.Kind {
		case timeline.RowStream:
			rowsNamed.Checked++
			if r.Name == "" {
				rowsNamed.bad(Example{Event: -1, Offset: -1, Name: rowText(r)})
			} else {
				list("stream", Pattern(r.Name))
			}
		case timeline.RowThread:
			if r.Name != "" {
				name, _, _ := strings.Cut(r.Name, " (")
				list("thread", Pattern(name))
			}
		}
	}
	labels := map[process]string{}
	for i := range t.Groups {
		g := &t.Groups[i]
		p := process{g.PID, g.PIDText}
		if device, ok := used[p]; ok && g.Label != "" {
			labels[p] = g.Label
			if device {
				list("device label", Pattern(g.Label))
			} else {
				list("host label", Pattern(g.Label))
			}
		}
	}
	for p, device := range used {
		if !device {
			continue
		}
		labelled.Checked++
		if labels[p] == "" {
			labelled.bad(Example{Event: -1, Offset: -1, Name: rowText(&timeline.Row{PID: p.pid, PIDText: p.text})})
		}
	}
}

func rowText(r *timeline.Row) string {
	pid, tid := r.PIDText, r.TIDText
	if pid == "" {
		pid = itoa(r.PID)
	}
	if tid == "" {
		tid = itoa(r.TID)
	}
	return "pid " + pid + ", tid " + tid
}
