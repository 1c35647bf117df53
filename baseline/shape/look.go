package shape

import (
	"slices"
	"strconv"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// look gathers what the arguments of events say, event by event, while a trace is
// read or later.
type look struct {
	t         *timeline.Trace
	classOf   []*class // by category string; nil: not seen yet
	byKind    [timeline.NumKinds]*class
	classes   []*class
	plausible Measure
	figures   timeline.Blocks[figure]
	orders    timeline.Blocks[order]
	event     uint32 // that is looked at
	report    func(key string, v chrome.Value, l *limits)
}

func newLook(t *timeline.Trace) *look {
	l := &look{t: t}
	l.report = l.bad
	return l
}

// figure is an argument that follows from others.
type figure struct {
	event uint32
	key   figureKey
	value float64
}

type figureKey uint8

const (
	noFigure figureKey = iota
	blocksPerSM
	warpsPerSM
	bandwidth
	numFigures
)

var figureNames = [numFigures]string{blocksPerSM: "blocks per SM", warpsPerSM: "warps per SM", bandwidth: "memory bandwidth (GB/s)"}

// Watch looks at the arguments of traces as they are read, so that they need not be
// kept:
//
//	var w shape.Watch
//	err := chrome.ReadEach(path, w.Options(chrome.ReadOptions{}), func(d *chrome.Document) error {
//		o, err := w.Observe(d)
//		...
//	})
type Watch struct{ look *look }

// Options returns o with what Watch needs: arguments are visited, and not kept.
func (w *Watch) Options(o chrome.ReadOptions) chrome.ReadOptions {
	o.DropArgs = true
	o.Visit = func(t *timeline.Trace, event uint32, args []byte) {
		if w.look == nil || w.look.t != t {
			w.look = newLook(t)
		}
		w.look.see(event, args)
	}
	return o
}

// Observe is the function of that name for the document that was read last.
func (w *Watch) Observe(d *chrome.Document) (*Observation, error) {
	l := w.look
	w.look = nil
	if l == nil || l.t != d.Trace {
		l = newLook(d.Trace) // of a trace without events
	}
	return observeSeen(d, nil, l)
}

// all looks at the arguments that a trace keeps.
func (l *look) all() {
	for i := range uint32(l.t.Events.Len()) {
		l.see(i, l.t.Args.At(l.t.Source.Events.At(i).Args))
	}
}

func (l *look) see(i uint32, args []byte) {
	e := l.t.Events.At(i)
	if l.t.Source.Events.At(i).Phase == 'M' {
		return
	}
	c := l.class(e)
	if c == nil {
		return
	}
	if c.n == 0 || i < c.first {
		c.first = i
	}
	l.event = i
	c.take(i, args, l.report)
	if e.Kind == timeline.Kernel {
		c.firstOf(e.Name)
	}
	if c.ordered[0] != 0 {
		l.order(i, c)
	}
	if e.Kind.OnDevice() {
		for _, k := range c.figures {
			if a := &c.keys[k]; a.at == c.n {
				if x, ok := number(a.value); ok {
					l.figures.Add(figure{i, a.figure, x})
				}
			}
		}
	}
	c.n++
}

// bad takes an argument that cannot be true.
func (l *look) bad(key string, v chrome.Value, limits *limits) {
	x := example(l.t, l.event)
	x.Key, x.Want, x.Got = key, limits.String(), string(v)
	l.plausible.bad(x)
}

func example(t *timeline.Trace, i uint32) Example {
	return Example{Event: int64(i), Offset: t.Source.Events.At(i).Offset(), Name: t.Strings.At(t.Events.At(i).Name)}
}

// class returns the class of an event, nil for what is of none.
func (l *look) class(e *timeline.Event) *class {
	if e.Category != 0 {
		if int(e.Category) < len(l.classOf) {
			if c := l.classOf[e.Category]; c != nil {
				return c
			}
		} else {
			l.classOf = append(l.classOf, make([]*class, int(e.Category)+1-len(l.classOf))...)
		}
		spelled := l.t.Strings.At(e.Category)
		c := l.named(Canonical(spelled))
		if c.name != spelled && !slices.Contains(c.spellings, spelled) {
			c.spellings = append(c.spellings, spelled)
		}
		l.classOf[e.Category] = c
		return c
	}
	if c := l.byKind[e.Kind]; c != nil && e.Kind != timeline.Other && e.Kind != timeline.Host {
		return c
	}
	name := canonical[e.Kind]
	if name == "" {
		return nil // no category, and no meaning: instants that mark the window, and the like
	}
	c := l.named(name)
	l.byKind[e.Kind] = c
	return c
}

func (l *look) named(name string) *class {
	for _, c := range l.classes {
		if c.name == name {
			return c
		}
	}
	c := newClass(name)
	l.classes = append(l.classes, c)
	return c
}

func formatFigure(x float64) string { return strconv.FormatFloat(x, 'g', 7, 64) }
