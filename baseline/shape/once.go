package shape

import (
	"github.com/flagos-ai/flagos-trace/calltree"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// workOnce counts the work of a stream, sorted by its times, that stands in the trace
// twice: with the same times, correlation id, row and name. Whole microseconds tell no
// two nodes of a graph apart.
func (s *scanner) workOnce(list []streamWork) {
	if !s.hasFractions() {
		return
	}
	t := s.t
	m := s.measure(WorkOnce)
	for i := range list {
		m.Checked++
		if i == 0 || list[i].correlation == 0 {
			continue
		}
		a, b := &list[i-1], &list[i]
		if a.start != b.start || a.end != b.end || a.correlation != b.correlation {
			continue
		}
		if x, y := t.Events.At(a.event), t.Events.At(b.event); x.Name == y.Name && x.Row == y.Row {
			x := s.example(b.event)
			x.Want, x.Got, x.NS = "once", "again, with the same times and correlation id "+itoa(int64(b.correlation)), b.end-b.start
			m.bad(x)
		}
	}
}

// nesting checks what stands inside what on a thread: an operator is not inside
// itself, which is how one looks that was written twice, and an API call has the
// External id of the operator around it.
func (s *scanner) nesting() {
	tree := s.tree
	once, nested := s.measure(OperatorsOnce), s.measure(CallNested)
	external := func(n calltree.Node) (id int64, ok bool) {
		if n == calltree.None {
			return 0, false
		}
		e := tree.At(n)
		return e.External, e.Flags&timeline.HasExternal != 0
	}
	for n := range tree.Nodes() {
		e := tree.At(n)
		mine, has := external(n)
		if !has {
			continue
		}
		switch {
		case tree.Class(n) == calltree.Operator:
			once.Checked++
			p := tree.Parent(n)
			if id, ok := external(p); ok && id == mine {
				if q := tree.At(p); q.Start == e.Start && q.End == e.End && q.Name == e.Name {
					x := s.example(tree.Event(n))
					x.Want, x.Got = "once", "again, with the same times and External id "+itoa(mine)
					once.bad(x)
				}
			}
		case e.Kind.IsAPI() && mine != int64(e.Correlation): // of older versions it is that
			op := tree.Enclosing(n, calltree.Operator)
			if id, ok := external(op); ok {
				nested.Checked++
				if id != mine {
					x := s.example(tree.Event(n))
					x.Key, x.Want, x.Got = "External id", itoa(id)+", that of "+tree.Name(op)+" around it", itoa(mine)
					nested.bad(x)
				}
			}
		}
	}
}
