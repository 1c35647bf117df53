package shape

import (
	"fmt"
	"slices"
	"sync"

	"github.com/flagos-ai/flagos-trace/calltree"
	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// Observation is what Observe found in a trace: its shape, and what a comparison
// of two traces needs beyond.
type Observation struct {
	Shape    Shape
	Name     string // of the file
	Producer chrome.Producer
	Devices  []string
	Events   int64
	// Completeness is the trace's own record; nil without one. Lost says in words what of
	// the trace could not be read.
	Completeness *timeline.Completeness
	Lost         []string
	// TextTimes counts the times that are written as text.
	TextTimes int64
	Measures  map[string]*Measure
	// Arrows are the measures of arrows that do not run to device work, by kind.
	Arrows map[string]*Measure
	// Classes are the events by canonical category.
	Classes map[string]*Class
	// OperatorNS is the device time that belongs to operators themselves, by name.
	OperatorNS map[string]int64
	// KernelNS and DeviceNS are the time of all kernels, and of all device work, ns,
	// overlaps counted twice.
	KernelNS, DeviceNS int64
	// Attribution is device time by operator, for those where the two ways differ.
	Attribution []Attributable
	// AttributedTo says for how many operators both ways could be compared, by name.
	AttributedTo map[string]bool
	// OperatorKernels counts the kernels that operators themselves start, by operator
	// and full name.
	OperatorKernels map[string]map[string]int64
	// Copies counts the copies by operator, "" for none, and direction, "" where their
	// names tell none.
	Copies map[string]map[string]int64
	// BadDurations counts the spans with a negative length, or none: it was taken as 0.
	BadDurations int64
	// TextIDs counts the ends of arrows to device work whose id is text.
	TextIDs int64
	// OperatorFirst is the first event of an operator, by name.
	OperatorFirst map[string]uint32
	// Longest is the longest Trace span; HasTrace whether there is one. Outside counts
	// the spans that do not lie strictly in it.
	Longest  timeline.Window
	HasTrace bool
	Outside  Measure
	// FlowStarts, FlowFinishes and FlowBoth count, for Torch-FL's second assertion, the
	// distinct ids of starts and of finishes of arrows to device work, and those that
	// have both, whatever they stand on.
	FlowStarts, FlowFinishes, FlowBoth int64

	spots map[uint32]spot
}

// spot is what is kept of an event that a finding may point at. The trace itself is
// not kept.
type spot struct {
	offset int64
	name   string
}

// Attributable is the device time of one operator, found in two ways, ns.
type Attributable struct {
	Operator string
	ByID     int64 // of the work whose External id names it
	ByCall   int64 // of the work that API calls inside it started
	Example  Example
}

// Class is the events of one category.
type Class struct {
	Name     string // canonical
	N        int64
	Names    int    // different names
	NS       int64  // their lengths together
	First    uint32 // event
	Args     map[string]*ArgStat
	Copied   []Copied
	SameTime bool // all of them last equally long
}

// ArgStat is what one argument holds over the events of a category.
type ArgStat struct {
	N      int64 // events that have it
	First  string
	Varies bool
	// Many: it takes at least ManyValues values, as far as their beginnings tell.
	Many    bool
	Example uint32 // an event that has it
	// ByName is what it is on the first kernel of each name that has it.
	ByName map[string]string
}

// Copied are two arguments that hold the same values in all events.
type Copied struct {
	A, B string
	N    int64
}

// Offset is the byte offset in the text of an event that the observation names.
func (o *Observation) Offset(event uint32) int64 {
	if x, ok := o.spots[event]; ok {
		return x.offset
	}
	return -1
}

// EventName is the name of an event that the observation names.
func (o *Observation) EventName(event uint32) string { return o.spots[event].name }

// Tree is the call tree of the trace.
type Tree = calltree.Tree

// Observe looks at a document that was read with its arguments. It takes a few
// passes over the timeline's columns, and one over the text of the arguments.
func Observe(d *chrome.Document) (*Observation, error) {
	return ObserveTree(d, nil)
}

// ObserveTree is Observe where the call tree is there already; nil builds it.
func ObserveTree(d *chrome.Document, tree *Tree) (*Observation, error) {
	return observeSeen(d, tree, nil)
}

// observeSeen looks at a document: at its arguments, too, where l is nil.
func observeSeen(d *chrome.Document, tree *Tree, l *look) (*Observation, error) {
	t := d.Trace
	if t.Source == nil {
		return nil, fmt.Errorf("baseline: %s: a shape is observed of a trace that was read from a file", d.Name)
	}
	o := &Observation{
		Name: d.Name, Producer: d.Producer, Events: int64(t.Events.Len()), Completeness: t.Completeness, spots: map[uint32]spot{},
		Measures: map[string]*Measure{}, Arrows: map[string]*Measure{}, Classes: map[string]*Class{}, OperatorNS: map[string]int64{},
		OperatorKernels: map[string]map[string]int64{}, OperatorFirst: map[string]uint32{}, AttributedTo: map[string]bool{},
	}
	for i := range t.Devices {
		if n := t.Devices[i].Name; n != "" && !slices.Contains(o.Devices, n) {
			o.Devices = append(o.Devices, n)
		}
	}
	o.Lost, o.TextTimes = chrome.Unread(d.FindingCounts), int64(d.FindingCounts[chrome.RuleTimeText])
	o.BadDurations = int64(d.FindingCounts[chrome.RuleDuration])
	s := &scanner{look: l, o: o, t: t, tree: tree, rules: chrome.DefaultRules()}
	s.run()
	return o, nil
}

// scanner makes an observation.
type scanner struct {
	*look
	o     *Observation
	t     *timeline.Trace
	tree  *Tree
	rules *chrome.Rules

	marks    []nameMarks // by string
	rowUsed  []bool      // by row: device work on it
	shape    *Shape
	numSMs   []int64 // by device ordinal, 0 unknown
	warpSize []int64
}

func (s *scanner) run() {
	t := s.t
	s.shape = &s.o.Shape
	*s.shape = Shape{Format: Format, Version: Version, Categories: map[string]*Category{}, Holds: map[string]Level{}}
	s.marks = make([]nameMarks, t.Strings.Len())
	s.rowUsed = make([]bool, len(t.Rows))
	for i := range t.Devices {
		d := &t.Devices[i]
		if d.ID >= 1<<16 {
			continue
		}
		for len(s.numSMs) <= int(d.ID) {
			s.numSMs, s.warpSize = append(s.numSMs, 0), append(s.warpSize, 0)
		}
		s.numSMs[d.ID], _ = d.Property("numSms")
		s.warpSize[d.ID], _ = d.Property("warpSize")
	}
	// The tree is not needed for what events say by themselves.
	var built sync.WaitGroup
	if s.tree == nil {
		built.Go(func() { s.tree = calltree.New(t) })
	}
	if s.look == nil {
		s.look = newLook(t)
		s.all()
	}
	s.events()
	s.derived()
	built.Wait()
	s.joins()
	s.nesting()
	s.operators()
	s.copies()
	s.flows()
	s.sequences()
	s.streams()
	s.rows()
	s.metadata()
	s.facts()
	s.finish()
}

// measure returns a measure, made if it is new.
func (s *scanner) measure(id string) *Measure {
	m := s.o.Measures[id]
	if m == nil {
		m = &Measure{}
		s.o.Measures[id] = m
	}
	return m
}

func (s *scanner) example(i uint32) Example { return example(s.t, i) }

// keep remembers what a finding about an event needs.
func (s *scanner) keep(i uint32) {
	s.o.spots[i] = spot{s.t.Source.Events.At(i).Offset(), s.t.Strings.At(s.t.Events.At(i).Name)}
}

// mark returns what a name says by itself.
func (s *scanner) mark(name uint32) nameMarks {
	m := s.marks[name]
	if m == 0 {
		m = marksOf(s.t.Strings.At(name))
		s.marks[name] = m
	}
	return m
}
