package calltree

import (
	"cmp"
	"slices"
	"sort"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// isAutograd reports whether arrows of a name lead from forward to backward operators.
func isAutograd(name string) bool { return chrome.DefaultRules().IsAutogradFlow(name) }

// place is a moment on a row.
type place struct {
	row uint32
	ts  int64
}

func (p place) compare(q place) int {
	return cmp.Or(cmp.Compare(p.row, q.row), cmp.Compare(p.ts, q.ts))
}

// arrows lead from device work straight to the operator, in traces (Ascend's) where
// the call is on a thread of its own.
type arrows struct {
	ends   []arrowEnd          // in the order of their places
	starts map[arrowName]place // the last of each
}

type arrowName struct {
	name uint32
	id   uint64
}

type arrowEnd struct {
	place
	arrow arrowName
}

// newArrows collects the arrows that end on rows with device work and begin on
// those with nodes.
func (x *Tree) newArrows() (a arrows) {
	if len(x.t.Flows) == 0 || len(x.event) == 0 {
		return a
	}
	device := make([]bool, len(x.t.Rows))
	for w := range x.Works() {
		device[x.WorkAt(w).Row] = true
	}
	for i := range x.t.Flows {
		if f := &x.t.Flows[i]; !f.Start && !f.Step && device[f.Row] && !isAutograd(x.t.Strings.At(f.Name)) {
			a.ends = append(a.ends, arrowEnd{place{f.Row, f.TS}, arrowName{f.Name, f.ID}})
		}
	}
	if len(a.ends) == 0 {
		return a
	}
	slices.SortFunc(a.ends, func(p, q arrowEnd) int { return p.compare(q.place) })
	a.starts = map[arrowName]place{}
	for i := range x.t.Flows {
		if f := &x.t.Flows[i]; f.Start {
			a.starts[arrowName{f.Name, f.ID}] = place{f.Row, f.TS}
		}
	}
	return a
}

// from returns the operator that an arrow to work comes from.
func (a *arrows) from(x *Tree, work *timeline.Event) Node {
	to := place{work.Row, work.Start}
	i := sort.Search(len(a.ends), func(i int) bool { return a.ends[i].compare(to) >= 0 })
	for look := 0; i < len(a.ends) && a.ends[i].place == to && look < maxLook; i, look = i+1, look+1 {
		if from, ok := a.starts[a.ends[i].arrow]; ok {
			if n := x.Enclosing(x.Around(from.row, from.ts), Operator); n != None {
				return n
			}
		}
	}
	return None
}

// Around returns the innermost node of a row at a moment, ns, None where nothing is
// running. A span's end is not part of it, but for one that has no length.
func (x *Tree) Around(row uint32, t int64) Node {
	i, ok := slices.BinarySearch(x.rows, row)
	if !ok {
		return None
	}
	lo, hi := x.first[i], x.first[i+1]
	n := lo + Node(sort.Search(int(hi-lo), func(k int) bool { return x.At(lo+Node(k)).Start > t })) - 1
	if n < lo {
		return None
	}
	for n != None {
		if e := x.At(n); t < e.End || t == e.Start {
			return n
		}
		n = x.parent[n]
	}
	return None
}

// linkForward reads the arrows from forward operators to backward ones.
func (x *Tree) linkForward() {
	autograd := make([]bool, x.t.Strings.Len())
	n := 0
	for i := range x.t.Flows {
		if f := &x.t.Flows[i]; f.Start && (autograd[f.Name] || isAutograd(x.t.Strings.At(f.Name))) {
			autograd[f.Name] = true
			n++
		}
	}
	if n == 0 {
		return
	}
	starts := make(map[arrowName]Node, n)
	operatorAt := func(f *timeline.FlowPoint) Node {
		n := x.Enclosing(x.Around(f.Row, f.TS), Operator)
		// Of those that begin there, the outer one.
		for n != None && x.parent[n] != None && x.class[x.parent[n]] == Operator && x.At(x.parent[n]).Start == f.TS {
			n = x.parent[n]
		}
		return n
	}
	for i := range x.t.Flows {
		if f := &x.t.Flows[i]; f.Start && autograd[f.Name] {
			if n := operatorAt(f); n != None {
				starts[arrowName{f.Name, f.ID}] = n
			}
		}
	}
	if len(starts) == 0 {
		return
	}
	x.forward = make(map[Node]Node, len(starts))
	for i := range x.t.Flows {
		f := &x.t.Flows[i]
		if f.Start || f.Step {
			continue
		}
		if from, ok := starts[arrowName{f.Name, f.ID}]; ok {
			if n := operatorAt(f); n != None && n != from {
				x.forward[n] = from
			}
		}
	}
}
