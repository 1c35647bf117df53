package summary

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/flagos-ai/flagos-trace/measure"
)

// totals adds up traces.
type totals struct {
	o      *Options
	tables tables
	gaps   []Gap
	occupied
}

func newTotals(o *Options) *totals { return &totals{o: o, tables: newTables()} }

// mergeRows adds rows of one trace to those of all. Keys and names are copied where they
// are new: they are a part of the trace's strings.
func mergeRows[K comparable, R any](to, from map[K]*R, add func(to, from *R), own func(K) (K, func(*R))) {
	for k, r := range from {
		if t := to[k]; t != nil {
			add(t, r)
			continue
		}
		key, name := own(k)
		name(r)
		to[key] = r
	}
}

// add adds a trace. It may be called for traces in any order.
func (s *totals) add(p *part) {
	t := &s.tables
	mergeRows(t.operators, p.tables.operators, func(to, from *Operator) {
		to.Calls += from.Calls
		to.CPUSelfNS += from.CPUSelfNS
		to.CPUTotalNS += from.CPUTotalNS
		to.Measures.Add(&from.Measures)
		to.DeviceTotalNS += from.DeviceTotalNS
	}, func(k operatorKey) (operatorKey, func(*Operator)) {
		k.name, k.shapes = strings.Clone(k.name), strings.Clone(k.shapes)
		return k, func(r *Operator) { r.Name, r.Shapes = k.name, k.shapes }
	})
	mergeRows(t.unlinked, p.tables.unlinked, (*measure.Measures).Add, func(k string) (string, func(*measure.Measures)) {
		return k, func(*measure.Measures) {}
	})
	mergeRows(t.kernels, p.tables.kernels, func(to, from *Kernel) {
		if from.Works > 0 {
			to.MinNS = min(to.MinNS, from.MinNS)
		}
		to.MaxNS = max(to.MaxNS, from.MaxNS)
		to.Measures.Add(&from.Measures)
	}, func(k kernelKey) (kernelKey, func(*Kernel)) {
		k.name = strings.Clone(k.name)
		return k, func(r *Kernel) { r.Name = k.name }
	})
	for _, scopes := range [][2]map[string]*Scope{{t.modules, p.tables.modules}, {t.annotations, p.tables.annotations}} {
		mergeRows(scopes[0], scopes[1], func(to, from *Scope) {
			to.Calls += from.Calls
			to.CPUTotalNS += from.CPUTotalNS
			to.Measures.Add(&from.Measures)
			to.DeviceTotalNS += from.DeviceTotalNS
		}, named(func(r *Scope) *string { return &r.Name }))
	}
	mergeRows(t.steps, p.tables.steps, func(to, from *Step) {
		to.Spans += from.Spans
		to.DurationNS += from.DurationNS
		to.LongestNS = max(to.LongestNS, from.LongestNS)
		to.BusyNS += from.BusyNS
		to.Measures.Add(&from.Measures)
	}, named(func(r *Step) *string { return &r.Name }))
	mergeRows(t.copies, p.tables.copies, func(to, from *Copy) {
		to.Measures.Add(&from.Measures)
		to.Bytes += from.Bytes
		to.SizedNS += from.SizedNS
		to.Unsized += from.Unsized
	}, named(func(r *Copy) *string { return &r.Name }))
	mergeRows(t.calls, p.tables.calls, func(to, from *Call) {
		to.Calls += from.Calls
		to.SelfNS += from.SelfNS
		to.TotalNS += from.TotalNS
		to.MaxNS = max(to.MaxNS, from.MaxNS)
		to.Works += from.Works
		to.Failed += from.Failed
	}, named(func(r *Call) *string { return &r.Name }))
	mergeRows(t.collectives, p.tables.collectives, func(to, from *Collective) {
		to.MinNS = min(to.MinNS, from.MinNS)
		to.Count += from.Count
		to.DeviceNS += from.DeviceNS
	}, func(k collectiveKind) (collectiveKind, func(*Collective)) {
		k.name, k.dtype = strings.Clone(k.name), strings.Clone(k.dtype)
		return k, func(*Collective) {}
	})
	for i := range p.gaps {
		g := &p.gaps[i]
		g.Trace = p.trace.label(true)
		for _, text := range []*string{&g.Before, &g.BeforeOperator, &g.After, &g.AfterOperator, &g.Host} {
			*text = strings.Clone(*text)
		}
	}
	s.gaps = longest(append(s.gaps, p.gaps...), s.o.gaps())
	s.occupied.add(&p.occupied)
}

func named[R any](name func(*R) *string) func(string) (string, func(*R)) {
	return func(k string) (string, func(*R)) {
		k = strings.Clone(k)
		return k, func(r *R) { *name(r) = k }
	}
}

// summary is the result, of parts that were all added.
func (s *totals) summary(parts []*part) *Summary {
	sortParts(parts)
	out := &Summary{
		Schema: Schema, Selected: s.o.String(), Unlinked: map[string]measure.Measures{}, Missing: []string{}, Checks: []Check{},
		Gaps: s.gaps, narrowed: s.o.narrowed(),
	}
	several := len(parts) > 1
	for i := range out.Gaps {
		if !several {
			out.Gaps[i].Trace = ""
		}
	}
	if out.Gaps == nil {
		out.Gaps = []Gap{}
	}
	out.compareRanks(parts, &s.tables)
	t := &s.tables
	out.Operators = values(t.operators, func(a, b *Operator) int {
		return cmp.Or(cmp.Compare(b.DeviceNS, a.DeviceNS), cmp.Compare(b.CPUSelfNS, a.CPUSelfNS), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Class, b.Class), cmp.Compare(a.Shapes, b.Shapes))
	})
	out.Kernels = values(t.kernels, func(a, b *Kernel) int {
		return cmp.Or(cmp.Compare(b.DeviceNS, a.DeviceNS), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Kind, b.Kind))
	})
	byScope := func(a, b *Scope) int {
		return cmp.Or(cmp.Compare(b.DeviceTotalNS, a.DeviceTotalNS), cmp.Compare(b.CPUTotalNS, a.CPUTotalNS), cmp.Compare(a.Name, b.Name))
	}
	out.Modules, out.Annotations = values(t.modules, byScope), values(t.annotations, byScope)
	out.Steps = values(t.steps, func(a, b *Step) int { return compareSteps(a.Name, b.Name) })
	out.Copies = values(t.copies, func(a, b *Copy) int {
		return cmp.Or(cmp.Compare(b.DeviceNS, a.DeviceNS), cmp.Compare(a.Name, b.Name))
	})
	out.Calls = values(t.calls, func(a, b *Call) int {
		return cmp.Or(cmp.Compare(b.SelfNS, a.SelfNS), cmp.Compare(a.Name, b.Name))
	})
	for why, m := range t.unlinked {
		out.Unlinked[why] = *m
	}
	for i := range out.Copies {
		if c := &out.Copies[i]; c.SizedNS > 0 {
			c.Bandwidth = rate(float64(c.Bytes), c.SizedNS)
		}
	}
	out.Collectives = t.collectiveRows()
	for _, p := range parts {
		out.Traces = append(out.Traces, p.trace)
		for i := range p.trace.Devices {
			if out.Whole == nil {
				out.Whole = new(Device)
			}
			out.Whole.add(&p.trace.Devices[i])
		}
	}
	out.device()
	out.CriticalPath = parts[0].path
	out.Occupancy = s.occupied.result()
	out.Missing = missingOf(out.Traces)
	out.check()
	return out
}

// device sums up the device work, or takes zeros away where there is none.
func (s *Summary) device() {
	if s.Whole != nil {
		s.Work = new(measure.Measures)
		for i := range s.Kernels {
			s.Work.Add(&s.Kernels[i].Measures)
		}
		return
	}
	for i := range s.Operators {
		s.Operators[i].Work = nil
	}
	for _, scopes := range [][]Scope{s.Modules, s.Annotations} {
		for i := range scopes {
			scopes[i].Work = nil
		}
	}
	for i := range s.Steps {
		s.Steps[i].StepWork = nil
	}
}

// add adds another device.
func (d *Device) add(o *Device) {
	d.Streams += o.Streams
	d.Measures.Add(&o.Measures)
	d.WindowNS += o.WindowNS
	d.BusyNS += o.BusyNS
	d.Busy.add(&o.Busy)
	d.Idle.add(&o.Idle)
	if o.Queue != nil {
		if d.Queue == nil {
			d.Queue = new(Queue)
		}
		d.Queue.DepthNS += o.Queue.DepthNS
		d.Queue.NS += o.Queue.NS
		d.Queue.Max = max(d.Queue.Max, o.Queue.Max)
	}
}

func sortParts(parts []*part) {
	slices.SortStableFunc(parts, func(a, b *part) int {
		x, y := a.trace.Rank, b.trace.Rank
		switch {
		case x != nil && y != nil:
			return cmp.Compare(*x, *y)
		case x != nil:
			return -1
		case y != nil:
			return 1
		}
		return 0
	})
}

// compareSteps puts steps into the order of their numbers, and what is outside last.
func compareSteps(a, b string) int {
	number := func(s string) int64 {
		if s == "" {
			return 1<<63 - 1
		}
		n, err := strconv.ParseInt(s[strings.IndexByte(s, '#')+1:], 10, 64)
		if err != nil {
			return 1<<63 - 2
		}
		return n
	}
	return cmp.Or(cmp.Compare(number(a), number(b)), cmp.Compare(a, b))
}

// values are the rows in order.
func values[K comparable, R any](rows map[K]*R, by func(a, b *R) int) []R {
	list := slices.Collect(maps.Values(rows))
	slices.SortFunc(list, by)
	out := make([]R, len(list))
	for i, r := range list {
		out[i] = *r
	}
	return out
}

// rate is bytes a second, whole ones.
func rate(bytes float64, ns int64) *float64 {
	v := math.Trunc(bytes / float64(ns) * 1e9)
	return &v
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// count says how many, with the word for one or more.
func count(n int64, one, more string) string {
	if n == 1 {
		more = one
	}
	return itoa(n) + " " + more
}
