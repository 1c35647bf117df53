package compare

import (
	"math"
	"math/rand/v2"
	"testing"

	"golang.org/x/perf/benchmath"

	"github.com/flagos-ai/flagos-trace/baseline/verdict"
)

// simulate makes a report of runs whose operators take the given times, in ns, with
// noise on each run and on each time; the new side's are multiplied by effects.
func simulate(r *rand.Rand, runs int, noise float64, effects []float64) *Report {
	rep := &Report{Base: make([]verdict.Side, runs), New: make([]verdict.Side, runs)}
	table := Table{By: "operator"}
	device := Metric{Name: "device time", Unit: "ns", Decides: true}
	for i := range effects {
		row := &Row{Name: string(rune('a' + i))}
		for side := range 2 {
			for range runs {
				v := 1e6 * math.Exp(noise*r.NormFloat64())
				if side == int(New) {
					v *= effects[i]
					row.New = append(row.New, Measures{Works: 1, DeviceNS: int64(v)})
				} else {
					row.Base = append(row.Base, Measures{Works: 1, DeviceNS: int64(v)})
				}
			}
		}
		table.Rows = append(table.Rows, row)
	}
	for n := range runs {
		var sum [2]float64
		for _, row := range table.Rows {
			sum[Base] += float64(row.Base[n].DeviceNS)
			sum[New] += float64(row.New[n].DeviceNS)
		}
		device.Base, device.New = append(device.Base, sum[Base]), append(device.New, sum[New])
	}
	// How long the whole took has noise of its own.
	step := Metric{Name: "time of a step", Unit: "ns", Decides: true}
	for n := range runs {
		step.Base = append(step.Base, device.Base[n]*math.Exp(noise*r.NormFloat64()))
		step.New = append(step.New, device.New[n]*math.Exp(noise*r.NormFloat64()))
		rep.total[Base] += device.Base[n] / float64(runs)
		rep.total[New] += device.New[n] / float64(runs)
	}
	rep.Whole, rep.Tables = []Metric{device, step}, []Table{table}
	return rep
}

func judge(rep *Report, o Options) verdict.Verdict {
	o.defaults()
	rep.Settings = Settings{o.Alpha, o.MinEffect, o.MinShare, o.NoiseFloor, o.Correction}
	rep.changes(&o)
	rep.judge(&o)
	return rep.Verdict
}

func repeat(v float64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = v
	}
	return out
}

// TestFalseAlarms: sides that do not differ are found to differ no more often than
// stated, whatever the number of runs, and even where every effect matters.
func TestFalseAlarms(t *testing.T) {
	const trials = 200
	for _, runs := range []int{2, 3, 5, 10} {
		for _, minEffect := range []float64{1e-9, 0.02} {
			r := rand.New(rand.NewPCG(uint64(runs), 7))
			alarms := 0
			for range trials {
				switch judge(simulate(r, runs, 0.02, repeat(1, 20)), Options{MinEffect: minEffect}) {
				case verdict.Regression, verdict.Improvement:
					alarms++
				}
			}
			t.Logf("%d runs, effects from %g on: %d of %d", runs, minEffect, alarms, trials)
			if alarms > trials*5/100 {
				t.Errorf("%d runs a side: %d false alarms of %d", runs, alarms, trials)
			}
		}
	}
}

// TestFindsSlowdowns: 5 % more time are found with 10 runs a side at 2 % noise, in the
// whole and in a single operator, and what did not change is not blamed.
func TestFindsSlowdowns(t *testing.T) {
	const trials = 200
	ofFive, ofTwenty := repeat(1, 5), repeat(1, 20)
	ofFive[3], ofTwenty[3] = 1.05, 1.05
	for _, c := range []struct {
		name    string
		effects []float64
		percent int
	}{{"everything", repeat(1.05, 20), 99}, {"the only operator", repeat(1.05, 1), 99}, {"one operator of five", ofFive, 95}, {"one operator of twenty", ofTwenty, 88}} {
		r := rand.New(rand.NewPCG(3, 4))
		found, blamed := 0, 0
		for range trials {
			rep := simulate(r, 10, 0.02, c.effects)
			if judge(rep, Options{}) == verdict.Regression {
				found++
			}
			for _, row := range rep.table("operator") {
				if row.Change.Status == Slower && c.effects[row.Name[0]-'a'] == 1 || row.Change.Status == Faster {
					blamed++
				}
			}
		}
		t.Logf("%s: found %d of %d, %d operators blamed wrongly", c.name, found, trials, blamed)
		if found < trials*c.percent/100 {
			t.Errorf("%s: found %d of %d", c.name, found, trials)
		}
		if blamed > trials*5/100 {
			t.Errorf("%s: %d operators blamed that did not change", c.name, blamed)
		}
	}
}

// TestInterval: the interval holds the true effect as often as it says.
func TestInterval(t *testing.T) {
	for _, test := range []string{"t", "rank"} {
		runs := map[string]int{"t": 3, "rank": 10}[test]
		r := rand.New(rand.NewPCG(5, uint64(runs)))
		const trials = 500
		held := 0
		for range trials {
			var a, b []float64
			for range runs {
				a = append(a, math.Exp(0.05*r.NormFloat64()))
				b = append(b, 1.1*math.Exp(0.05*r.NormFloat64()))
			}
			k := newTester(a, b, 1, 0.05, 0.95)
			if runs == 10 && test == "rank" {
				k = tester{0.95, benchmath.AssumeNothing, test}
			}
			e := k.compare(a, b)
			if e.Low <= 1.1 && 1.1 <= e.High {
				held++
			}
			if e.Ratio < e.Low || e.Ratio > e.High {
				t.Fatalf("%v lies outside of its interval", e)
			}
		}
		t.Logf("%d runs: %d of %d", runs, held, trials)
		if held < trials*93/100 || held == trials {
			t.Errorf("%d runs: the interval holds the effect in %d of %d", runs, held, trials)
		}
	}
}

// TestOutlier: one run that something else disturbed does not hide what the others
// say, and is no change by itself.
func TestOutlier(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 9))
	for _, effect := range []float64{1, 1.05} {
		slower := 0
		for range 100 {
			rep := simulate(r, 10, 0.01, repeat(effect, 5))
			for i := range rep.Whole {
				rep.Whole[i].Base[4] *= 3
			}
			if judge(rep, Options{}) == verdict.Regression {
				slower++
			}
		}
		if effect == 1 && slower > 5 || effect > 1 && slower < 95 {
			t.Errorf("effect %v: %d of 100 are regressions", effect, slower)
		}
	}
}

func TestCorrections(t *testing.T) {
	p := []float64{0.04, 0.01, 0.03, 0.005}
	near := func(a, b []float64) bool {
		for i := range a {
			if math.Abs(a[i]-b[i]) > 1e-12 {
				return false
			}
		}
		return true
	}
	if got, want := Holm.adjust(p), []float64{0.06, 0.03, 0.06, 0.02}; !near(got, want) {
		t.Errorf("holm %v, want %v", got, want)
	}
	if got, want := BH.adjust(p), []float64{0.04, 0.02, 0.04, 0.02}; !near(got, want) {
		t.Errorf("bh %v, want %v", got, want)
	}
	if Holm.adjust(nil) == nil && len(Holm.adjust(nil)) != 0 {
		t.Error("nothing to adjust")
	}
	if p := smallestP(10, 10); math.Abs(p-2.0/184756) > 1e-12 {
		t.Errorf("smallest p %g", p)
	}
}
