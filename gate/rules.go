package gate

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/flagos-ai/flagos-trace/baseline/verdict"
	"github.com/flagos-ai/flagos-trace/occupancy/kernels"
	"github.com/flagos-ai/flagos-trace/validate"
)

// rulesSide is the base of checks that compare with nothing but rules.
func rulesSide(name string) verdict.Side { return verdict.Side{Name: name, Kind: "rules"} }

func (r *run) validate(v *Validate) {
	base := rulesSide("the rules of flagos-trace validate")
	r.each(&v.Common, "rules", base, func(name, path string) error {
		found := false
		err := validate.File(path, validate.Options{Only: v.Rules, Not: v.NoRules}, func(file string, report *validate.Report, err error) error {
			if v.Member != "" && file != path+"/"+v.Member {
				return nil
			}
			found = true
			title := name
			if file != path {
				title += " (" + file + ")"
			}
			if err != nil {
				r.fail(&v.Common, title, "rules", file, base, err)
				return nil
			}
			result := v.result(file, report)
			if err := r.settle(&v.Common, result); err != nil {
				r.fail(&v.Common, title, "rules", file, base, err)
				return nil
			}
			r.add(&v.Common, title, result)
			return nil
		})
		if err == nil && !found {
			err = fmt.Errorf("%s holds no trace %q", path, v.Member)
		}
		return err
	})
}

// severities of rules as verdicts have them.
var severities = map[validate.Severity]verdict.Severity{validate.Error: verdict.Error, validate.Warning: verdict.Warning, validate.Note: verdict.Note}

// result is a report of package validate: an assertion a rule, and of each that is
// broken the first finding, with how many there are.
func (v *Validate) result(file string, report *validate.Report) *verdict.Result {
	out := verdict.New("rules", rulesSide("the rules of flagos-trace validate"),
		verdict.Side{Name: file, Kind: "trace", Producer: report.Producer.Name, Events: int64(report.Events)})
	failOn, _ := validate.ParseSeverity(v.FailOn)
	counts, cannot := map[string]int{}, map[string]string{}
	for _, c := range report.Counts {
		counts[c.Rule] = c.N
	}
	for _, n := range report.NotApplicable {
		cannot[n.Rule] = n.Reason
	}
	asked := map[string]bool{}
	for _, id := range v.Rules {
		asked[id] = true
	}
	skipped := map[string]bool{}
	for _, id := range v.NoRules {
		skipped[id] = true
	}
	for _, rule := range validate.Rules() {
		a := verdict.Assertion{ID: rule.ID, Title: rule.Title, Outcome: verdict.Holds}
		switch {
		case skipped[rule.ID], len(asked) > 0 && !asked[rule.ID]:
			continue
		case cannot[rule.ID] != "":
			a.Outcome, a.Reason = verdict.Cannot, cannot[rule.ID]
		case counts[rule.ID] > 0 && rule.Severity >= failOn:
			a.Outcome, a.Broken = verdict.Broken, int64(counts[rule.ID])
		case counts[rule.ID] > 0:
			a.Outcome, a.Broken, a.Reason = verdict.NotJudged, int64(counts[rule.ID]), "below fail_on"
		}
		out.Assert(a)
		if counts[rule.ID] == 0 {
			continue
		}
		f := verdict.Finding{Assertion: rule.ID, Subject: "rule", Severity: severities[rule.Severity], What: rule.Title + ": broken", Where: verdict.Nowhere, Fix: rule.Fix, Count: int64(counts[rule.ID])}
		for i := range report.Findings {
			if x := &report.Findings[i]; x.Rule == rule.ID {
				f.What, f.Where = x.Text, verdict.Place{Category: x.Category, Name: x.Name, Event: int64(x.Event), Offset: x.Offset}
				break
			}
		}
		if n := counts[rule.ID]; n > 1 {
			f.What += fmt.Sprintf(" (the first of %d)", n)
		}
		switch {
		case rule.Severity < failOn:
			f.Severity = verdict.Note
		case f.Severity == verdict.Note:
			f.Severity = verdict.Warning // it was asked to fail
		}
		out.Add(f)
	}
	out.Decide()
	return out
}

func (r *run) occupancy(o *Occupancy) {
	base := rulesSide("limits of occupancy")
	if o.Ratchet != "" {
		base.Name = r.c.file(o.Ratchet)
	}
	r.each(&o.Common, "occupancy", base, func(name, path string) error {
		result, err := r.kernels(o, base, path)
		if err != nil {
			return err
		}
		if err := r.settle(&o.Common, result); err != nil {
			return err
		}
		r.add(&o.Common, name, result)
		return nil
	})
}

// kernels holds the occupancy of a trace's kernels against the limits.
func (r *run) kernels(o *Occupancy, base verdict.Side, path string) (*verdict.Result, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	report, err := kernels.Read(f, kernels.Options{})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	out := verdict.New("occupancy", base, verdict.Side{Name: path, Kind: "trace", Completeness: report.Verdict})
	for _, d := range report.Devices {
		if d.Name != "" {
			out.New.Devices = append(out.New.Devices, d.Name)
		}
	}
	if report.Verdict == "incomplete" {
		out.Incomparable = append(out.Incomparable, fmt.Sprintf("the trace %s is incomplete by its own record", path))
	}
	if o.Min > 0 || o.MinAchieved > 0 {
		below, judged, unjudged := report.Below(kernels.Minimum{Percent: o.Min, AchievedPercent: o.MinAchieved, Share: *o.MinShare})
		a := verdict.Assertion{ID: "occupancy-min", Title: "no kernel of weight is below the minimum of occupancy", Outcome: verdict.Holds,
			Checked: int64(judged.Calls), Broken: int64(len(below))}
		switch {
		case len(below) > 0:
			a.Outcome = verdict.Broken
		case judged.Calls == 0:
			a.Outcome, a.Reason = verdict.NotRecorded, "no kernel's occupancy can be calculated"
		}
		out.Assert(a)
		for i := range below {
			s := &below[i]
			kind := "theoretical"
			if s.Achieved {
				kind = "achieved"
			}
			out.Add(verdict.Finding{Assertion: a.ID, Subject: kind + ":" + kernels.Normalize(s.Name), Severity: verdict.Error, What: s.String(), Where: verdict.Nowhere,
				Expected: fmt.Sprintf("%g %%", s.Required), Got: fmt.Sprintf("%.1f %%", s.Is), Fix: "see flagos-trace occupancy --trace for what limits it"})
		}
		if unjudged.Calls > 0 {
			out.Add(verdict.Finding{Assertion: a.ID, Subject: "unjudged", Severity: verdict.Note, Where: verdict.Nowhere, Count: int64(unjudged.Calls), Of: int64(unjudged.Calls + judged.Calls),
				What: fmt.Sprintf("of %d of %d kernels the occupancy cannot be calculated", unjudged.Calls, unjudged.Calls+judged.Calls)})
		}
	}
	if o.Ratchet != "" {
		if err := r.ratchet(o, report, out); err != nil {
			return nil, err
		}
	}
	out.Decide()
	return out, nil
}

func (r *run) ratchet(o *Occupancy, report *kernels.Report, out *verdict.Result) error {
	path := r.c.file(o.Ratchet)
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	base, err := kernels.ReadRatchet(f)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	now := report.Ratchet()
	a := verdict.Assertion{ID: "occupancy-ratchet", Title: "registers, local memory and occupancy of no kernel are worse than in the file", Outcome: verdict.Holds, Checked: int64(len(now.Entries))}
	switch {
	case !now.Holds():
		a.Outcome, a.Reason = verdict.NotRecorded, "of no kernel are registers, local memory or occupancy known"
	case !base.Meets(now):
		return errors.New("no kernel of the trace is in " + path + " on the same device; the file is for " + base.DeviceNames() + ", the trace of " + now.DeviceNames())
	}
	c := base.Compare(now)
	if len(c.Worse) > 0 {
		a.Outcome, a.Reason, a.Broken = verdict.Broken, "", int64(len(c.Worse))
	}
	out.Assert(a)
	for _, s := range c.Worse {
		out.Add(verdict.Finding{Assertion: a.ID, Subject: "worse:" + worseOf(s), Severity: verdict.Error, What: s, Where: verdict.Nowhere,
			Fix: "or accept it: flagos-trace occupancy --ratchet --update"})
	}
	out.Better = append(out.Better, c.Better...)
	for _, g := range []struct {
		what string
		list []string
	}{{"new", c.New}, {"gone", c.Gone}} {
		if len(g.list) > 0 {
			out.Add(verdict.Finding{Assertion: a.ID, Subject: g.what, Severity: verdict.Note, Where: verdict.Nowhere, Count: int64(len(g.list)),
				What: fmt.Sprintf("%d kernels are %s, such as %s", len(g.list), g.what, g.list[0])})
		}
	}
	return nil
}

// worseOf is the kernel of a line of what got worse, and in what: without the figures,
// which change from run to run.
func worseOf(line string) string {
	i := strings.LastIndex(line, ": ")
	if i < 0 {
		return line
	}
	what, _, _ := strings.Cut(line[i+2:], " ")
	return line[:i] + "/" + what
}
