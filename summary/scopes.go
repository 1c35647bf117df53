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
		if x.Count(s.class) == 0 && p.nodes == nil {
			continue
		}
		names := scopeNames{p: p, rows: s.rows, of: make([]*Scope, p.t.Strings.Len())}
		for n := range x.Nodes() {
			if x.Class(n) != s.class || p.nodes != nil {
				continue
			}
			r := names.row(n)
			r.Calls++
			if !p.inNamesake(n, s.class) {
				r.CPUTotalNS += x.At(n).Duration()
			}
		}
		seen := make([]calltree.Work, p.t.Strings.Len()) // by name: 1 + the last work that was counted
		for w := range x.Works() {
			if !p.works[w].selected {
				continue
			}
			n := s.of(w)
			names.row(n).Measures.Add(&p.m.Works[w])
			for n != calltree.None {
				if id := x.At(n).Name; seen[id] != w+1 {
					seen[id] = w + 1
					names.row(n).DeviceTotalNS += x.WorkAt(w).Duration()
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

// scopeNames finds the rows of scopes.
type scopeNames struct {
	p       *part
	rows    map[string]*Scope
	of      []*Scope // by name
	outside *Scope
}

// row returns the row of a scope; None stands for what is outside of all, whose name is "".
func (s *scopeNames) row(n calltree.Node) *Scope {
	at, name := &s.outside, ""
	if n != calltree.None {
		at = &s.of[s.p.x.At(n).Name]
	}
	if *at != nil {
		return *at
	}
	if n != calltree.None {
		name = cmp.Or(s.p.x.Name(n), "(no name)")
	}
	r := row(s.rows, name)
	if r.Work == nil {
		r.Work = new(Work)
	}
	*at = r
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
