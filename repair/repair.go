package repair

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// ErrOptions: there is no repair of that name, or it cannot be left out.
var ErrOptions = errors.New("repair: bad options")

// ErrNoSource: the trace was not read from a document.
var ErrNoSource = errors.New("repair: the trace was not read from a document")

// Options choose repairs. The zero value makes all of them.
type Options struct {
	// Only and Skip are names of repairs, of Names. Only empty means all.
	Only, Skip []string
	// HostFlows removes the arrows with one end at API calls that launch nothing,
	// too, which Kineto writes always.
	HostFlows bool
	// Cut is the largest overrun that is cut off, in ns; 0 is what rounding explains
	// in this trace: 1 µs where times are whole microseconds, 2 ns where they have
	// digits beyond the nanosecond, else nothing.
	Cut int64
	// By is the name and version of the program, for the record.
	By string
	// Rules say which arrows are of which sort; nil: chrome.DefaultRules.
	Rules *chrome.Rules
}

// Report says what was repaired and what could not be.
type Report struct {
	// Repaired and Remaining count by what it is: the keys of the completeness
	// record, and the Remaining constants.
	Repaired  map[string]uint64 `json:"repaired"`
	Remaining map[string]uint64 `json:"remaining"`
	// Shifts are the offsets of device clocks that were fitted.
	Shifts []Shift `json:"shifts,omitempty"`
}

// Shift is the fit of one device's clock to its API calls.
type Shift struct {
	timeline.DeviceShift
	Pairs  int `json:"pairs"`  // calls with device work
	Before int `json:"before"` // of these, the work began before the call
	Left   int `json:"left"`   // and still does: single records that the shift does not explain
	Events int `json:"events"` // events moved
}

// What can remain.
const (
	RemainingBeforeLaunch = "work_before_launch"  // device work before its launch, too rare to be a clock's
	RemainingNames        = "names_mangled"       // symbols that cannot be demangled
	RemainingUnnamed      = "calls_unnamed"       // API calls whose id is in no table
	RemainingOverlaps     = "overlaps"            // of more sub-rows than are made
	RemainingLost         = "events_unreadable"   // text that was no event, or had no time
	RemainingTruncated    = "text_truncated"      // the file ends early: what stood behind is missing
	RemainingFlows        = "flows_ids_reused"    // arrows that begin twice
	RemainingMembers      = "members_unreadable"  // top-level members that were left out
	RemainingStamps       = "times_not_of_a_base" // times that are not since the Unix epoch, among such that are
)

// step is one kind of repair.
type step struct {
	name string
	make func(*repairer)
}

// steps in the order in which they are made: names and times depend on nothing;
// overlaps are those of shifted times; arrows stand on rows as they become.
var steps = []step{
	{"times", (*repairer).times},
	{"names", (*repairer).names},
	{"clock", (*repairer).clock},
	{"durations", nil}, // with the overlaps
	{"overlaps", (*repairer).overlaps},
	{"flows", (*repairer).flows},
}

// Names lists the repairs that Options can choose, in their order.
func Names() []string {
	var out []string
	for _, s := range steps {
		out = append(out, s.name)
	}
	return out
}

// repairer is one repair at work.
type repairer struct {
	t      *timeline.Trace
	doc    *chrome.Document
	o      Options
	rules  *chrome.Rules
	does   map[string]bool
	report Report
	lost   map[string]uint64 // events that are not in the trace, by reason

	python uint32 // the category of Python functions
}

// Document repairs the trace of a document in place. Errors wrap ErrOptions or
// ErrNoSource; the trace is then as it was.
func Document(d *chrome.Document, o Options) (*Report, error) {
	r := &repairer{t: d.Trace, doc: d, o: o, rules: o.Rules, does: map[string]bool{}}
	if r.t.Source == nil {
		return nil, ErrNoSource
	}
	if r.rules == nil {
		r.rules = chrome.DefaultRules()
	}
	for _, s := range steps {
		r.does[s.name] = len(o.Only) == 0
	}
	for i, name := range slices.Concat(o.Only, o.Skip) {
		if _, ok := r.does[name]; !ok && name == "text" {
			return nil, fmt.Errorf("%w: the text is made strict JSON in any case: name others than \"text\", of %v", ErrOptions, Names())
		} else if !ok {
			return nil, fmt.Errorf("%w: %q is no repair; there are %v", ErrOptions, name, Names())
		}
		r.does[name] = i < len(o.Only)
	}
	if o.Cut < 0 {
		return nil, fmt.Errorf("%w: a cut of %d ns", ErrOptions, o.Cut)
	}
	r.report = Report{Repaired: map[string]uint64{}, Remaining: map[string]uint64{}}
	r.lost = map[string]uint64{}
	r.text()
	for _, s := range steps {
		if s.make != nil && (r.does[s.name] || s.name == "overlaps" && r.does["durations"]) {
			s.make(r)
		}
	}
	r.settle()
	r.record()
	return &r.report, nil
}

// Changed reports whether anything was repaired.
func (r *Report) Changed() bool { return len(r.Repaired) > 0 }

// repaired counts n repairs of a kind.
func (r *repairer) repaired(what string, n int) {
	if n > 0 {
		r.report.Repaired[what] += uint64(n)
	}
}

// remains counts what could not be repaired.
func (r *repairer) remains(what string, n int) {
	if n > 0 {
		r.report.Remaining[what] += uint64(n)
	}
}

// isSpan reports whether event i is a span: not an instant, nor of another phase.
func (r *repairer) isSpan(i uint32, e *timeline.Event) bool {
	return r.t.Source.Events.At(i).Phase == 0 && e.Flags&timeline.Instant == 0
}

// record writes the repairs down in the trace. A trace that needed none is left
// without.
func (r *repairer) record() {
	if !r.report.Changed() {
		return
	}
	r.repaired("begins_and_ends_joined", r.joined())
	t := r.t
	r.object()
	if t.Completeness == nil {
		t.Completeness = &timeline.Completeness{}
	}
	c := t.Completeness
	c.RepairedBy = r.o.By
	if c.RepairedBy == "" {
		c.RepairedBy = "flagos-trace"
	}
	c.Repaired = merged(c.Repaired, r.report.Repaired)
	c.Dropped = merged(c.Dropped, r.lost)
	for i := range r.report.Shifts {
		if s := &r.report.Shifts[i]; s.NS != 0 {
			c.DeviceShifts = append(c.DeviceShifts, s.DeviceShift)
		}
	}
	if r.report.Remaining[RemainingTruncated] > 0 && !slices.Contains(c.Missing, missingTruncated) {
		c.Missing = append(c.Missing, missingTruncated)
	}
	if c.Lost() {
		c.Verdict = timeline.Incomplete
	}
}

func merged(to, from map[string]uint64) map[string]uint64 {
	if to == nil && len(from) > 0 {
		to = map[string]uint64{}
	}
	for _, k := range slices.Sorted(maps.Keys(from)) {
		to[k] += from[k]
	}
	return to
}

// object makes a bare list of events an object, which has a place for members.
func (r *repairer) object() {
	if s := r.t.Source; s.Array {
		s.Array, s.EventsAt = false, len(r.t.Metadata)
	}
}
