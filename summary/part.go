package summary

import (
	"slices"
	"strings"
	"sync"

	"github.com/flagos-ai/flagos-trace/calltree"
	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/measure"
	"github.com/flagos-ai/flagos-trace/ranks"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// part is one trace while it is reduced, and what is kept of it.
type part struct {
	o     *Options
	rules *chrome.Rules
	t     *timeline.Trace
	x     *calltree.Tree
	m     *measure.Run
	works []workInfo
	// own and device are the device time of nodes: the tree's, or of what is selected.
	own, device func(calltree.Node) int64
	nodes       []bool // selected; nil: all

	trace  Trace
	rank   *ranks.Rank
	tables tables
	gaps   []Gap
	// exposed is when its only device did nothing but communicate; see peers.go.
	exposed []interval
	path    *CriticalPath
	occupied
}

// workInfo is what is asked of device work more than once.
type workInfo struct {
	kind     kind
	selected bool
	first    bool // the first work of its call
}

// kind is what device work is, in the order in which bits of a sweep stand for them.
type kind uint8

const (
	compute kind = iota
	communication
	copying
)

// newPart reduces a trace, what it says of its parts at the same time; look is called
// meanwhile.
func newPart(d *chrome.Document, t *timeline.Trace, name string, o *Options, look func(*calltree.Tree, *measure.Run)) *part {
	p := &part{o: o, rules: o.Rules, t: t}
	if p.rules == nil {
		p.rules = chrome.DefaultRules()
	}
	var rank sync.WaitGroup
	rank.Go(func() { p.rank = ranks.Collect(t, name)[0] })
	p.x = calltree.New(t)
	p.m = measure.Of(p.x)
	var group sync.WaitGroup
	defer group.Wait()
	group.Go(func() { look(p.x, p.m) })
	p.classify()
	p.selectNodes()
	rank.Wait()
	p.describe(d, name)
	p.tables = newTables()
	var beside sync.WaitGroup
	beside.Go(p.criticalPath) // which takes as long as the rest
	beside.Go(p.operators)
	p.devices()
	p.launches()
	p.kernels()
	p.scopes()
	p.steps()
	p.calls()
	p.collectives()
	p.occupancy()
	p.missing()
	beside.Wait()
	return p
}

// release lets go of the trace.
func (p *part) release() {
	p.t, p.x, p.m, p.works, p.nodes, p.own, p.device = nil, nil, nil, nil, nil, nil, nil
	p.tables = tables{}
	p.gaps = nil
	p.occupied = occupied{}
}

// classify says what each piece of work is, and whether it is selected.
func (p *part) classify() {
	p.works = make([]workInfo, p.x.NumWorks())
	type name struct {
		communicates, matches bool
	}
	names := make([]*name, p.t.Strings.Len())
	for w := range p.x.Works() {
		e := p.x.WorkAt(w)
		n := names[e.Name]
		if n == nil {
			text := p.t.Strings.At(e.Name)
			n = &name{p.rules.Named("collective", text), p.o.Kernel == nil || p.o.Kernel.MatchString(text)}
			names[e.Name] = n
		}
		i := &p.works[w]
		switch {
		case e.Kind != timeline.Kernel:
			i.kind = copying
		case n.communicates || p.t.Kernels.At(e.Detail).Collective != 0:
			i.kind = communication
		}
		i.selected, i.first = n.matches, p.m.Works[w].Launches > 0
	}
}

// selectNodes finds the nodes of the operators that are asked for, the work of these,
// and adds up its device time.
func (p *part) selectNodes() {
	x := p.x
	if !p.o.narrowed() {
		p.own, p.device = x.SelfDevice, x.Device
		return
	}
	if p.o.Operator != nil {
		p.nodes = make([]bool, x.Len())
		names := map[uint32]bool{}
		for n := range x.Nodes() {
			if up := x.Parent(n); up != calltree.None && p.nodes[up] {
				p.nodes[n] = true
				continue
			}
			if x.Class(n) != calltree.Operator {
				continue
			}
			id := x.At(n).Name
			is, ok := names[id]
			if !ok {
				is = p.o.Operator.MatchString(x.Name(n))
				names[id] = is
			}
			p.nodes[n] = is
		}
	}
	own, device := make([]int64, x.Len()), make([]int64, x.Len())
	for w := range x.Works() {
		i := &p.works[w]
		op := x.Operator(w)
		if p.nodes != nil && (op == calltree.None || !p.nodes[op]) {
			i.selected = false
		}
		if i.selected && op != calltree.None {
			own[op] += x.WorkAt(w).Duration()
		}
	}
	for n := calltree.Node(x.Len()) - 1; n >= 0; n-- {
		device[n] += own[n]
		if up := x.Parent(n); up != calltree.None {
			device[up] += device[n]
		}
	}
	p.own = func(n calltree.Node) int64 { return own[n] }
	p.device = func(n calltree.Node) int64 { return device[n] }
}

// shows reports whether a node is in the tables.
func (p *part) shows(n calltree.Node) bool {
	switch {
	case p.nodes != nil && !p.nodes[n]:
		return false
	case p.o.Kernel != nil:
		return p.device(n) > 0
	}
	return true
}

// describe says what the trace is.
func (p *part) describe(d *chrome.Document, name string) {
	w := p.t.Window
	if w == (timeline.Window{}) && p.t.Events.Len() > 0 {
		w = chrome.RecordedWindow(p.t)
	}
	for n := range p.x.Works() {
		e := p.x.WorkAt(n)
		w.Start, w.End = min(w.Start, e.Start), max(w.End, e.End)
	}
	p.trace = Trace{
		Name: name, Host: p.rank.Host, PID: p.rank.PID, Producer: d.Producer.Name, Vendor: d.Producer.Vendor, Version: d.Producer.Version,
		Events: p.t.Events.Len(), Start: w.Start, WindowNS: w.End - w.Start, Completeness: completeness(p.t.Completeness),
		Devices: []Device{}, Missing: []string{},
	}
	if p.rank.Number >= 0 {
		n := p.rank.Number
		p.trace.Rank = &n
	}
	if len(d.FindingCounts) > 0 {
		p.trace.Findings = d.FindingCounts
	}
}

// label is what people call the trace.
func (t *Trace) label(several bool) string {
	switch {
	case !several:
		return ""
	case t.Rank != nil:
		return "rank " + itoa(int64(*t.Rank))
	}
	return t.Name
}

// completeness sums up a record.
func completeness(c *timeline.Completeness) *Completeness {
	if c == nil || !c.Recorded() && len(c.Processes) == 0 {
		return nil
	}
	out := &Completeness{Verdict: c.Verdict, Tool: c.Tool, Ended: c.Ended}
	if c.Signal != "" {
		out.Lost = append(out.Lost, "the program was ended by "+c.Signal)
	}
	for _, reason := range sortedKeys(c.Dropped) {
		if n := c.Dropped[reason]; n > 0 && !timeline.NotALoss(reason) {
			out.Lost = append(out.Lost, count(int64(n), "record", "records")+" dropped: "+words(reason))
		}
	}
	if b := c.Buffers; b != nil {
		if b.Discarded > 0 {
			out.Lost = append(out.Lost, count(int64(b.Discarded), "buffer", "buffers")+" discarded")
		}
		if b.RecordsDropped != nil && *b.RecordsDropped > 0 {
			out.Lost = append(out.Lost, count(int64(*b.RecordsDropped), "record", "records")+" dropped by the vendor's library")
		}
		if b.BytesUnwritten > 0 {
			out.Lost = append(out.Lost, count(int64(b.BytesUnwritten), "byte", "bytes")+" that could not be written")
		}
	}
	if s := c.Spool; s != nil && (s.BadFrames > 0 || s.TornBytes > 0 || s.LostBytes > 0) {
		out.Lost = append(out.Lost, "a part of the log that could not be read")
	}
	for _, code := range c.Missing {
		out.Lost = append(out.Lost, words(code))
	}
	if op := c.Operators; op != nil && op.Reason != "" {
		out.Lost = append(out.Lost, "operators: "+words(op.Reason))
	}
	for i := range c.Cuts {
		out.Cuts = append(out.Cuts, c.Cuts[i].By)
	}
	for i := range c.Processes {
		if q := completeness(c.Processes[i].Completeness); q != nil {
			for _, lost := range q.Lost {
				out.Lost = append(out.Lost, c.Processes[i].Label+": "+lost)
			}
		}
	}
	slices.Sort(out.Lost)
	out.Lost = slices.Compact(out.Lost)
	return out
}

// words makes a code readable.
func words(code string) string { return strings.ReplaceAll(code, "_", " ") }
