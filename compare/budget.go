package compare

import (
	"fmt"
	"math"
	"time"

	"github.com/flagos-ai/flagos-trace/baseline/verdict"
)

// AssertBudget begins the ids of assertions that budgets make.
const AssertBudget = "perf-budget/"

// Budget is what rows of a table may take at most.
type Budget struct {
	By   string // one of Tables; "" is operator
	Name string // of the rows, in which * stands for any text; each is judged by itself
	// MaxIncrease is by how much more than in the base the device time of a run may be,
	// 0.05 is 5 %; MaxTime what it may be; MaxCount how many kernels, copies and
	// fills. Nil is not asked for.
	MaxIncrease *float64
	MaxTime     *time.Duration
	MaxCount    *int64
}

// ID is that of the assertion the budget makes.
func (b *Budget) ID() string { return AssertBudget + b.table() + ":" + b.Name }

func (b *Budget) table() string {
	if b.By == "" {
		return Tables[0]
	}
	return b.By
}

// Hold adds an assertion for each budget to a result of the report, and a finding for
// each row that is beyond one. It does not decide: call verdict.Result.Decide, or take
// the worse verdict.
//
// Several runs a side: the interval of the effect, at a confidence corrected for the
// number of comparisons, has to lie below the increase allowed for the budget to hold,
// and above it to be broken; what is between is not recorded. One run a side: the same
// with the noise floor. Limits of time and counts are exact: they hold if all new runs
// keep them, and are broken if none does.
func (r *Report) Hold(out *verdict.Result, budgets []Budget) {
	comparisons := 0
	for i := range budgets {
		if budgets[i].MaxIncrease != nil {
			comparisons += len(r.rows(&budgets[i]))
		}
	}
	for i := range budgets {
		b := &budgets[i]
		a := verdict.Assertion{ID: b.ID(), Title: b.title(), Outcome: verdict.Holds}
		var found []verdict.Finding
		rows := r.rows(b)
		if len(rows) == 0 {
			a.Outcome, a.Reason = verdict.NotRecorded, "the new runs have no such device work"
		}
		for _, row := range rows {
			for _, j := range r.judgeBudget(b, row, comparisons) {
				a.Checked++
				switch j.outcome {
				case verdict.Broken:
					a.Broken++
					a.Outcome, a.Reason = verdict.Broken, ""
					f := verdict.Finding{Assertion: a.ID, Subject: b.table() + ":" + row.Name + "/" + j.what, Severity: verdict.Error, Where: verdict.Nowhere,
						What: row.Name + " is beyond its budget: " + j.text, Expected: j.expected, Got: j.got, DeviceNS: int64(row.mean(New)),
						Fix: "make it faster, or change the budget"}
					if b.table() == "operator" {
						f.Where.Operator = row.Name
					}
					found = append(found, f)
				case verdict.NotRecorded:
					if a.Outcome == verdict.Holds {
						a.Outcome, a.Reason = verdict.NotRecorded, row.Name+": "+j.text
					}
				}
			}
		}
		out.Assert(a)
		for _, f := range found {
			out.Add(f)
		}
	}
}

func (b *Budget) title() string {
	s := b.table() + " " + b.Name + " keeps its budget"
	sep := ": "
	add := func(format string, args ...any) {
		s += sep + fmt.Sprintf(format, args...)
		sep = ", "
	}
	if b.MaxIncrease != nil {
		add("at most %s", percent(1+*b.MaxIncrease))
	}
	if b.MaxTime != nil {
		add("at most %s a run", duration(float64(*b.MaxTime)))
	}
	if b.MaxCount != nil {
		add("at most %d a run", *b.MaxCount)
	}
	return s
}

// rows are those of the new side that a budget is about.
func (r *Report) rows(b *Budget) (list []*Row) {
	for _, row := range r.table(b.table()) {
		if only, ok := row.Only(); verdict.Match(b.Name, row.Name) && !(ok && only == Base) && row.mean(New) > 0 {
			list = append(list, row)
		}
	}
	return list
}

// judged is what one limit of a budget comes to.
type judged struct {
	what, text, expected, got string
	outcome                   verdict.Outcome
}

func (r *Report) judgeBudget(b *Budget, row *Row, comparisons int) (out []judged) {
	if b.MaxIncrease != nil {
		out = append(out, r.judgeIncrease(*b.MaxIncrease, row, comparisons))
	}
	limit := func(what string, most int64, of func(m *Measures) int64, print func(float64) string) {
		beyond, worst := 0, int64(0)
		for i := range row.New {
			v := of(&row.New[i])
			worst = max(worst, v)
			if v > most {
				beyond++
			}
		}
		j := judged{what: what, outcome: verdict.Holds, expected: "at most " + print(float64(most)), got: print(float64(worst))}
		switch {
		case beyond == len(row.New):
			j.outcome, j.text = verdict.Broken, what+" "+j.got
		case beyond > 0:
			j.outcome, j.text = verdict.NotRecorded, fmt.Sprintf("%d of %d runs are beyond the limit", beyond, len(row.New))
		}
		out = append(out, j)
	}
	if b.MaxTime != nil {
		limit("time", int64(*b.MaxTime), func(m *Measures) int64 { return m.DeviceNS }, duration)
	}
	if b.MaxCount != nil {
		limit("count", *b.MaxCount, func(m *Measures) int64 { return m.Works }, func(v float64) string { return fmt.Sprintf("%.0f", v) })
	}
	return out
}

func (r *Report) judgeIncrease(most float64, row *Row, comparisons int) judged {
	j := judged{what: "increase", outcome: verdict.NotRecorded, expected: "at most " + percent(1+most)}
	var sample [2][]float64
	for side := range sample {
		for _, m := range row.of(Side(side)) {
			if m.DeviceNS <= 0 {
				j.text = fmt.Sprintf("a run of the side of %s has no device time of it", Side(side))
				return j
			}
			sample[side] = append(sample[side], float64(m.DeviceNS))
		}
	}
	e := Effect{Ratio: row.mean(New) / row.mean(Base)}
	low, high := e.Ratio/(1+r.Settings.NoiseFloor), e.Ratio*(1+r.Settings.NoiseFloor)
	switch {
	case equal(sample[Base], sample[New]):
		low, high = 1, 1
	case len(sample[Base]) > 1 && len(sample[New]) > 1:
		confidence := 1 - r.Settings.Alpha/float64(max(comparisons, 1))
		e = newTester(sample[Base], sample[New], comparisons, r.Settings.Alpha, confidence).compare(sample[Base], sample[New])
		low, high = e.Low, e.High
		if high == 0 { // not bounded
			low, high = 0, math.Inf(1)
		}
	}
	j.got = percent(e.Ratio)
	switch {
	case low > 1+most:
		j.outcome, j.text = verdict.Broken, fmt.Sprintf("%s, from %s to %s", j.got, duration(row.mean(Base)), duration(row.mean(New)))
	case high <= 1+most:
		j.outcome = verdict.Holds
	default:
		j.text = j.got + ", which the runs are too few, or vary too much, to tell from the budget"
	}
	return j
}
