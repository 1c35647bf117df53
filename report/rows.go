package report

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/flagos-ai/flagos-trace/calltree"
	"github.com/flagos-ai/flagos-trace/measure"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// maxHostRows is how many threads of a trace have a row: those with the most operators.
const maxHostRows = 4

// view is a trace while it is reduced.
type view struct {
	t     *timeline.Trace
	x     *calltree.Tree
	m     *measure.Run
	kinds []uint8
	names *names
	ids   []int32 // by string of the trace: name + 1
}

func (v *view) name(id uint32) int32 {
	n := v.ids[id]
	if n == 0 {
		n = v.names.id(v.t.Strings.At(id)) + 1
		v.ids[id] = n
	}
	return n - 1
}

// rows makes the rows of a trace: its steps, what its host threads called, its streams;
// in them are no more than most pieces, if that is possible, at the resolution that is
// returned. hidden is how many threads there are beside those that have a row.
func (v *view) rows(most int) (rows []Row, resolution int64, hidden int) {
	threads := v.threads()
	shown := threads[:min(len(threads), maxHostRows)]
	spans := len(v.m.Steps)
	for i := range shown {
		spans += shown[i].spans
	}
	for i := range v.m.Devices {
		spans += len(v.m.Devices[i].Works)
	}
	d := detail{most: most}
	window := v.t.Window.End - v.t.Window.Start
	if r := coarser(0, window); spans > most && r <= window {
		d.resolution = r
	}
	rows, ok := v.lines(shown, d)
	if !ok {
		d.resolution = 0
		rows, _ = v.lines(shown, d)
	}
	resolution = fit(rows, window, d.resolution, most)
	for i := range rows {
		for k := range rows[i].Pieces {
			p := &rows[i].Pieces[k]
			p.name = uint32(v.name(p.name))
		}
	}
	return rows, resolution, len(threads) - len(shown)
}

// lines makes rows. It fails where a resolution was asked for, and spans do not come in
// the order of their starts.
func (v *view) lines(shown []hostThread, d detail) ([]Row, bool) {
	rows := []Row{}
	for _, l := range slices.Concat(v.steps(d), v.hosts(shown, d), v.streams(d)) {
		if !l.order() {
			return nil, false
		}
		rows = append(rows, l.Row)
	}
	return rows, true
}

func (v *view) steps(d detail) []line {
	if len(v.m.Steps) == 0 {
		return nil
	}
	nodes := slices.SortedFunc(maps.Keys(v.m.Steps), func(a, b calltree.Node) int {
		x, y := v.x.At(a), v.x.At(b)
		return cmp.Or(cmp.Compare(x.Start, y.Start), cmp.Compare(y.End, x.End), cmp.Compare(a, b))
	})
	l := newLine(Row{Kind: RowSteps, Label: "steps", Device: -1}, len(nodes), d)
	for _, n := range nodes {
		e := v.x.At(n)
		l.put(e.Start, e.End, e.Name, 0)
	}
	return []line{l}
}

// hostThread is a thread of the host that has operators or calls.
type hostThread struct {
	row   uint32
	nodes [2]calltree.Node
	spans int // that are in no other
}

// threads are those of the host, those with the most spans first.
func (v *view) threads() []hostThread {
	var out []hostThread
	for row, nodes := range v.x.Threads() {
		t := hostThread{row: row, nodes: nodes}
		for range v.outermost(nodes) {
			t.spans++
		}
		if t.spans > 0 {
			out = append(out, t)
		}
	}
	slices.SortStableFunc(out, func(a, b hostThread) int { return cmp.Compare(b.spans, a.spans) })
	return out
}

// hosts shows the operators and calls of threads that are in no other operator.
func (v *view) hosts(threads []hostThread, d detail) []line {
	var out []line
	for _, t := range threads {
		l := newLine(Row{Kind: RowHost, Label: rowLabel(&v.t.Rows[t.row]), Device: -1}, t.spans, d)
		for n := range v.outermost(t.nodes) {
			e := v.x.At(n)
			l.put(e.Start, e.End, e.Name, uint8(v.x.Class(n)))
		}
		out = append(out, l)
	}
	return out
}

// outermost yields the operators and calls of a thread that are in no other.
func (v *view) outermost(nodes [2]calltree.Node) iter.Seq[calltree.Node] {
	return func(yield func(calltree.Node) bool) {
		for n := nodes[0]; n < nodes[1]; {
			if c := v.x.Class(n); c != calltree.Operator && c != calltree.Call {
				n++
				continue
			}
			if !yield(n) {
				return
			}
			n = v.x.End(n)
		}
	}
}

func rowLabel(r *timeline.Row) string {
	tid := r.TIDText
	if tid == "" {
		tid = fmt.Sprint(r.TID)
	}
	if strings.Contains(r.Name, tid) {
		return r.Name // as Kineto has it: "thread 7 (python)"
	}
	if r.Name != "" {
		return fmt.Sprintf("thread %s (%s)", tid, r.Name)
	}
	return "thread " + tid
}
