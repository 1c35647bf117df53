package compare

import (
	"github.com/flagos-ai/flagos-trace/calltree"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// Side is one of the two sides of a comparison.
type Side int

// Sides.
const (
	Base Side = iota
	New
)

// String returns "base" or "new".
func (s Side) String() string {
	if s == Base {
		return "base"
	}
	return "new"
}

// run is one trace of a side, with what matching knows of its work.
type run struct {
	tree  *calltree.Tree
	paths []calltree.Path // by node
	group []int32         // by work
	unit  []unitKey       // by work
	class []uint32        // by work, in matcher.classes
}

// unitKey is what work is matched by at first: where in the tree it is, and whether
// it may be matched by its kernel instead.
type unitKey struct {
	path  calltree.Path
	loose loose
}

// loose says why work may be matched by its kernel.
type loose uint8

const (
	linked   loose = iota // it may not
	unlinked              // no operator is known
	replayed              // a graph's replay: operators say where the graph was launched
	compiled              // a compiler chose the kernels
)

// label is how nodes show in call paths: operators, and annotations around them.
// Steps have numbers that differ, and Python functions and modules are of the
// program, not of what it computes.
func (r *Rules) label(c calltree.Class, name string) string {
	switch c {
	case calltree.Operator, calltree.Annotation:
		return r.Operator(name)
	}
	return ""
}

// prepare numbers the paths of a tree and says by what its work is matched.
func (m *matcher) prepare(x *calltree.Tree) *run {
	r := &run{tree: x, paths: m.paths.Add(x)}
	n := x.NumWorks()
	r.group, r.unit, r.class = make([]int32, n), make([]unitKey, n), make([]uint32, n)
	type nameKey struct {
		name uint32
		kind timeline.Kind
	}
	classes := map[nameKey]uint32{}
	replays := map[uint32]bool{}
	for w := range x.Works() {
		r.group[w] = -1
		e := x.WorkAt(w)
		k := nameKey{e.Name, e.Kind}
		class, ok := classes[k]
		if !ok {
			class = m.classes.id(m.rules.Class(e.Kind, x.WorkName(w)))
			classes[k] = class
		}
		r.class[w] = class
		u := unitKey{path: calltree.Top, loose: unlinked}
		if op := x.Operator(w); op != calltree.None {
			u = unitKey{path: r.paths[op], loose: linked}
			if m.isCompiled(r.paths[op]) {
				u.loose = compiled
			}
		}
		if call := x.Call(w); call != calltree.None && u.loose != compiled {
			name := x.At(call).Name
			replay, ok := replays[name]
			if !ok {
				replay = m.rules.isReplay(x.Name(call))
				replays[name] = replay
			}
			if replay {
				u.loose = replayed
			}
		}
		r.unit[w] = u
	}
	return r
}

// isCompiled reports whether a path leads through something a compiler made.
func (m *matcher) isCompiled(p calltree.Path) bool {
	for int(p) >= len(m.compiled) {
		id := calltree.Path(len(m.compiled))
		is := false
		if id != calltree.Top {
			is = m.compiled[m.paths.Parent(id)] || m.rules.isCompiled(m.paths.Class(id), m.paths.Label(id))
		}
		m.compiled = append(m.compiled, is)
	}
	return m.compiled[p]
}

// names numbers strings.
type names struct {
	ids  map[string]uint32
	list []string
}

func (n *names) id(s string) uint32 {
	if id, ok := n.ids[s]; ok {
		return id
	}
	if n.ids == nil {
		n.ids = map[string]uint32{}
	}
	id := uint32(len(n.list))
	n.list = append(n.list, s)
	n.ids[s] = id
	return id
}
