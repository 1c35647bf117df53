package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/flagos-ai/flagos-trace/baseline/verdict"
)

// Status says what became of a time.
type Status string

// Statuses, the worst first.
const (
	Slower   Status = "slower"
	Faster   Status = "faster"
	OnlyNew  Status = "only new"
	OnlyBase Status = "only base"
	Unsure   Status = "unsure"     // it may have changed by what matters, or not
	Same     Status = "same"       // what it may have changed by does not matter
	Small    Status = "not tested" // its share is too small
	Differs  Status = "differs"    // a count
)

// Change is what became of a time, or of another amount that is better when less.
type Change struct {
	Status Status  `json:"status"`
	Effect *Effect `json:"effect,omitempty"` // absent where one side is 0
	// Base and New are of the mean run of each side, Delta their difference.
	Base  float64 `json:"base"`
	New   float64 `json:"new"`
	Delta float64 `json:"delta"`
	// BaseShare and NewShare are of the device time of a side; absent for whole runs.
	BaseShare float64 `json:"base_share,omitempty"`
	NewShare  float64 `json:"new_share,omitempty"`
	// Counts says how many spans each run of a side has; it is set where all runs of a
	// side agree, and the sides do not.
	Counts *[2]int64 `json:"counts,omitempty"`
}

// pending is a change that was tested, before the correction for many comparisons.
type pending struct {
	change *Change
	sample [2][]float64
}

const wholeShare = 0.2

// changes tests whole runs and rows.
func (r *Report) changes(o *Options) {
	single := len(r.Base) < 2 || len(r.New) < 2
	// Of what false alarms may be, a fifth is for the whole, which so needs few runs
	// whatever the number of operators, and the rest is for operators. Both are
	// families of their own; the other tables do not decide, and are such, too.
	var deciding, others []pending
	for i := range r.Whole {
		m := &r.Whole[i]
		m.Change = Change{Base: mean(m.Base), New: mean(m.New)}
		m.Change.Delta = m.Change.New - m.Change.Base
		p := pending{&m.Change, [2][]float64{m.Base, m.New}}
		if m.Unit != "ns" {
			m.Change.Status = Same
			if !equal(m.Base, m.New) {
				m.Change.Status = Differs
			}
			continue
		}
		if m.Decides {
			deciding = append(deciding, p)
		} else {
			others = append(others, p)
		}
	}
	test(deciding, single, o, o.Alpha*wholeShare)
	test(others, single, o, o.Alpha)
	for i := range r.Tables {
		t := &r.Tables[i]
		var tested []pending
		for _, row := range t.Rows {
			if r.rowChange(row, o) {
				p := pending{change: &row.Change}
				for side := range p.sample {
					for _, v := range row.of(Side(side)) {
						p.sample[side] = append(p.sample[side], float64(v.DeviceNS))
					}
				}
				tested = append(tested, p)
			}
		}
		alpha := o.Alpha
		if t.By == "operator" {
			alpha *= 1 - wholeShare
		}
		test(tested, single, o, alpha)
		slices.SortStableFunc(t.Rows, func(a, b *Row) int {
			return cmp.Or(cmp.Compare(a.Change.rank(), b.Change.rank()), cmp.Compare(math.Abs(b.Change.Delta), math.Abs(a.Change.Delta)),
				cmp.Compare(b.Change.Base, a.Change.Base))
		})
	}
}

// rowChange sets what needs no test and reports whether there is something to test.
func (r *Report) rowChange(row *Row, o *Options) bool {
	c := &row.Change
	*c = Change{Base: row.mean(Base), New: row.mean(New)}
	c.Delta = c.New - c.Base
	for side, share := range [2]*float64{&c.BaseShare, &c.NewShare} {
		if r.total[side] > 0 {
			*share = row.mean(Side(side)) / r.total[side]
		}
	}
	if counts, ok := row.counts(); ok && counts[Base] != counts[New] {
		c.Counts = &counts
	}
	switch only, ok := row.Only(); {
	case ok && only == Base:
		c.Status = OnlyBase
	case ok:
		c.Status = OnlyNew
	case max(c.BaseShare, c.NewShare) < o.MinShare:
		c.Status = Small
		if c.Base > 0 && c.New > 0 {
			c.Effect = &Effect{Ratio: c.New / c.Base}
		}
	default:
		return true
	}
	return false
}

// counts returns how many spans each run of a side has, if all runs of it agree.
func (r *Row) counts() (n [2]int64, ok bool) {
	for side := range n {
		runs := r.of(Side(side))
		n[side] = runs[0].Works
		for i := range runs {
			if runs[i].Works != n[side] {
				return n, false
			}
		}
	}
	return n, true
}

// test compares samples and corrects for their number.
func test(list []pending, single bool, o *Options, alpha float64) {
	var tested []pending
	var p []float64
	for _, t := range list {
		c := t.change
		if c.Base > 0 && c.New > 0 {
			c.Effect = &Effect{Ratio: c.New / c.Base}
		}
		switch {
		case equal(t.sample[Base], t.sample[New]):
			c.Status = Same // to the nanosecond
		case c.Effect == nil || !single && slices.Min(append(slices.Clone(t.sample[Base]), t.sample[New]...)) <= 0:
			c.Status = Unsure
		case single:
			c.Status = beyond(c.Effect.Ratio, o.NoiseFloor)
		default:
			tested = append(tested, t)
		}
	}
	for _, t := range tested {
		k := newTester(t.sample[Base], t.sample[New], len(tested), alpha, 1-o.Alpha)
		e := k.compare(t.sample[Base], t.sample[New])
		t.change.Effect = &e
		p = append(p, *e.P)
	}
	for i, adjusted := range o.Correction.adjust(p) {
		c := tested[i].change
		c.Effect.Adjusted = &adjusted
		c.Status = Unsure
		limit := 1 + o.MinEffect
		switch {
		case adjusted <= alpha && beyond(c.Effect.Ratio, o.MinEffect) != Unsure:
			c.Status = beyond(c.Effect.Ratio, o.MinEffect)
		case c.Effect.High < limit && c.Effect.Low > 1/limit:
			c.Status = Same
		}
	}
}

// equal reports whether two samples are the same, run by run, or the same value in all
// runs, however many there are.
func equal(a, b []float64) bool {
	return slices.Equal(a, b) || len(a) > 0 && len(b) > 0 && slices.Max(a) == slices.Min(b) && slices.Max(b) == slices.Min(a)
}

// beyond says on which side of what matters a ratio lies.
func beyond(ratio, matters float64) Status {
	switch {
	case ratio >= 1+matters:
		return Slower
	case ratio <= 1/(1+matters):
		return Faster
	}
	return Unsure
}

func (c *Change) rank() int {
	return slices.Index([]Status{Slower, OnlyNew, OnlyBase, Faster, Unsure, Same, Small}, c.Status)
}

// judge comes to the verdict.
func (r *Report) judge(o *Options) {
	if len(r.Incomparable) > 0 {
		r.Verdict, r.Why = verdict.Incomparable, r.Incomparable[0]
		return
	}
	single := len(r.Base) < 2 || len(r.New) < 2
	n := map[Status]int{}
	worst := map[Status][]string{}
	note := func(name string, c *Change) {
		if n[c.Status]++; n[c.Status] > 3 {
			return
		}
		if c.Effect != nil {
			name += " " + percent(c.Effect.Ratio)
		}
		worst[c.Status] = append(worst[c.Status], name)
	}
	for i := range r.Whole {
		if m := &r.Whole[i]; m.Decides {
			note(m.Name, &m.Change)
		}
	}
	whole := n[Unsure]
	unsure := strings.Join(worst[Unsure], ", ")
	// An operator of a single run says nothing: its times may be anything.
	explained := 0
	if !single {
		for _, row := range r.table("operator") {
			if row.explained && row.Change.Status == Faster {
				explained++
				continue
			}
			r.moreWork = r.moreWork || row.explained
			note(row.Name, &row.Change)
		}
	}
	list := func(s Status) string {
		text := strings.Join(worst[s], ", ")
		if more := n[s] - len(worst[s]); more > 0 {
			text += fmt.Sprintf(", and %d more", more)
		}
		return text
	}
	less := shares(r.Less) >= o.MinShare
	r.lessWork = n[Faster] > 0 && less || n[Faster] == 0 && explained > 0
	work := r.lessAndMore()
	r.unmet = r.unmetWork()
	switch {
	case n[Slower] > 0:
		r.Verdict, r.Why = verdict.Regression, "slower: "+list(Slower)
	case r.lessWork && n[Faster] > 0:
		r.Verdict, r.Why = verdict.Inconclusive, "less time, but for less work: "+list(Faster)
	case r.lessWork:
		r.Verdict, r.Why = verdict.Inconclusive, "what takes less time does less work"
	case r.unmet:
		r.Verdict, r.Why = verdict.Inconclusive, unmetText+", so that it is not known whether the same was done"
	case n[Faster] > 0:
		r.Verdict, r.Why = verdict.Improvement, "faster: "+list(Faster)
		return
	case whole > 0 && single:
		r.Verdict = verdict.Inconclusive
		r.Why = fmt.Sprintf("times of one run a side differ by less than %.3g %%, which means nothing: give several runs a side", 100*o.NoiseFloor)
		if max(len(r.Base), len(r.New)) > 1 {
			r.Why = fmt.Sprintf("times differ by less than %.3g %%, which means nothing where a side has one run: give several runs a side", 100*o.NoiseFloor)
		}
	case whole > 0:
		r.Verdict = verdict.Inconclusive
		r.Why = fmt.Sprintf("the runs are too few or vary too much to tell a change of %.3g %%: %s", 100*o.MinEffect, unsure)
	default:
		r.Verdict, r.Why = verdict.Pass, fmt.Sprintf("no time changed by %.3g %% or more", 100*o.MinEffect)
		if single {
			r.Why = "all times are equal"
		}
	}
	if work != "" {
		r.Why += "; " + work
	}
}

// table returns the rows of one of the tables.
func (r *Report) table(by string) []*Row {
	for i := range r.Tables {
		if r.Tables[i].By == by {
			return r.Tables[i].Rows
		}
	}
	return nil
}

func percent(ratio float64) string { return fmt.Sprintf("%+.1f %%", 100*(ratio-1)) }
