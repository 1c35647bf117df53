package summary

import (
	"cmp"

	"github.com/flagos-ai/flagos-trace/calltree"
)

// scopes adds up modules and annotations.
func (p *part) scopes() {
	x := p.x
	for _, s := range []struct {
		class calltree.Class
		of    func(calltree.Work) calltree.Node
		rows  map[string]*Scope
	}{
		{calltree.Module, x.Module, p.tables.modules},
		{calltree.Annotation, x.Annotation, p.tables.annotations},
	} {
		any := false
		for n := range x.Nodes() {
			if x.Class(n) != s.class || p.nodes != nil {
				continue
			}
			any = true
			r := scope(s.rows, p.scopeName(n))
			r.Calls++
			if !p.inNamesake(n, s.class) {
				r.CPUTotalNS += x.At(n).Duration()
			}
		}
		any = any || p.nodes != nil
		seen := map[uint32]calltree.Work{} // by name: the last work that was counted
		for w := range x.Works() {
			if !p.works[w].selected || !any {
				continue
			}
			n := s.of(w)
			name := ""
			if n != calltree.None {
				name = p.scopeName(n)
			}
			scope(s.rows, name).Measures.Add(&p.m.Works[w])
			for n != calltree.None {
				id := x.At(n).Name
				if last, ok := seen[id]; !ok || last != w {
					seen[id] = w
					scope(s.rows, p.scopeName(n)).DeviceTotalNS += x.WorkAt(w).Duration()
				}
				n = x.Enclosing(x.Parent(n), s.class)
			}
		}
		for name, r := range s.rows {
			r.Name = name
			if name == "" {
				r.DeviceTotalNS = r.DeviceNS
			}
		}
	}
}

// scopeName is the name of a scope: "" stands for what is outside of all.
func (p *part) scopeName(n calltree.Node) string { return cmp.Or(p.x.Name(n), "(no name)") }

// scope returns the row of a scope.
func scope(rows map[string]*Scope, name string) *Scope {
	r := row(rows, name)
	if r.Work == nil {
		r.Work = new(Work)
	}
	return r
}

// inNamesake reports whether a node is inside one of its class and name.
func (p *part) inNamesake(n calltree.Node, c calltree.Class) bool {
	x := p.x
	up := x.Parent(n)
	for depth := 0; depth < 64 && up != calltree.None; depth++ {
		if up = x.Enclosing(up, c); up == calltree.None {
			return false
		}
		if x.At(up).Name == x.At(n).Name {
			return true
		}
		up = x.Parent(up)
	}
	return false
}
