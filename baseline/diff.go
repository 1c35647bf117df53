package baseline

import (
	"fmt"
	"time"

	"github.com/flagos-ai/flagos-trace/baseline/shape"
	"github.com/flagos-ai/flagos-trace/baseline/verdict"
	"github.com/flagos-ai/flagos-trace/capability"
)

// Scope says what a trace was recorded to hold.
type Scope string

// Scopes.
const (
	Full   Scope = "full"
	Device Scope = "device" // the device's side only: no operators
)

// Options of a comparison. The zero value is good, but for Now.
type Options struct {
	Scope Scope // "" is Full
	// Vendor of the new side's devices, where its producer does not say it.
	Vendor string
	// Capabilities is the table of what vendors cannot deliver; nil: the default.
	Capabilities *capability.Table
	// Exceptions are accepted findings, beside those of the base.
	Exceptions []verdict.Exception
	Now        time.Time // for exceptions that expire
	// Max is the most findings kept of one assertion; 0 is 1000.
	Max int
}

// Table is what vendors cannot deliver: that of the options, or the default.
func (o *Options) Table() *capability.Table {
	if o.Capabilities == nil {
		return capability.Default()
	}
	return o.Capabilities
}

// assertion is one row of the table.
type assertion struct {
	id, title string
	device    bool // in the scope of the device's side
	check     func(*differ)
}

// assertions is the table, causes first: findings of one severity are told in this
// order.
var assertions []assertion

func init() {
	assertions = []assertion{
		{"categories", "Every category of the base is there, under its own or an equivalent name", true, (*differ).categories},
		{"arg-keys", "The arguments that the base has are there, by category", true, (*differ).argKeys},
		{"arg-types", "Arguments and times have the types that the base has", true, (*differ).argTypes},
		{"ids", "Correlation ids pair API calls with device work", true, (*differ).ids},
		{"places", "Device work stands on the row of its device and stream, and its device is described", true, (*differ).places},
		{"after-launch", "Device work starts after its launch", true, (*differ).afterLaunch},
		{"window", "Events lie within the recorded window", true, (*differ).window},
		{"api-names", "API calls have their own names", true, (*differ).apiNames},
		{"operators", "The operators of the base are there", false, (*differ).operators},
		{"operator-work", "Operators start the kinds of device work that they start in the base", false, (*differ).operatorWork},
		{"launches", "Calls that launch have device work", true, (*differ).launches},
		{"attribution", "The device time of an operator is that of the work its API calls started", false, (*differ).attribution},
		{"linked", "Device work belongs to operators by External id", false, (*differ).linked},
		{"flows", "Arrows have both ends, on the events of their ids and sequence numbers", true, (*differ).flows},
		{"names", "Kernels have demangled names, and their own", true, (*differ).names},
		{"durations", "Device work takes time, not all the same, and no more than a stream has", true, (*differ).durations},
		{"values-constant", "Figures that vary in the base vary", true, (*differ).constant},
		{"values-plausible", "Figures lie in the range they can have", true, (*differ).plausible},
		{"values-copied", "Figures are not those of another argument", true, (*differ).copied},
		{"values-derived", "Figures follow from those they are made of", true, (*differ).derived},
		{"kernels-dominate", "Kernels hold most of the device time, as in the base", true, (*differ).kernelsDominate},
		{"rows", "Rows and processes of devices are named as in the base", true, (*differ).rows},
		{"metadata", "The document tells what the base tells of devices and ranks", true, (*differ).metadata},
		{"arg-coverage", "Arguments that every event has in the base are on every event", true, (*differ).argCoverage},
	}
}

// Assertions lists ids and titles, in the order of the table.
func Assertions() (list []verdict.Assertion) {
	for _, a := range assertions {
		list = append(list, verdict.Assertion{ID: a.id, Title: a.title})
	}
	return list
}

// differ compares two sides.
type differ struct {
	base, now *Side
	o         Options
	r         *verdict.Result
	vendor    string // of the new side

	// Of the assertion that is being checked.
	id              string
	checked, broken int64
	judged          bool // something was looked at on both sides
	found, excused  int
	same            bool
	absent          string // why nothing was there to judge
}

// Diff compares the new side with the base. Errors are about exceptions that cannot
// be understood.
func Diff(base, now *Side, o Options) (*verdict.Result, error) {
	o.Capabilities = o.Table()
	if o.Max == 0 {
		o.Max = 1000
	}
	d := &differ{base: base, now: now, o: o, vendor: o.Vendor}
	if d.vendor == "" {
		d.vendor = vendorOf(now)
	}
	d.r = verdict.New("structure", base.describe(), now.describe())
	d.r.New.Vendor = d.vendor
	d.r.Incomparable = append(d.r.Incomparable, base.unusable("base")...)
	d.r.Incomparable = append(d.r.Incomparable, now.unusable("new trace")...)
	if now.Seen == nil && base.Seen != nil {
		d.r.Incomparable = append(d.r.Incomparable, fmt.Sprintf("the new side, %s, is a baseline, and the base, %s, is a trace: a trace is held against a baseline; swap them", now.Name, base.Name))
	}
	if err := CheckExceptions(o.Exceptions); err != nil {
		return d.r, fmt.Errorf("%w: %w", verdict.ErrExceptions, err)
	}
	for i := range assertions {
		d.assert(&assertions[i])
	}
	return d.r, d.r.Judge(append(base.Shape.Exceptions[:len(base.Shape.Exceptions):len(base.Shape.Exceptions)], o.Exceptions...), o.Now)
}

func (d *differ) assert(a *assertion) {
	d.id, d.checked, d.broken, d.judged, d.found, d.excused, d.same, d.absent = a.id, 0, 0, false, 0, 0, false, ""
	x := verdict.Assertion{ID: a.id, Title: a.title, Outcome: verdict.NotJudged}
	if len(d.r.Incomparable) > 0 {
		d.r.Assert(x) // what one side lacks is not known
		return
	}
	if d.o.Scope == Device && !a.device {
		x.Reason = "outside the scope of the device's side"
		if d.now.Seen != nil && !d.host() {
			x.Outcome, x.OutOfScope = verdict.NotRecorded, true
			x.Reason = "of the framework's side, which is outside the scope"
		}
		d.r.Assert(x)
		return
	}
	excuses, betters := len(d.r.Cannot), len(d.r.Better)
	a.check(d)
	switch {
	case d.found > 0:
		x.Outcome = verdict.Broken
		d.r.Better = d.r.Better[:betters] // what is broken is no better
	case d.absent != "":
		x.Outcome, x.Reason = verdict.NotRecorded, d.absent
		if e := excuse(d.o.Capabilities, d.vendor, &verdict.Finding{Assertion: a.id, Subject: "absent"}); e != nil && d.now.Seen != nil {
			d.r.Cannot = append(d.r.Cannot, *e)
			x.Outcome, x.Reason = verdict.Cannot, e.Reason
		}
	case d.excused > 0:
		x.Outcome, x.Reason = verdict.Cannot, d.r.Cannot[excuses].Reason
	case d.same:
		x.Outcome = verdict.SameInBase
	case d.judged:
		x.Outcome = verdict.Holds
	default:
		x.Reason = "the base says nothing about it"
	}
	x.Checked, x.Broken = d.checked, d.broken
	if d.found > d.o.Max {
		d.r.Add(verdict.Finding{Assertion: a.id, Subject: "more", Severity: verdict.Note, Where: verdict.Nowhere,
			What: fmt.Sprintf("%d findings of this assertion were left out", d.found-d.o.Max)})
	}
	d.r.Assert(x)
}

// host reports whether the new side has anything of the framework's.
func (d *differ) host() bool {
	for name := range d.now.Shape.Categories {
		if hostSide[name] {
			return true
		}
	}
	return false
}

// find adds a finding of the assertion that is being checked, unless the vendor's
// library cannot do better.
func (d *differ) find(f verdict.Finding) {
	f.Assertion = d.id
	if f.Where == (verdict.Place{}) {
		f.Where = verdict.Nowhere
	}
	if e := excuse(d.o.Capabilities, d.vendor, &f); e != nil && d.now.Seen != nil {
		d.r.Cannot = append(d.r.Cannot, *e)
		d.excused++
		return
	}
	if f.Severity != verdict.Note {
		if d.found++; d.found > d.o.Max {
			return
		}
	}
	d.r.Add(f)
}

func (d *differ) note(subject, format string, args ...any) {
	d.find(verdict.Finding{Subject: subject, Severity: verdict.Note, What: fmt.Sprintf(format, args...)})
}

// sameVendor reports whether both sides are known to be of one vendor.
func (d *differ) sameVendor() bool {
	return d.base.Vendor != "" && d.o.Capabilities.Vendor(d.base.Vendor) == d.o.Capabilities.Vendor(d.vendor)
}

// sameProducer reports whether both sides are traces that one tool wrote.
func (d *differ) sameProducer() bool {
	base, now := d.base.Seen, d.now.Seen
	return base != nil && now != nil && base.Producer.Name != "" && base.Producer.Name == now.Producer.Name
}

// judgement of a measure.
type judgement uint8

const (
	nothing judgement = iota // nothing to judge
	good
	alike  // broken, and no more than in the base
	better // broken in the base only
	worse
)

// weigh holds a measure of the new side against the base's.
func (d *differ) weigh(now, base *shape.Measure, level shape.Level, known bool) judgement {
	switch {
	case now == nil || now.Checked == 0:
		return nothing
	case d.base.Seen != nil && base != nil && base.Checked > 0:
		d.judged = true
		switch {
		case now.Broken == 0 && base.Broken > 0:
			return better
		case now.Broken == 0:
			return good
		case base.Broken == 0,
			now.Checked == base.Checked && now.Broken > base.Broken,
			now.Share() > base.Share()*1.25+0.005:
			return worse
		}
		return alike
	case now.Broken == 0:
		d.judged = true
		return good
	case known:
		d.judged = true
		if l, _ := now.Level(); l.Rank() > level.Rank() {
			return worse
		}
		return alike
	}
	// The base says nothing: by itself.
	d.judged = true
	return worse
}

// measured judges a measure by its id and finds what is worse; the caller says how
// in f, whose What is completed with how many.
func (d *differ) measured(id string, severity verdict.Severity, f verdict.Finding) judgement {
	var now, base *shape.Measure
	if d.now.Seen != nil {
		now = d.now.Seen.Measures[id]
	}
	if d.base.Seen != nil {
		base = d.base.Seen.Measures[id]
	}
	level, known := d.base.Shape.Holds[id]
	if d.now.Seen == nil { // two files
		mine, ok := d.now.Shape.Holds[id]
		if !ok {
			return nothing
		}
		d.judged = true
		if known && mine.Rank() > level.Rank() || !known && mine != shape.None {
			f.Severity, f.Subject = severity, "measure:"+id
			f.Expected, f.Got = orNone(level), string(mine)
			d.find(f)
			return worse
		}
		return good
	}
	j := d.weigh(now, base, level, known)
	if now != nil {
		d.checked, d.broken = d.checked+now.Checked, d.broken+now.Broken
	}
	switch j {
	case nothing:
		if base != nil && base.Checked > 0 {
			d.absent = d.nothingOf(id)
		}
	case alike:
		d.same = true
	case better:
		text := d.id + ": broken in the base, holds in the new trace"
		if base.Checked > 1 {
			text += " (" + broken(base) + " there)"
		}
		d.r.Better = append(d.r.Better, text)
	case worse:
		f.Severity, f.Subject = severity, "measure:"+id
		f.Count, f.Of, f.DeviceNS = now.Broken, now.Checked, now.BrokenNS
		f.What += fmt.Sprintf(" (%s)", broken(now))
		f.Where = verdict.Nowhere
		if len(now.Examples) > 0 {
			x := &now.Examples[0]
			f.Where = verdict.Place{Name: x.Name, Key: x.Key, Event: x.Event, Offset: x.Offset}
			if f.Expected == "" {
				f.Expected = x.Want
			}
			if f.Got == "" {
				f.Got = x.Got
			}
		}
		if base != nil && base.Broken > 0 {
			f.What += fmt.Sprintf("; in the base %s", broken(base))
		}
		d.find(f)
	}
	return j
}

// nothingOf says why the new side has nothing to judge by a measure.
func (d *differ) nothingOf(id string) string {
	if id == shape.TakesTime && d.hasDeviceWork() {
		return "its times are whole numbers: as microseconds they do not tell that short work takes time, and nanoseconds have to be divided by 1000"
	}
	return "nothing of it was recorded"
}

// hasDeviceWork reports whether the new side has kernels, copies or fills.
func (d *differ) hasDeviceWork() bool {
	for _, category := range []string{"kernel", "gpu_memcpy", "gpu_memset"} {
		if d.now.Shape.Categories[category] != nil {
			return true
		}
	}
	return false
}

func orNone(l shape.Level) string {
	if l == "" {
		return string(shape.None)
	}
	return string(l)
}

func broken(m *shape.Measure) string { return fmt.Sprintf("%d of %d", m.Broken, m.Checked) }
