package report

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/flagos-ai/flagos-trace/calltree"
	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/internal/hugepage"
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

// rows makes the rows of a trace: its steps, what its host threads called, its streams.
// hidden is how many threads there are beside those that have a row.
func (v *view) rows() (rows []Row, hidden int) {
	threads := v.threads()
	shown := threads[:min(len(threads), maxHostRows)]
	return append([]Row{}, slices.Concat(v.steps(), shown, v.streams())...), len(threads) - len(shown)
}

func (v *view) steps() []Row {
	r := Row{Kind: RowSteps, Label: "steps", Device: -1}
	for n := range v.m.Steps {
		e := v.x.At(n)
		r.put(one(e.Start, e.End, v.name(e.Name), 0))
	}
	if len(r.pieces) == 0 {
		return nil
	}
	inOrder(r.pieces)
	return []Row{r}
}

func (r *Row) put(p piece) {
	r.pieces = hugepage.Append(r.pieces, p)
	r.Spans++
	r.NS += p.busy
}

// threads shows the operators and calls of threads that are in no other operator, the
// threads with the most first.
func (v *view) threads() []Row {
	x := v.x
	var out []Row
	for row, nodes := range x.Threads() {
		r := Row{Kind: RowHost, Label: rowLabel(&v.t.Rows[row]), Device: -1}
		count := 0
		for range v.outermost(nodes) {
			count++
		}
		r.pieces = hugepage.Make[piece](count)[:0]
		for n := range v.outermost(nodes) {
			e := x.At(n)
			r.put(one(e.Start, e.End, v.name(e.Name), uint8(x.Class(n))))
		}
		if len(r.pieces) > 0 {
			inOrder(r.pieces)
			out = append(out, r)
		}
	}
	slices.SortStableFunc(out, func(a, b Row) int { return cmp.Compare(b.Spans, a.Spans) })
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

// streams has a row for each stream of each device.
func (v *view) streams() []Row {
	x := v.x
	type key struct {
		device int
		has    bool
		stream uint32 // or the row, where the trace says no stream
	}
	at := map[key]int{}
	var out []Row
	var order []key
	for d := range v.m.Devices {
		for _, w := range v.m.Devices[d].Works {
			e := x.WorkAt(w)
			p := &v.t.Places[e.Place]
			k := key{device: d, has: p.Has&event.HasStream != 0, stream: p.Stream}
			if !k.has {
				k.stream = e.Row
			}
			i, ok := at[k]
			if !ok {
				i = len(out)
				at[k] = i
				label := fmt.Sprintf("stream %d", p.Stream)
				if !k.has {
					label = rowLabel(&v.t.Rows[e.Row])
				}
				out = append(out, Row{Kind: RowStream, Label: label, Device: d})
				order = append(order, k)
			}
			out[i].put(one(e.Start, e.End, v.name(e.Name), v.kinds[w]))
		}
	}
	index := make([]int, len(out))
	for i := range index {
		index[i] = i
		inOrder(out[i].pieces)
	}
	slices.SortStableFunc(index, func(a, b int) int {
		return cmp.Or(cmp.Compare(order[a].device, order[b].device), cmp.Compare(order[a].stream, order[b].stream))
	})
	sorted := make([]Row, len(out))
	for i, k := range index {
		sorted[i] = out[k]
	}
	return sorted
}
