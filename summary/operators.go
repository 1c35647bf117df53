package summary

import (
	"strings"

	"github.com/flagos-ai/flagos-trace/calltree"
	"github.com/flagos-ai/flagos-trace/chrome"
)

// operators adds up operators, and what else External ids name.
func (p *part) operators() {
	x := p.x
	type key struct {
		name, shapes uint32
		class        calltree.Class
	}
	var shapes shapeNames
	rows := map[key]*Operator{}
	plain := make([]*Operator, p.t.Strings.Len()) // by name, operators without shapes
	of := func(n calltree.Node) *Operator {
		k := key{name: x.At(n).Name, class: x.Class(n)}
		isPlain := k.class == calltree.Operator && !p.o.ByShape
		if isPlain && plain[k.name] != nil {
			return plain[k.name]
		}
		if p.o.ByShape {
			k.shapes = shapes.id(p.t.RawArgs(x.Event(n)))
		}
		r := row(rows, k)
		if r.Work == nil {
			r.Work = new(Work)
		}
		if isPlain {
			plain[k.name] = r
		}
		return r
	}
	// What is no operator has a row where it owns work.
	others := false
	for w := range x.Works() {
		op := x.Operator(w)
		others = others || op != calltree.None && x.Class(op) != calltree.Operator
	}
	for n := range x.Nodes() {
		if x.Class(n) != calltree.Operator && (!others || p.own(n) == 0) || !p.shows(n) {
			continue
		}
		r, e, parent := of(n), x.At(n), x.Parent(n)
		up := x.Enclosing(parent, calltree.Operator)
		again := up != calltree.None && x.At(up).Name == e.Name
		// torch makes one of two of a name, if the inner is all there is.
		if !again || parent != up || up+1 != n || x.End(up) != x.End(n) {
			r.Calls++
		}
		r.CPUSelfNS += x.SelfTime(n)
		if !again {
			r.CPUTotalNS += e.Duration()
			r.DeviceTotalNS += p.device(n)
		}
	}
	for w := range x.Works() {
		if !p.works[w].selected {
			continue
		}
		if op := x.Operator(w); op != calltree.None {
			of(op).Measures.Add(&p.m.Works[w])
		} else {
			row(p.tables.unlinked, x.Why(w)).Add(&p.m.Works[w])
		}
	}
	for k, r := range rows {
		class := ""
		if k.class != calltree.Operator {
			class = k.class.String()
		}
		r.Name, r.Class, r.Shapes = p.t.Strings.At(k.name), class, shapes.at(k.shapes)
		p.tables.operators[operatorKey{r.Name, class, r.Shapes}] = r
	}
}

// shapeNames numbers the shapes of inputs; 0 is none.
type shapeNames struct {
	ids  map[string]uint32
	list []string
}

func (s *shapeNames) id(args []byte) uint32 {
	v := chrome.Lookup(args, "Input Dims")
	if len(v) == 0 {
		v = chrome.Lookup(args, "Input dims")
	}
	if len(v) == 0 {
		return 0
	}
	if id, ok := s.ids[string(v)]; ok {
		return id
	}
	if s.ids == nil {
		s.ids = map[string]uint32{}
	}
	raw := string(v)
	s.list = append(s.list, strings.Join(strings.Fields(strings.ReplaceAll(raw, ",", ", ")), " "))
	s.ids[raw] = uint32(len(s.list))
	return s.ids[raw]
}

func (s *shapeNames) at(id uint32) string {
	if id == 0 {
		return ""
	}
	return s.list[id-1]
}
