package verdict

import (
	"fmt"
	"slices"
	"strings"
)

// What the JSON of a Report is called; see SchemaName.
const (
	ReportSchemaName = "flagos-trace.gate/1"
	ReportFormat     = "flagos-trace-gate"
	ReportVersion    = 1
)

// Check is a comparison that a gate makes.
type Check struct {
	Name string `json:"name"`
	// Advisory: it is told, and does not count.
	Advisory bool    `json:"advisory,omitempty"`
	Result   *Result `json:"result"`
}

// Report is what the checks of a gate come to together. The writers of formats that
// pipelines read take it; one comparison is a report of one check.
type Report struct {
	Schema  string  `json:"schema"` // ReportSchemaName
	Format  string  `json:"format"` // "flagos-trace-gate"
	Version int     `json:"version"`
	Verdict Verdict `json:"verdict"`
	Why     string  `json:"why"` // in a sentence
	// Config is the file that asked for the checks.
	Config string  `json:"config,omitempty"`
	Checks []Check `json:"checks"`
}

// Verdicts are all, the best first.
var Verdicts = []Verdict{Pass, Improvement, Inconclusive, Regression, Incomparable}

// rank says how bad a verdict is; improvement is as good as pass.
func (v Verdict) rank() int { return slices.Index(Verdicts, v) }

// Worse returns the worse of two verdicts.
func Worse(a, b Verdict) Verdict {
	if b.rank() > a.rank() {
		return b
	}
	return a
}

// One is the report of one comparison.
func One(name string, r *Result) *Report {
	return NewReport("", []Check{{Name: name, Result: r}})
}

// NewReport comes to a verdict over checks: the worst of those that are not advisory.
// Without any it is inconclusive.
func NewReport(config string, checks []Check) *Report {
	r := &Report{Schema: ReportSchemaName, Format: ReportFormat, Version: ReportVersion, Verdict: Pass, Config: config, Checks: checks}
	if checks == nil {
		r.Checks = []Check{}
	}
	n, worst := 0, ""
	counts := map[Verdict]int{}
	for _, c := range r.Checks {
		if c.Advisory {
			continue
		}
		n++
		v := c.Result.Verdict
		counts[v]++
		if w := Worse(r.Verdict, v); w != r.Verdict || n == 1 {
			r.Verdict, worst = w, c.Name+": "+c.Result.Why
		}
	}
	switch {
	case n == 0:
		r.Verdict, r.Why = Inconclusive, "no check counts"
	case n == 1:
		r.Why = worst
	case r.Verdict == Pass:
		r.Why = plural(n, "check") + " passed"
	default:
		r.Why = fmt.Sprintf("%d of %s: %s", counts[r.Verdict], plural(n, "check"), worst)
	}
	return r
}

// Outcome counts the checks by verdict, in words, the worst first.
func (r *Report) Outcome() string {
	counts, advisory := map[Verdict]int{}, 0
	for _, c := range r.Checks {
		if c.Advisory {
			advisory++
			continue
		}
		counts[c.Result.Verdict]++
	}
	var parts []string
	for _, v := range slices.Backward(Verdicts) {
		if counts[v] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[v], v))
		}
	}
	if advisory > 0 {
		parts = append(parts, fmt.Sprintf("%d advisory", advisory))
	}
	return strings.Join(parts, ", ")
}

// advice marks what does not count.
func (c *Check) advice() string {
	if c.Advisory {
		return " (advisory, does not count)"
	}
	return ""
}

// Unusable is the result of a comparison that could not be made: what keeps it from
// that is err.
func Unusable(what string, base, now Side, err error) *Result {
	r := New(what, base, now)
	r.Incomparable = append(r.Incomparable, err.Error())
	r.decide()
	return r
}
