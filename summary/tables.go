package summary

import (
	"github.com/flagos-ai/flagos-trace/calltree"
	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/measure"
	"github.com/flagos-ai/flagos-trace/ranks"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// tables are rows by what tells them apart.
type tables struct {
	operators   map[operatorKey]*Operator
	unlinked    map[string]*measure.Measures
	kernels     map[kernelKey]*Kernel
	modules     map[string]*Scope
	annotations map[string]*Scope
	steps       map[string]*Step
	copies      map[string]*Copy
	calls       map[string]*Call
	collectives map[collectiveKind]*Collective

	// Only while a trace is reduced.
	busy  [][]interval // by device
	holes []hole
	// longest is how many at the beginning of holes are in order, the longest there were.
	longest int
}

type operatorKey struct{ name, class, shapes string }

type kernelKey struct{ name, kind string }

type collectiveKind struct {
	name, dtype string
	in, out     int64
	ranks       int
}

func newTables() tables {
	return tables{
		operators: map[operatorKey]*Operator{}, unlinked: map[string]*measure.Measures{}, kernels: map[kernelKey]*Kernel{},
		modules: map[string]*Scope{}, annotations: map[string]*Scope{}, steps: map[string]*Step{}, copies: map[string]*Copy{},
		calls: map[string]*Call{}, collectives: map[collectiveKind]*Collective{},
	}
}

// row returns the row of a key.
func row[K comparable, R any](rows map[K]*R, key K) *R {
	r := rows[key]
	if r == nil {
		r = new(R)
		rows[key] = r
	}
	return r
}

// kernels adds up kernels, copies and fills by name.
func (p *part) kernels() {
	type key struct {
		name uint32
		kind string
	}
	rows := map[key]*Kernel{}
	last := make([]*Kernel, p.t.Strings.Len()) // by name: most are of one kind
	copies := map[uint32]*Copy{}
	for w := range p.x.Works() {
		if !p.works[w].selected {
			continue
		}
		e := p.x.WorkAt(w)
		k := key{e.Name, KindCompute}
		switch {
		case e.Kind == timeline.Memset:
			k.kind = KindFill
		case e.Kind != timeline.Kernel:
			k.kind = KindCopy
		case p.works[w].kind == communication:
			k.kind = KindCommunication
		}
		r := last[e.Name]
		if r == nil || r.Kind != k.kind {
			r = row(rows, k)
			r.Kind = k.kind
			last[e.Name] = r
		}
		if r.Works == 0 || e.Duration() < r.MinNS {
			r.MinNS = e.Duration()
		}
		r.MaxNS = max(r.MaxNS, e.Duration())
		r.Measures.Add(&p.m.Works[w])
		if e.Kind == timeline.Kernel {
			continue
		}
		c := row(copies, e.Name)
		c.Measures.Add(&p.m.Works[w])
		if n, ok := measure.Bytes(p.t, e); ok {
			c.Bytes += n
			c.SizedNS += e.Duration()
		} else {
			c.Unsized++
		}
	}
	for k, r := range rows {
		r.Name = p.t.Strings.At(k.name)
		p.tables.kernels[kernelKey{r.Name, k.kind}] = r
	}
	for name, c := range copies {
		c.Name = p.t.Strings.At(name)
		p.tables.copies[c.Name] = c
	}
}

// steps adds up the steps.
func (p *part) steps() {
	if len(p.m.Steps) == 0 {
		return
	}
	x := p.x
	step := func(name string) *Step {
		r := row(p.tables.steps, name)
		if r.StepWork == nil {
			r.StepWork = new(StepWork)
		}
		return r
	}
	for n := range p.m.Steps {
		e := x.At(n)
		r := step(x.Name(n))
		r.Spans++
		r.DurationNS += e.Duration()
		r.LongestNS = max(r.LongestNS, e.Duration())
		for _, busy := range p.tables.busy {
			r.BusyNS += within(busy, e.Start, e.End)
		}
	}
	for w := range x.Works() {
		if !p.works[w].selected {
			continue
		}
		name := ""
		if n := x.Step(w); n != calltree.None {
			name = x.Name(n)
		}
		step(name).Measures.Add(&p.m.Works[w])
	}
	for name, r := range p.tables.steps {
		r.Name = name
	}
}

// calls adds up API calls.
func (p *part) calls() {
	x := p.x
	rows := make([]*Call, p.t.Strings.Len()) // by name
	for n := range x.Nodes() {
		if x.Class(n) != calltree.Call || p.nodes != nil && !p.nodes[n] {
			continue
		}
		e := x.At(n)
		r := rows[e.Name]
		if r == nil {
			r = new(Call)
			rows[e.Name] = r
		}
		r.Calls++
		r.SelfNS += x.SelfTime(n)
		r.TotalNS += e.Duration()
		r.MaxNS = max(r.MaxNS, e.Duration())
		if d := p.t.Calls.At(e.Detail); d.Has&event.HasReturn != 0 && d.ReturnValue != 0 {
			r.Failed++
		}
	}
	for w := range x.Works() {
		if c := x.Call(w); c != calltree.None {
			if r := rows[x.At(c).Name]; r != nil && p.works[w].selected {
				r.Works++
			}
		}
	}
	for name, r := range rows {
		if r != nil {
			r.Name = p.t.Strings.At(uint32(name))
			p.tables.calls[r.Name] = r
		}
	}
}

// collectives adds up what ranks did together.
func (p *part) collectives() {
	for i := range p.rank.Ops {
		op := &p.rank.Ops[i]
		if w := p.x.WorkOf(op.Event); w == calltree.NoWork || !p.works[w].selected {
			continue
		}
		r := row(p.tables.collectives, kindOf(&p.rank.Whats[op.What]))
		if ns := op.End - op.Start; r.Count == 0 || ns < r.MinNS {
			r.MinNS = ns
		}
		r.Count++
		r.DeviceNS += op.End - op.Start
	}
}

func kindOf(w *ranks.What) collectiveKind {
	return collectiveKind{name: w.Name, dtype: w.Dtype, in: w.In, out: w.Out, ranks: w.Size}
}
