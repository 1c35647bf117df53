package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/flagos-ai/flagos-trace/calltree"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// Tables are what device time is divided by, in the order in which they are printed.
var Tables = []string{"operator", "kernel", "class", "module", "annotation", "step", "category"}

// Table divides the device work of both sides into rows: each span is in one.
type Table struct {
	By   string `json:"by"`
	Rows []*Row `json:"rows"`
}

// Row is one line of a table.
type Row struct {
	Name string `json:"name"`
	// Met by what: the surest level of the groups in an operator's row.
	Level string `json:"matched_by,omitempty"`
	// Runs has the measures of each run of each side; of a run in which there is
	// nothing of this row they are zero.
	Base []Measures `json:"base"`
	New  []Measures `json:"new"`
	// Change is what became of its device time.
	Change Change `json:"change"`

	level Level
	// less is how much of the base's mean run the new ones do not do, more the other way
	// round, ns; explained: that is why its time changed.
	less, more float64
	explained  bool
}

// of returns the measures of a side.
func (r *Row) of(s Side) []Measures {
	if s == Base {
		return r.Base
	}
	return r.New
}

// mean returns the device time of a side's mean run, ns.
func (r *Row) mean(s Side) float64 {
	runs, sum := r.of(s), int64(0)
	for i := range runs {
		sum += runs[i].DeviceNS
	}
	return float64(sum) / float64(len(runs))
}

// Only returns the side that alone has work of the row; ok is false if both have.
func (r *Row) Only() (s Side, ok bool) {
	has := [2]bool{}
	for side := range has {
		for _, m := range r.of(Side(side)) {
			has[side] = has[side] || m.Works > 0
		}
	}
	switch {
	case has[Base] && !has[New]:
		return Base, true
	case has[New] && !has[Base]:
		return New, true
	}
	return 0, false
}

// tables divides the work of a matching.
func tables(m *Matching, of [2][]*measured) []Table {
	out := make([]Table, len(Tables))
	runs := [2]int{len(m.runs[Base]), len(m.runs[New])}
	for i, by := range Tables {
		rows := map[string]*Row{}
		for side := range m.runs {
			for n, r := range m.runs[side] {
				name := m.namer(by, r, of[side][n])
				for w := range r.tree.Works() {
					key := name(w)
					row := rows[key]
					if row == nil {
						row = &Row{Name: key, Base: make([]Measures, runs[Base]), New: make([]Measures, runs[New]), level: OneSided}
						rows[key] = row
						out[i].Rows = append(out[i].Rows, row)
					}
					row.of(Side(side))[n].Add(&of[side][n].Works[w])
					row.level = min(row.level, m.Groups[r.group[w]].Level)
				}
			}
		}
		out[i].By = by
		for _, row := range out[i].Rows {
			if by == "operator" {
				row.Level = row.level.String()
			}
		}
		slices.SortFunc(out[i].Rows, func(a, b *Row) int { return cmp.Compare(a.Name, b.Name) })
	}
	return out
}

// rowName is how the row of a group is called in the table of operators.
func (m *Matching) rowName(g *Group) string {
	switch {
	case g.Path != calltree.Top:
		return m.Name(g)
	case g.Level == ByKernel:
		return "(kernel) " + g.Kernel
	case g.Level == OneSided:
		return "(no operator) " + g.Kernel
	}
	return "(kernels) " + g.Kernel
}

// namer returns how the rows of a table are called.
func (m *Matching) namer(by string, r *run, of *measured) func(calltree.Work) string {
	x := r.tree
	span := func(find func(calltree.Work) calltree.Node, none string, name func(string) string) func(calltree.Work) string {
		return func(w calltree.Work) string {
			n := find(w)
			if n == calltree.None {
				return none
			}
			return name(x.Name(n))
		}
	}
	switch by {
	case "operator":
		return func(w calltree.Work) string { return m.rowName(&m.Groups[r.group[w]]) }
	case "kernel":
		return func(w calltree.Work) string { return x.WorkName(w) }
	case "class":
		return func(w calltree.Work) string { return m.classes.list[r.class[w]] }
	case "module":
		return span(x.Module, "(outside of modules)", func(s string) string { return strings.TrimPrefix(s, "nn.Module: ") })
	case "annotation":
		return span(x.Annotation, "(outside of annotations)", m.rules.Operator)
	case "step":
		return func(w calltree.Work) string {
			if n := of.Steps[x.Step(w)]; n > 0 {
				return fmt.Sprintf("step %d of %d", n, len(of.Steps))
			}
			return "(outside of steps)"
		}
	}
	return func(w calltree.Work) string {
		if k := x.WorkAt(w).Kind; k != timeline.MemcpyPeer {
			return k.String()
		}
		return timeline.Memcpy.String()
	}
}
