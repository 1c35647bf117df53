package pprofile

import (
	"slices"

	"github.com/flagos-ai/flagos-trace/calltree"
	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/measure"
	"github.com/flagos-ai/flagos-trace/ranks"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// Indices of values.
const (
	deviceTime = iota
	deviceCount
	cpuTime
	launchDelay
	copied
	idle
	numValues
)

// Values are the names of a sample's values, in their order.
var Values = []string{"device_time", "device_count", "cpu_time", "launch_delay", "bytes", "device_idle"}

// units are those of Values.
var units = []string{"nanoseconds", "count", "nanoseconds", "nanoseconds", "bytes", "nanoseconds"}

// Builder adds up the samples of traces. Make it with New.
type Builder struct {
	paths   *calltree.Paths
	texts   event.Strings // names of work and values of labels
	samples map[sample]*[numValues]int64
	order   []sample
	// By time: the earliest begin and the longest window of the traces, ns.
	start, length int64
	traces        int
	works         bool // there is device work
	bounds        measure.Bounds
	comments      []string
}

// sample is what samples are told apart by. Numbers are 0 where there is none, and
// else one more than they are.
type sample struct {
	path           calltree.Path
	work           uint32 // name in texts, 0: a span of the host
	device, stream uint32
	rank, step     int64
	tid            int64
	// In texts: a thread that is no number, a trace, ...
	thread, trace, shape, module, unlinked uint32
}

// New returns a Builder without samples. Frames of the classes in hide are left out
// of call paths, and what they took counts for what is around them.
func New(hide ...calltree.Class) *Builder {
	return &Builder{
		paths: calltree.NewPaths(func(c calltree.Class, name string) string {
			for _, h := range hide {
				if c == h {
					return ""
				}
			}
			return label(c, name)
		}),
		samples: map[sample]*[numValues]int64{},
	}
}

// Add adds the samples of a trace. The name is a label where the trace says no rank;
// "" leaves it out. The error wraps measure.ErrBounds.
func (b *Builder) Add(t *timeline.Trace, name string) error {
	if err := b.bounds.Add(t); err != nil {
		return err
	}
	b.traces++
	if w := t.Window; w.End > w.Start {
		if b.length == 0 || w.Start < b.start {
			b.start = w.Start
		}
		b.length = max(b.length, w.End-w.Start)
	}
	x := calltree.New(t)
	a := adder{Builder: b, t: t, x: x, of: b.paths.Add(x), ranks: ranks.OfRows(t), name: b.texts.ID(name), shapes: map[string]uint32{}}
	a.work()
	a.host()
	return nil
}

// Main is the value to look at first: device time, or where there is no device work
// CPU time.
func (b *Builder) Main() string {
	if b.works {
		return Values[deviceTime]
	}
	return Values[cpuTime]
}

// Has reports whether a sample has a value, which is one of Values, that is not 0.
func (b *Builder) Has(value string) bool {
	i := slices.Index(Values, value)
	for _, v := range b.samples {
		if i >= 0 && v[i] != 0 {
			return true
		}
	}
	return false
}

// adder adds the samples of one trace.
type adder struct {
	*Builder
	t      *timeline.Trace
	x      *calltree.Tree
	of     []calltree.Path
	ranks  []int
	name   uint32
	shapes map[string]uint32 // by arguments of an operator

}

// work adds a sample for each kernel, copy and fill.
func (a *adder) work() {
	t, x := a.t, a.x
	run := measure.Of(x)
	for w := range x.Works() {
		a.works = true
		e := x.WorkAt(w)
		context := x.Context(w)
		k := sample{work: a.texts.ID(workName(x.WorkName(w))), step: a.step(x.Step(w))}
		if context != calltree.None {
			k.path = a.of[context]
			k.tid, k.thread = a.thread(x.At(context).Row)
		}
		if p := t.Places[e.Place]; p.Has&event.HasDevice != 0 {
			k.device = p.Device + 1
		}
		if p := t.Places[e.Place]; p.Has&event.HasStream != 0 {
			k.stream = p.Stream + 1
		}
		k.rank, k.trace = a.rank(e.Row)
		if op := x.Operator(w); op != calltree.None {
			k.shape = a.shape(op)
		}
		if m := x.Module(w); m != calltree.None {
			k.module = a.texts.ID(x.Name(m))
		}
		k.unlinked = a.texts.ID(x.Why(w))
		v := a.sample(k)
		v[deviceTime] += e.Duration()
		v[deviceCount]++
		v[launchDelay] += run.Works[w].DelayNS
		v[idle] += run.Works[w].IdleNS
		if e.Kind != timeline.Kernel {
			n, _ := measure.Bytes(t, e)
			v[copied] += n
		}
	}
}

// host adds a sample for each span of a host thread, with what it took itself.
func (a *adder) host() {
	x := a.x
	for n := range x.Nodes() {
		self := x.SelfTime(n)
		if self == 0 {
			continue
		}
		k := sample{path: a.of[n], step: a.step(x.StepOf(n))}
		row := x.At(n).Row
		k.tid, k.thread = a.thread(row)
		k.rank, k.trace = a.rank(row)
		if op := x.Enclosing(n, calltree.Operator); op != calltree.None {
			k.shape = a.shape(op)
		}
		if m := x.Enclosing(n, calltree.Module); m != calltree.None {
			k.module = a.texts.ID(x.Name(m))
		}
		a.sample(k)[cpuTime] += self
	}
}

// sample returns the values of a sample.
func (b *Builder) sample(k sample) *[numValues]int64 {
	v := b.samples[k]
	if v == nil {
		v = new([numValues]int64)
		b.samples[k] = v
		b.order = append(b.order, k)
	}
	return v
}

func workName(s string) string {
	if s == "" {
		return "(no name)"
	}
	return s
}
