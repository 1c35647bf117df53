package gate

import (
	"fmt"
	"slices"

	"github.com/flagos-ai/flagos-trace/baseline/load"
	"github.com/flagos-ai/flagos-trace/baseline/verdict"
	"github.com/flagos-ai/flagos-trace/compare"
)

func (r *run) performance(p *Performance) {
	name := r.c.title(&p.Common)
	result, err := r.times(p)
	if err != nil {
		r.fail(&p.Common, name, "performance", "", verdict.Side{Name: fmt.Sprint([]string(p.Base)), Kind: "trace"}, err)
		return
	}
	r.add(&p.Common, name, result)
}

func (r *run) times(p *Performance) (*verdict.Result, error) {
	base, err := r.c.files(p.Base)
	if err != nil {
		return nil, err
	}
	news, err := r.news(&p.Common)
	if err != nil {
		return nil, err
	}
	o := compare.Options{Correction: p.Correction}
	for _, v := range []struct {
		to *float64
		is *float64
	}{{&o.Alpha, p.Alpha}, {&o.MinEffect, p.MinEffect}, {&o.MinShare, p.MinShare}, {&o.NoiseFloor, p.NoiseFloor}} {
		if v.is != nil {
			*v.to = *v.is
		}
	}
	if p.MatchRules != "" {
		if o.Rules, err = compare.LoadRules(r.c.file(p.MatchRules)); err != nil {
			return nil, err
		}
	}
	var inputs [2][]compare.Input
	for side, paths := range [2][]string{base, news} {
		for _, path := range paths {
			in, err := load.Run(path, p.Member)
			if err != nil {
				return nil, err
			}
			inputs[side] = append(inputs[side], in)
		}
	}
	report := compare.Run(inputs[0], inputs[1], o)
	result := report.Result()
	if result.Verdict == verdict.Incomparable {
		return result, nil
	}
	// The report's own verdict stands unless the configuration changes what decides.
	decided, why := result.Verdict, result.Why
	redecide := p.changes()
	if len(p.Metrics) > 0 {
		redecide = true
		var ignore []string
		for metric, id := range Metrics {
			if !slices.Contains(p.Metrics, metric) {
				ignore = append(ignore, id)
			}
		}
		// A program without steps, say, has fewer assertions: that is no mistake here.
		result.Adjust(verdict.Settings{Ignore: ignore})
	}
	var budgets []compare.Budget
	for i := range p.Budgets {
		b, err := p.Budgets[i].budget()
		if err != nil {
			return nil, err
		}
		budgets = append(budgets, b)
	}
	report.Hold(result, budgets)
	if err := r.settle(&p.Common, result); err != nil {
		return nil, err
	}
	result.Decide()
	if !redecide {
		// Without budgets that fail, the report knows best: a single run that is in the
		// noise, or an operator that is faster while the whole is unsure.
		if v := verdict.Worse(decided, budgetVerdict(result)); v == decided {
			result.Verdict, result.Why = decided, why
		}
	}
	return result, nil
}

// budgetVerdict is what the budgets of a result come to.
func budgetVerdict(r *verdict.Result) verdict.Verdict {
	v := verdict.Pass
	for _, a := range r.Assertions {
		if len(a.ID) < len(compare.AssertBudget) || a.ID[:len(compare.AssertBudget)] != compare.AssertBudget {
			continue
		}
		switch a.Outcome {
		case verdict.Broken:
			return verdict.Regression
		case verdict.NotRecorded:
			v = verdict.Inconclusive
		}
	}
	return v
}
