package calltree

import (
	"cmp"
	"slices"

	"github.com/flagos-ai/flagos-trace/timeline"
)

// backward is a backward operator, and the forward operator that it is of.
type backward struct{ node, of Node }

// departure is where an arrow from a forward operator begins.
type departure struct {
	arrowName
	from Node
}

func (d departure) compare(e arrowName) int {
	if d.id != e.id {
		return cmp.Compare(d.id, e.id)
	}
	return cmp.Compare(d.name, e.name)
}

// linkForward reads the arrows from forward operators to backward ones.
func (x *Tree) linkForward() {
	autograd, n := x.autogradNames()
	if n == 0 {
		return
	}
	find := finder{x: x, last: slices.Clone(x.first[:len(x.rows)])}
	operatorAt := func(f *timeline.FlowPoint) Node {
		n := x.Enclosing(find.around(f.Row, f.TS), Operator)
		// Of those that begin there, the outer one.
		for n != None && x.parent[n] != None && x.class[x.parent[n]] == Operator && x.At(x.parent[n]).Start == f.TS {
			n = x.parent[n]
		}
		return n
	}
	starts := make([]departure, 0, n)
	for i := range x.t.Flows {
		if f := &x.t.Flows[i]; f.Start && autograd[f.Name] {
			if n := operatorAt(f); n != None {
				starts = append(starts, departure{arrowName{f.Name, f.ID}, n})
			}
		}
	}
	// Of several of a name the last one in the document counts.
	byName := func(a, b departure) int { return a.compare(b.arrowName) }
	if !slices.IsSortedFunc(starts, byName) {
		slices.SortStableFunc(starts, byName)
	}
	x.forward = make([]backward, 0, len(starts))
	behind := 0
	for i := range x.t.Flows {
		f := &x.t.Flows[i]
		if f.Start || f.Step || !autograd[f.Name] {
			continue
		}
		name := arrowName{f.Name, f.ID}
		behind = searchNear(len(starts), behind, func(k int) bool { return starts[k].compare(name) > 0 })
		if behind == 0 || starts[behind-1].arrowName != name {
			continue
		}
		from := starts[behind-1].from
		if n := operatorAt(f); n != None && n != from {
			x.forward = append(x.forward, backward{n, from})
		}
	}
	x.sortForward()
}

// autogradNames says which names arrows from forward to backward operators have, and
// how many of these begin somewhere.
func (x *Tree) autogradNames() (is []bool, n int) {
	is = make([]bool, x.t.Strings.Len())
	asked := make([]bool, len(is))
	for i := range x.t.Flows {
		f := &x.t.Flows[i]
		if !f.Start {
			continue
		}
		if !asked[f.Name] {
			asked[f.Name], is[f.Name] = true, isAutograd(x.t.Strings.At(f.Name))
		}
		if is[f.Name] {
			n++
		}
	}
	return is, n
}

// sortForward puts backward operators in order. Of several arrows to one the last in
// the document counts.
func (x *Tree) sortForward() {
	byNode := func(a, b backward) int { return cmp.Compare(a.node, b.node) }
	if !slices.IsSortedFunc(x.forward, byNode) {
		slices.SortStableFunc(x.forward, byNode)
	}
	out := x.forward[:0]
	for i, b := range x.forward {
		if i+1 == len(x.forward) || x.forward[i+1].node != b.node {
			out = append(out, b)
		}
	}
	x.forward = out
}
