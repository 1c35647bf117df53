package compare

import (
	"maps"
	"slices"

	"github.com/flagos-ai/flagos-trace/calltree"
)

// kernelPlaces is what is left of a kernel, class or family, by side.
type kernelPlaces struct {
	loose, linked [2][]place
	other         [2]bool // some of loose has operators that are not its own
	compiled      bool
}

// eagerToo reports whether work with operators takes part: against such of which they
// are not known for another reason than that the trace did not see them (a graph's
// replay, a compiler), or where the whole side has operators.
func (k *kernelPlaces) eagerToo(side int) bool {
	return k.other[1-side] || len(k.loose[1-side]) > 0 && len(k.loose[side]) == 0
}

// byKernel matches what is left by kernels' names, classes or families.
func (m *matcher) byKernel(level Level) {
	all := map[string]*kernelPlaces{}
	for side := range m.units {
		for _, u := range m.keys(Side(side)) {
			for _, p := range m.units[side][u] {
				key := m.kernelKey(level, Side(side), p)
				k := all[key]
				if k == nil {
					k = new(kernelPlaces)
					all[key] = k
				}
				if u.loose == linked {
					k.linked[side] = append(k.linked[side], p)
				} else {
					k.loose[side] = append(k.loose[side], p)
					k.other[side] = k.other[side] || u.loose != unlinked
					k.compiled = k.compiled || u.loose == compiled
				}
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		k := all[key]
		if level == ByFamily && !k.compiled {
			continue
		}
		var met [2][]place
		for side := range met {
			if k.eagerToo(side) {
				met[side] = append(met[side], k.linked[side]...)
			}
			met[side] = append(met[side], k.loose[side]...)
		}
		if len(met[Base]) == 0 || len(met[New]) == 0 || len(k.loose[Base])+len(k.loose[New]) == 0 {
			continue
		}
		g := m.group(Group{Level: level, Kernel: key})
		for side := range met {
			for _, p := range met[side] {
				m.put(Side(side), p, g)
			}
		}
	}
	m.dropPut()
}

// kernelKey is what work is matched by at a level of kernels.
func (m *matcher) kernelKey(level Level, side Side, p place) string {
	r := m.runs[side][p.run]
	class := m.classes.list[r.class[p.work]]
	switch level {
	case ByKernel:
		return r.tree.WorkName(p.work)
	case ByClass:
		return class
	}
	return m.rules.Family(class)
}

// dropPut takes from the units what was put into groups one by one.
func (m *matcher) dropPut() {
	for side := range m.units {
		for u, list := range m.units[side] {
			left := slices.DeleteFunc(list, func(p place) bool { return m.runs[side][p.run].group[p.work] >= 0 })
			if len(left) == 0 {
				delete(m.units[side], u)
			} else {
				m.units[side][u] = left
			}
		}
	}
}

// rest makes groups of what has no counterpart: by operator, or by class of kernel.
func (m *matcher) rest() {
	for side := range m.units {
		byPath := map[calltree.Path]int32{}
		byClass := map[uint32]int32{}
		for _, u := range m.keys(Side(side)) {
			for _, p := range m.units[side][u] {
				if u.path != calltree.Top {
					g, ok := byPath[u.path]
					if !ok {
						g = m.group(Group{Level: OneSided, Path: u.path})
						byPath[u.path] = g
					}
					m.put(Side(side), p, g)
					continue
				}
				class := m.runs[side][p.run].class[p.work]
				g, ok := byClass[class]
				if !ok {
					g = m.group(Group{Level: OneSided, Kernel: m.classes.list[class]})
					byClass[class] = g
				}
				m.put(Side(side), p, g)
			}
		}
		clear(m.units[side])
	}
}

// sum adds up the work of groups and sides.
func (m *Matching) sum() {
	for side, runs := range m.runs {
		for _, r := range runs {
			for w := range r.tree.Works() {
				one := Sum{1, r.tree.WorkAt(w).Duration()}
				g := &m.Groups[r.group[w]]
				g.Sums[side].add(one)
				m.Total[side].add(one)
				if g.Level != OneSided {
					m.Met[side].add(one)
				}
				if r.tree.Operator(w) != calltree.None {
					m.Linked[side].add(one)
					if g.Level.Linked() {
						m.Matched[side].add(one)
					}
				}
			}
		}
	}
}
