package compare

import (
	"testing"
	"time"

	"github.com/flagos-ai/flagos-trace/baseline/verdict"
)

// TestBudgets: what budgets come to, with one run and with several.
func TestBudgets(t *testing.T) {
	base, slow := stepRuns(t, 6, 1, 1), stepRuns(t, 6, 1.3, 7)
	several := Run(base, slow, Options{})
	single := Run(base[:1], slow[:1], Options{})
	same := Run(base[:1], base[:1], Options{})
	rows := several.table("operator")
	if len(rows) == 0 {
		t.Fatal("no operators")
	}
	name := ""
	for _, row := range rows {
		if row.Change.Status == Slower {
			name = row.Name
		}
	}
	if name == "" {
		t.Fatal("nothing is slower")
	}
	f := func(v float64) *float64 { return &v }
	d := func(v time.Duration) *time.Duration { return &v }
	n := func(v int64) *int64 { return &v }
	for _, c := range []struct {
		name string
		r    *Report
		b    Budget
		want verdict.Outcome
	}{
		{"several, beyond", several, Budget{Name: name, MaxIncrease: f(0.05)}, verdict.Broken},
		{"several, within", several, Budget{Name: name, MaxIncrease: f(0.6)}, verdict.Holds},
		{"several, at the limit", several, Budget{Name: name, MaxIncrease: f(0.3)}, verdict.NotRecorded},
		{"one, beyond", single, Budget{Name: name, MaxIncrease: f(0.05)}, verdict.Broken},
		{"one, in the noise", single, Budget{Name: name, MaxIncrease: f(0.3)}, verdict.NotRecorded},
		{"one, within", single, Budget{Name: name, MaxIncrease: f(0.6)}, verdict.Holds},
		{"the same", same, Budget{Name: name, MaxIncrease: f(0)}, verdict.Holds},
		{"time", single, Budget{Name: name, MaxTime: d(1)}, verdict.Broken},
		{"time enough", single, Budget{Name: name, MaxTime: d(time.Hour)}, verdict.Holds},
		{"count", single, Budget{Name: "*", MaxCount: n(0)}, verdict.Broken},
		{"count enough", single, Budget{By: "category", Name: "kernel", MaxCount: n(1e6)}, verdict.Holds},
		{"nothing of the name", single, Budget{Name: "aten::moon", MaxTime: d(time.Hour)}, verdict.NotRecorded},
	} {
		r := verdict.New("performance", verdict.Side{}, verdict.Side{})
		c.r.Hold(r, []Budget{c.b})
		r.Decide()
		a := r.Assertions[0]
		if a.Outcome != c.want || (a.Outcome == verdict.Broken) != (len(r.Findings) > 0) || (a.Outcome == verdict.NotRecorded) != (a.Reason != "") {
			t.Errorf("%s: %+v, %+v", c.name, a, r.Findings)
		}
	}
}
