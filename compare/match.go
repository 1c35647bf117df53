package compare

import (
	"cmp"
	"maps"
	"slices"

	"github.com/flagos-ai/flagos-trace/calltree"
)

// Level says by what the work of a group is the same.
type Level uint8

// Levels, the surest first.
const (
	ByPath     Level = iota // the operator, and all operators around it
	ByOperator              // the operator, some of those around it
	ByAncestor              // an operator around it
	ByKernel                // the name of the kernel
	ByClass                 // the class of the kernel
	ByFamily                // the family of classes, where a compiler chose the kernels
	OneSided                // nothing: there is none on the other side
	NumLevels
)

var levelNames = [NumLevels]string{"path", "operator", "ancestor", "kernel", "class", "family", "one side only"}

// String returns the level in a word or three.
func (l Level) String() string { return levelNames[l] }

// Linked reports whether the level is one of operators.
func (l Level) Linked() bool { return l <= ByAncestor }

// Sum is an amount of device work.
type Sum struct {
	Works    int64 `json:"count"`
	DeviceNS int64 `json:"device_ns"`
}

func (s *Sum) add(o Sum) { s.Works, s.DeviceNS = s.Works+o.Works, s.DeviceNS+o.DeviceNS }

// Group is work of both sides that is compared, or of one side that has none to be
// compared with.
type Group struct {
	Level Level
	// Path is the operator, in Matching.Paths, where the level is one of operators or
	// the work of one side is linked; else Top.
	Path calltree.Path
	// Kernel is the name, class or family where the level is one of those, and the
	// class of unlinked work of one side.
	Kernel string
	// Sums is the work of each side, all runs together.
	Sums [2]Sum
}

// Matching says which work of two sides is the same.
type Matching struct {
	Paths  *calltree.Paths
	Groups []Group
	// Linked is the work of each side that has an operator, and Matched how much of it
	// is in groups of both sides by operators. Total is all work, Met what is in
	// groups of both sides.
	Total, Linked, Matched, Met [2]Sum

	runs    [2][]*run
	rules   *Rules
	classes names
}

// Match finds what is the same work in the traces of two sides. Every span of device
// work is in exactly one group.
func Match(base, now []*calltree.Tree, r *Rules) *Matching {
	m := &matcher{rules: r, paths: calltree.NewPaths(r.label)}
	for side, trees := range [2][]*calltree.Tree{base, now} {
		for _, x := range trees {
			m.runs[side] = append(m.runs[side], m.prepare(x))
		}
	}
	m.collect()
	m.byPath()
	m.byOperator()
	m.byAncestor()
	for _, level := range []Level{ByKernel, ByClass, ByFamily} {
		m.byKernel(level)
	}
	m.rest()
	out := &Matching{Paths: m.paths, Groups: m.groups, runs: m.runs, rules: r, classes: m.classes}
	out.sum()
	return out
}

// Of returns the group of a span of device work of a run.
func (m *Matching) Of(s Side, run int, w calltree.Work) int { return int(m.runs[s][run].group[w]) }

// Name returns what a group is called: its operator, or its kernels.
func (m *Matching) Name(g *Group) string {
	for p := g.Path; p > calltree.Top; p = m.Paths.Parent(p) {
		if m.Paths.Class(p) == calltree.Operator || p == g.Path && m.Paths.Class(p) == calltree.Annotation {
			return m.Paths.Label(p)
		}
	}
	return g.Kernel
}

type matcher struct {
	rules    *Rules
	paths    *calltree.Paths
	classes  names
	compiled []bool // by path
	runs     [2][]*run
	units    [2]map[unitKey][]place // work that is in no group yet
	groups   []Group
}

// place is a span of device work of a side.
type place struct {
	run  int32
	work calltree.Work
}

func (m *matcher) collect() {
	for side := range m.runs {
		m.units[side] = map[unitKey][]place{}
		for i, r := range m.runs[side] {
			for w, u := range r.unit {
				m.units[side][u] = append(m.units[side][u], place{int32(i), calltree.Work(w)})
			}
		}
	}
}

// keys are the units of a side, in an order that does not change.
func (m *matcher) keys(side Side) []unitKey {
	return slices.SortedFunc(maps.Keys(m.units[side]), func(a, b unitKey) int {
		return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.loose, b.loose))
	})
}

// group opens a group.
func (m *matcher) group(g Group) int32 {
	m.groups = append(m.groups, g)
	return int32(len(m.groups) - 1)
}

// take puts all work of a unit into a group.
func (m *matcher) take(side Side, u unitKey, group int32) {
	for _, p := range m.units[side][u] {
		m.put(side, p, group)
	}
	delete(m.units[side], u)
}

func (m *matcher) put(side Side, p place, group int32) {
	m.runs[side][p.run].group[p.work] = group
}

// at returns the units of a path that have an operator and are in no group yet.
func (m *matcher) at(side Side, p calltree.Path) (found []unitKey) {
	for _, l := range []loose{linked, replayed, compiled} {
		if _, ok := m.units[side][unitKey{p, l}]; ok {
			found = append(found, unitKey{p, l})
		}
	}
	return found
}

// byPath matches work of the same operator below the same operators.
func (m *matcher) byPath() {
	for p := range calltree.Path(m.paths.Len()) {
		base, now := m.at(Base, p), m.at(New, p)
		if p == calltree.Top || len(base) == 0 || len(now) == 0 {
			continue
		}
		g := m.group(Group{Level: ByPath, Path: p})
		for side, units := range [2][]unitKey{base, now} {
			for _, u := range units {
				m.take(Side(side), u, g)
			}
		}
	}
}

// maxSame bounds how many places of one operator are tried against each other.
const maxSame = 256

// byOperator matches work of one operator where one side has more operators around
// it: a wrapper that came with another version.
func (m *matcher) byOperator() {
	type candidates [2][]calltree.Path
	same := map[string]*candidates{}
	var order []string
	for side := range m.units {
		for _, u := range m.keys(Side(side)) {
			if u.path == calltree.Top || u.loose == unlinked || m.paths.Class(u.path) != calltree.Operator {
				continue
			}
			name := m.paths.Label(u.path)
			c := same[name]
			if c == nil {
				c = new(candidates)
				same[name] = c
				order = append(order, name)
			}
			if l := c[side]; len(l) < maxSame && (len(l) == 0 || l[len(l)-1] != u.path) {
				c[side] = append(l, u.path)
			}
		}
	}
	for _, name := range order {
		c := same[name]
		for _, p := range c[Base] {
			best, depth := calltree.Path(-1), -1
			a := m.operators(p)
			for _, q := range c[New] {
				b := m.operators(q)
				if (within(a, b) || within(b, a)) && min(len(a), len(b)) > depth && len(m.at(New, q)) > 0 {
					best, depth = q, min(len(a), len(b))
				}
			}
			if best < 0 {
				continue
			}
			g := m.group(Group{Level: ByOperator, Path: p})
			for _, u := range m.at(Base, p) {
				m.take(Base, u, g)
			}
			for _, u := range m.at(New, best) {
				m.take(New, u, g)
			}
		}
	}
}

// maxOperators is how many operators of a path are compared where it is about
// wrappers: deeper nesting is a program's recursion, or nonsense.
const maxOperators = 64

// operators are the labels of the operators of a path, the innermost first.
func (m *matcher) operators(p calltree.Path) (list []string) {
	for ; p > calltree.Top && len(list) < maxOperators; p = m.paths.Parent(p) {
		if m.paths.Class(p) == calltree.Operator {
			list = append(list, m.paths.Label(p))
		}
	}
	return list
}

// within reports whether b has all of a in its order.
func within(a, b []string) bool {
	for _, s := range b {
		if len(a) == 0 {
			break
		}
		if a[0] == s {
			a = a[1:]
		}
	}
	return len(a) == 0
}

// byAncestor lets what is left on both sides meet at the lowest operator that it is
// under.
func (m *matcher) byAncestor() {
	n := m.paths.Len()
	var pending [2][][]unitKey
	for side := range pending {
		pending[side] = make([][]unitKey, n)
		for _, u := range m.keys(Side(side)) {
			if u.loose != unlinked {
				pending[side][u.path] = append(pending[side][u.path], u)
			}
		}
	}
	// A path has a greater number than the one it is below.
	for p := calltree.Path(n - 1); p > calltree.Top; p-- {
		base, now := pending[Base][p], pending[New][p]
		if len(base) > 0 && len(now) > 0 && m.paths.Class(p) == calltree.Operator {
			g := m.group(Group{Level: ByAncestor, Path: p})
			for side := range pending {
				for _, u := range pending[side][p] {
					m.take(Side(side), u, g)
				}
			}
			continue
		}
		up := m.paths.Parent(p)
		pending[Base][up] = append(pending[Base][up], base...)
		pending[New][up] = append(pending[New][up], now...)
	}
}
