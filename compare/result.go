package compare

import (
	"fmt"
	"time"

	"github.com/flagos-ai/flagos-trace/baseline/verdict"
)

// Assertions of Result.
const (
	AssertDevice    = "perf-device-time"
	AssertWhole     = "perf-whole-time"
	AssertOperators = "perf-operator-time"
	AssertWork      = "perf-work"
)

// Result is the report in the form of other comparisons, for gates and for what
// prints them: an assertion for each time that decides, a finding for each that is
// worse, and what only one side has as notes. Its verdict is the report's.
func (r *Report) Result() *verdict.Result {
	out := verdict.New("performance", sideOf(r.Base), sideOf(r.New))
	out.Incomparable = append(out.Incomparable, r.Incomparable...)
	for i := range r.Whole {
		m := &r.Whole[i]
		if !m.Decides {
			continue
		}
		a := verdict.Assertion{ID: AssertWhole, Title: m.Name + " did not become longer", Outcome: verdict.Holds, Checked: 1}
		if m.Name == deviceTime {
			a.ID = AssertDevice
		}
		switch m.Change.Status {
		case Slower:
			a.Outcome, a.Broken = verdict.Broken, 1
		case Unsure:
			a.Outcome, a.Reason = verdict.NotRecorded, "the runs are too few, or vary too much, to tell"
		case Faster:
			if !r.lessWork {
				out.Better = append(out.Better, m.Name+" "+m.Change.change())
			}
		}
		out.Assert(a)
		if a.Outcome == verdict.Broken {
			out.Add(r.finding(a.ID, m.Name, &m.Change, verdict.Error))
		}
	}
	a := verdict.Assertion{ID: AssertOperators, Title: "no operator became slower", Outcome: verdict.NotJudged}
	single := len(r.Base) < 2 || len(r.New) < 2
	for _, row := range r.table("operator") {
		c := &row.Change
		switch c.Status {
		case OnlyNew, OnlyBase:
			out.Add(r.finding(a.ID, row.Name, c, verdict.Note))
			continue
		case Small:
			continue
		}
		if single {
			a.Reason = "a side of one run tells nothing about single operators"
			continue
		}
		a.Checked++
		if a.Outcome == verdict.NotJudged {
			a.Outcome = verdict.Holds
		}
		switch c.Status {
		case Slower:
			a.Broken++
			a.Outcome = verdict.Broken
			out.Add(r.finding(a.ID, row.Name, c, verdict.Error))
		case Faster:
			if !r.lessWork && !row.explained {
				out.Better = append(out.Better, row.Name+" "+c.change())
			}
		}
	}
	out.Assert(a)
	a = verdict.Assertion{ID: AssertWork, Title: "what became faster does not do less", Outcome: verdict.Holds}
	switch {
	case len(r.Incomparable) > 0:
		a.Outcome, a.Reason = verdict.NotJudged, "the sides are not comparable"
	case r.lessWork:
		a.Outcome, a.Reason = verdict.NotRecorded, r.lessAndMore()
	case r.unmet:
		a.Outcome, a.Reason = verdict.NotRecorded, unmetText+": "+r.lessAndMore()
	}
	if len(r.Whole) > 0 {
		out.Assert(a)
	}
	// Sorted as all results are; without exceptions there is no error.
	_ = out.Judge(nil, time.Time{})
	out.Verdict, out.Why = r.Verdict, r.Why
	return out
}

func (r *Report) finding(id, name string, c *Change, s verdict.Severity) verdict.Finding {
	f := verdict.Finding{
		Assertion: id, Subject: "operator:" + name, Severity: s, Where: verdict.Nowhere,
		Expected: duration(c.Base), Got: duration(c.New), DeviceNS: int64(c.New),
	}
	if id == AssertOperators {
		f.Where.Operator = name
	} else {
		f.Subject = "whole:" + name
	}
	switch c.Status {
	case OnlyNew:
		f.What = fmt.Sprintf("%s has device time in the new runs only", name)
	case OnlyBase:
		f.What, f.DeviceNS = fmt.Sprintf("%s has device time in the base's runs only", name), int64(c.Base)
	default:
		f.What = fmt.Sprintf("%s became slower: %s", name, c.change())
		if b := c.bounds(); b != "" {
			f.What += fmt.Sprintf(" (%s at %s)", b, r.interval())
		}
	}
	return f
}

// sideOf is what a side's runs are together: the first, if they differ.
func sideOf(runs []verdict.Side) verdict.Side {
	if len(runs) == 0 {
		return verdict.Side{Kind: "trace"}
	}
	s := runs[0]
	if len(runs) > 1 {
		s.Runs = len(runs)
	}
	return s
}
