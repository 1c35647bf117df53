package compare

import (
	"fmt"
	"strings"

	"github.com/flagos-ai/flagos-trace/baseline/verdict"
	"github.com/flagos-ai/flagos-trace/calltree"
	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/measure"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// Input is one run: a trace that was read, by its name.
type Input struct {
	Name     string
	Producer chrome.Producer
	Trace    *timeline.Trace
	// Lost says what of the file could not be read; "" where all could.
	Lost string
	// Untimed says what is wrong with durations of device work; "" where nothing is.
	Untimed string
}

// FromDocument is the run that a document holds.
func FromDocument(d *chrome.Document) Input {
	in := Input{Name: d.Name, Producer: d.Producer, Trace: d.Trace}
	in.Lost = strings.Join(chrome.Unread(d.FindingCounts), ", and ")
	in.Untimed = untimed(d)
	return in
}

// untimed says so if device work has a negative duration or none, which the reader
// takes as 0: sums with it are too small.
func untimed(d *chrome.Document) string {
	var kept uint64
	for _, f := range d.Findings {
		if f.Rule != chrome.RuleDuration {
			continue
		}
		kept++
		if f.Event < 0 || f.Event >= int64(d.Trace.Events.Len()) {
			continue
		}
		if e := d.Trace.Events.At(uint32(f.Event)); e.Kind.OnDevice() && e.Duration() == 0 {
			return fmt.Sprintf("has device work with a negative duration, or without one: the first is at byte %d", f.Offset)
		}
	}
	if kept == d.FindingCounts[chrome.RuleDuration] {
		return ""
	}
	for i := range uint32(d.Trace.Events.Len()) { // not every finding was kept
		if e := d.Trace.Events.At(i); e.Kind.OnDevice() && e.Duration() == 0 {
			return "has durations that are negative or missing, and device work that takes no time"
		}
	}
	return ""
}

// Options of Run. Zero values stand for the defaults in parentheses.
type Options struct {
	Rules *Rules // (DefaultRules)
	// Alpha is the level of significance (0.05): how often, at most, a comparison of
	// sides that do not differ comes to a regression or an improvement.
	Alpha float64
	// MinEffect is the smallest change that matters (0.02, which is 2 %).
	MinEffect float64
	// MinShare is the share of the device time that a row has to have on one side to
	// be tested, and work that the new runs lack to matter (0.005).
	MinShare float64
	// NoiseFloor is how much times of single runs may differ and mean nothing (0.05).
	NoiseFloor float64
	Correction Correction // (Holm)
}

func (o *Options) defaults() {
	set := func(v *float64, to float64) {
		if *v == 0 {
			*v = to
		}
	}
	if o.Rules == nil {
		o.Rules = DefaultRules()
	}
	if o.Correction == "" {
		o.Correction = Holm
	}
	set(&o.Alpha, 0.05)
	set(&o.MinEffect, 0.02)
	set(&o.MinShare, 0.005)
	set(&o.NoiseFloor, 0.05)
}

// Report is the comparison of two sides of one run or more each.
type Report struct {
	Schema  string          `json:"schema"`
	Verdict verdict.Verdict `json:"verdict"`
	Why     string          `json:"why"`
	// Base and New are the runs.
	Base []verdict.Side `json:"base"`
	New  []verdict.Side `json:"new"`
	// Incomparable says what keeps the sides from being compared.
	Incomparable []string `json:"incomparable,omitempty"`
	Notes        []string `json:"notes,omitempty"`
	Settings     Settings `json:"settings"`
	// Matched says how much work met its counterpart.
	Matched MatchedWork `json:"matched"`
	// Whole has what is measured of whole runs; those that decide first.
	Whole  []Metric `json:"whole"`
	Tables []Table  `json:"tables"`
	// OneSided is the work that has no counterpart, most time first.
	OneSided []OneSidedWork `json:"one_sided"`
	// Less is what the new runs do less of than those of the base, More what they do
	// more of; most time first.
	Less []WorkChange `json:"less_work"`
	More []WorkChange `json:"more_work"`

	lessWork bool       // what is faster may be so because less was done
	moreWork bool       // some operator is slower because more was done
	unmet    bool       // most work has no counterpart on the other side
	total    [2]float64 // device time of the mean run of a side
}

// Schema names the form of the JSON. It changes where a key changes its meaning or
// goes away.
const Schema = "flagos-trace.diff.performance/1"

// Settings are the options that a verdict depends on.
type Settings struct {
	Alpha      float64    `json:"alpha"`
	MinEffect  float64    `json:"min_effect"`
	MinShare   float64    `json:"min_share"`
	NoiseFloor float64    `json:"noise_floor"`
	Correction Correction `json:"correction"`
}

// MatchedWork says how much work is in groups of both sides, all runs together.
type MatchedWork struct {
	Total  [2]Sum `json:"total"` // of base and new
	Linked [2]Sum `json:"linked"`
	// LinkedMatched is the linked work that is matched by operators, Met all work that
	// is matched by anything.
	LinkedMatched [2]Sum            `json:"linked_matched"`
	Met           [2]Sum            `json:"met"`
	ByLevel       map[string][2]Sum `json:"by_level"`
}

// OneSidedWork is work without counterpart on the other side.
type OneSidedWork struct {
	Side string `json:"side"`
	Name string `json:"name"` // the operator, or the class of its kernels
	Path string `json:"path,omitempty"`
	Sum
}

// Metric is something measured of whole runs.
type Metric struct {
	Name   string    `json:"name"`
	Unit   string    `json:"unit"`
	Base   []float64 `json:"base"` // by run
	New    []float64 `json:"new"`
	Change Change    `json:"change"`
	// Decides: the verdict depends on it.
	Decides bool `json:"decides"`
}

// Run compares the runs of two sides.
func Run(base, now []Input, o Options) *Report {
	r := newReport(&o)
	var trees [2][]*calltree.Tree
	var of [2][]*measured
	for side, inputs := range [2][]Input{base, now} {
		for i := range inputs {
			x := calltree.New(inputs[i].Trace)
			trees[side] = append(trees[side], x)
			of[side] = append(of[side], measure.Of(x))
			r.input(Side(side), &inputs[i], x)
		}
		if len(inputs) == 0 {
			r.Incomparable = append(r.Incomparable, fmt.Sprintf("there is no run on the side of %s", Side(side)))
		}
	}
	if len(base) == 0 || len(now) == 0 {
		r.judge(&o)
		return r
	}
	m := Match(trees[Base], trees[New], o.Rules)
	r.matched(m)
	r.Tables = tables(m, of)
	r.whole(of)
	r.work(m)
	r.notes(of)
	r.changes(&o)
	r.explain(o.MinEffect)
	r.judge(&o)
	return r
}

func newReport(o *Options) *Report {
	o.defaults()
	r := &Report{
		Schema: Schema, Settings: Settings{o.Alpha, o.MinEffect, o.MinShare, o.NoiseFloor, o.Correction},
		Base: []verdict.Side{}, New: []verdict.Side{}, Whole: []Metric{}, Tables: []Table{}, OneSided: []OneSidedWork{},
		Less: []WorkChange{}, More: []WorkChange{},
	}
	r.Matched.ByLevel = map[string][2]Sum{}
	return r
}

// Unusable is the report of a comparison that could not be made, for the reason that
// err says; the sides are files.
func Unusable(base, now []string, o Options, err error) *Report {
	r := newReport(&o)
	for side, names := range [2][]string{base, now} {
		for _, name := range names {
			d := verdict.Side{Name: name, Kind: "trace"}
			if Side(side) == Base {
				r.Base = append(r.Base, d)
			} else {
				r.New = append(r.New, d)
			}
		}
	}
	r.Incomparable = []string{err.Error()}
	r.judge(&o)
	return r
}

// maxTotal is the device time of a run, ns, up to which sums over runs are far from
// what an int64 holds.
const maxTotal = 1 << 58 // nine years

// input says what a run is, and what keeps it from being compared.
func (r *Report) input(s Side, in *Input, x *calltree.Tree) {
	d := verdict.Side{Name: in.Name, Kind: "trace", Producer: in.Producer.String(), Vendor: in.Producer.Vendor, Events: int64(in.Trace.Events.Len())}
	for _, dev := range in.Trace.Devices {
		if len(d.Devices) == 0 || d.Devices[len(d.Devices)-1] != dev.Name {
			d.Devices = append(d.Devices, dev.Name)
		}
	}
	bad := func(format string, args ...any) {
		r.Incomparable = append(r.Incomparable, fmt.Sprintf("the trace %s (%s) ", in.Name, s)+fmt.Sprintf(format, args...))
	}
	if c := in.Trace.Completeness; c != nil {
		d.Completeness = string(c.Verdict)
		if c.Verdict == timeline.Incomplete {
			why := strings.Join(c.Missing, ", ")
			if len(c.Diagnoses) > 0 {
				why = c.Diagnoses[0]
			}
			if why != "" {
				why = ": " + why
			}
			bad("is incomplete by its own record%s", why)
		}
		if c.Verdict == timeline.Unknown {
			r.Notes = append(r.Notes, fmt.Sprintf("nobody knows whether the trace %s (%s) is complete", in.Name, s))
		}
	}
	if in.Lost != "" {
		bad("cannot be read whole: %s", in.Lost)
	}
	total := 0.0
	for w := range x.Works() {
		total += float64(x.WorkAt(w).Duration())
	}
	switch {
	case x.NumWorks() == 0:
		bad("holds no device work")
	case total == 0:
		bad("has device work that takes no time at all: its durations were not recorded")
	case in.Untimed != "":
		bad("%s", in.Untimed)
	case total > maxTotal:
		bad("has device work of %.0f years, which cannot be: its durations are wrong", total/(365.25*24*3600e9))
	}
	if s == Base {
		r.Base = append(r.Base, d)
	} else {
		r.New = append(r.New, d)
	}
}
