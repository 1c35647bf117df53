package summary

import (
	"cmp"
	"slices"

	"github.com/flagos-ai/flagos-trace/calltree"
)

// hole is a gap before it has names.
type hole struct {
	from, to     int64
	before, next calltree.Work
	idle         Idle
	device       int
	label        string
}

// compare puts the longest first.
func (h *hole) compare(o *hole) int {
	if c := cmp.Compare(o.to-o.from, h.to-h.from); c != 0 {
		return c
	}
	return cmp.Or(cmp.Compare(h.from, o.from), cmp.Compare(h.device, o.device))
}

// keepHole keeps a gap if it is one of the longest up to now.
func (p *part) keepHole(h hole) {
	t := &p.tables
	if n := p.o.gaps(); t.longest == n && h.compare(&t.holes[n-1]) > 0 {
		return
	}
	t.holes = append(t.holes, h)
	if len(t.holes) > 16*p.o.gaps() {
		p.keepLongest()
	}
}

// keepLongest keeps the longest.
func (p *part) keepLongest() {
	t := &p.tables
	slices.SortFunc(t.holes, func(a, b hole) int { return a.compare(&b) })
	t.longest = min(len(t.holes), p.o.gaps())
	t.holes = t.holes[:t.longest]
}

// nameGaps gives the longest their names.
func (p *part) nameGaps() {
	p.keepLongest()
	for _, h := range p.tables.holes {
		g := Gap{
			Device: h.label, AtNS: h.from - p.trace.Start, NS: h.to - h.from, Idle: h.idle,
			Before: p.x.WorkName(h.before), BeforeOperator: p.ownerName(h.before),
			After: p.x.WorkName(h.next), AfterOperator: p.ownerName(h.next),
		}
		if h.idle.HostNS > 0 {
			g.Host = p.hostAt(h.next, h.from+h.idle.HostNS/2)
		}
		p.gaps = append(p.gaps, g)
	}
	p.tables.holes = nil
}

// ownerName names the operator of work, "" where there is none.
func (p *part) ownerName(w calltree.Work) string {
	if op := p.x.Operator(w); op != calltree.None {
		return p.x.Name(op)
	}
	return ""
}

// hostAt says what the thread that started work was doing at a moment: the innermost
// span, and the operator that it was in.
func (p *part) hostAt(w calltree.Work, at int64) string {
	c := p.x.Call(w)
	if c == calltree.None {
		return ""
	}
	n := p.x.Around(p.x.At(c).Row, at)
	if n == calltree.None {
		return ""
	}
	name := p.x.Name(n)
	if op := p.x.Enclosing(n, calltree.Operator); op != calltree.None && op != n {
		return p.x.Name(op) + " > " + name
	}
	return name
}

// longest merges gaps of several traces.
func longest(gaps []Gap, most int) []Gap {
	slices.SortStableFunc(gaps, func(a, b Gap) int {
		return cmp.Or(cmp.Compare(b.NS, a.NS), cmp.Compare(a.Trace, b.Trace), cmp.Compare(a.AtNS, b.AtNS), cmp.Compare(a.Device, b.Device))
	})
	return gaps[:min(len(gaps), most)]
}
