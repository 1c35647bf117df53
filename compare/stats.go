package compare

import (
	"math"
	"slices"
	"sort"

	"golang.org/x/perf/benchmath"
)

// Effect is how much more one side takes than the other, as the new over the base:
// 1.05 is 5 % more.
type Effect struct {
	Ratio float64 `json:"ratio"`
	// Low and High bound it at the confidence asked for; absent where there were too
	// few runs.
	Low  float64 `json:"low,omitempty"`
	High float64 `json:"high,omitempty"`
	// P is the probability of a difference as large where there is none, and Adjusted
	// what it is after the correction for many comparisons; absent without a test.
	P        *float64 `json:"p,omitempty"`
	Adjusted *float64 `json:"p_adjusted,omitempty"`
	// Test is "rank" or "t".
	Test string `json:"test,omitempty"`
}

// tester compares samples of positive values by their logarithms, so that an effect
// is a ratio. Welch's t-test finds the most where logarithms are spread normally, and
// does not mind much how they are; but one run that is far off, because something
// else used the machine, hides what the others say. Then the rank test (Mann and
// Whitney) is used, which supposes nothing, if it can be sure enough: its smallest
// p-value depends on the number of runs.
type tester struct {
	confidence float64
	assume     benchmath.Assumption
	name       string
}

// newTester returns the test for two samples among so many comparisons, at a level
// of significance.
func newTester(base, now []float64, comparisons int, alpha, confidence float64) tester {
	if (outlier(base) || outlier(now)) && smallestP(len(base), len(now)) <= min(alpha/float64(max(comparisons, 1)), 1-confidence) {
		return tester{confidence, benchmath.AssumeNothing, "rank"}
	}
	return tester{confidence, benchmath.AssumeNormal, "t"}
}

// outlier reports whether a value lies far from the others: more than three times as
// far beyond the quartiles as they are apart (Tukey's outer fences).
func outlier(v []float64) bool {
	s := logs(slices.Sorted(slices.Values(v)))
	n := len(s)
	if n < 4 {
		return false
	}
	q1, q3 := s[n/4], s[n-1-n/4]
	return s[0] < q1-3*(q3-q1) || s[n-1] > q3+3*(q3-q1)
}

// smallestP is the smallest two-sided p-value that the rank test can give.
func smallestP(n1, n2 int) float64 {
	ways := 1.0 // n1 + n2 over n1
	for i := 1; i <= n1; i++ {
		ways *= float64(n2+i) / float64(i)
	}
	return 2 / ways
}

// p returns the two-sided p-value of logarithms shifted against one another.
func (t tester) p(base, now []float64, shift float64) float64 {
	moved := make([]float64, len(now))
	for i, v := range now {
		moved[i] = v - shift
	}
	if t.name == "t" && spread(base) == 0 && spread(now) == 0 {
		if math.Abs(base[0]-moved[0]) < 1e-12 {
			return 1
		}
		return 0
	}
	a := benchmath.NewSample(slices.Clone(base), &benchmath.DefaultThresholds)
	b := benchmath.NewSample(moved, &benchmath.DefaultThresholds)
	return t.assume.Compare(a, b).P
}

func spread(v []float64) float64 { return slices.Max(v) - slices.Min(v) }

// compare returns the effect between two samples of positive values, two and more
// each. The interval holds the effects that the test does not reject.
func (t tester) compare(base, now []float64) Effect {
	a, b := logs(base), logs(now)
	center := t.center(a, b)
	p := t.p(a, b, 0)
	e := Effect{Ratio: math.Exp(center), P: &p, Test: t.name}
	alpha := 1 - t.confidence
	low, high := t.bounds(a, b, center, alpha)
	e.Low, e.High = math.Exp(low), math.Exp(high)
	// What is not bounded is not said.
	if math.IsInf(e.High, 0) || math.IsNaN(e.High) {
		e.Low, e.High = 0, 0
	}
	return e
}

// center is the shift between two samples: the median of all differences for the
// rank test, the difference of the means for the other.
func (t tester) center(a, b []float64) float64 {
	if t.name == "t" {
		return mean(b) - mean(a)
	}
	return median(differences(a, b))
}

// differences are those of all pairs, in order.
func differences(a, b []float64) []float64 {
	all := make([]float64, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			all = append(all, y-x)
		}
	}
	slices.Sort(all)
	return all
}

// bounds are the smallest and the largest shift that the test does not reject.
func (t tester) bounds(a, b []float64, center, alpha float64) (low, high float64) {
	if t.name == "t" {
		return t.bound(a, b, center, -1, alpha), t.bound(a, b, center, 1, alpha)
	}
	// Between two neighbouring differences the ranks, and with them p, do not change.
	d := differences(a, b)
	n := len(d)
	rejected := func(i int) bool { return t.p(a, b, (d[i]+d[i+1])/2) <= alpha }
	middle := (n - 1) / 2
	up := sort.Search(n-1-middle, func(i int) bool { return rejected(middle + i) })
	down := sort.Search(middle, func(i int) bool { return rejected(middle - 1 - i) })
	return d[middle-down], d[min(n-1, middle+up)]
}

// bound looks for the shift farthest from the center that the test does not reject.
func (t tester) bound(a, b []float64, center, sign, alpha float64) float64 {
	far := (spread(a) + spread(b)) + 1e-9
	for range 60 {
		if t.p(a, b, center+sign*far) <= alpha {
			break
		}
		far *= 2
	}
	lo, hi := 0.0, far
	for range 30 {
		mid := (lo + hi) / 2
		if t.p(a, b, center+sign*mid) > alpha {
			lo = mid
		} else {
			hi = mid
		}
	}
	return center + sign*hi
}

func logs(v []float64) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = math.Log(x)
	}
	return out
}

func mean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}

func median(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	n := len(s)
	return (s[(n-1)/2] + s[n/2]) / 2
}

// Correction is how p-values are adjusted for many comparisons.
type Correction string

// Corrections.
const (
	// Holm keeps the chance of one false alarm or more among all comparisons below
	// the level of significance.
	Holm Correction = "holm"
	// BH (Benjamini and Hochberg) keeps the share of false alarms among all alarms
	// below it, and finds more.
	BH Correction = "bh"
)

// adjust returns adjusted p-values, in the order of p.
func (c Correction) adjust(p []float64) []float64 {
	n := len(p)
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case p[a] < p[b]:
			return -1
		case p[a] > p[b]:
			return 1
		}
		return 0
	})
	out := make([]float64, n)
	if c == BH {
		least := 1.0
		for k := n - 1; k >= 0; k-- {
			least = min(least, p[order[k]]*float64(n)/float64(k+1))
			out[order[k]] = least
		}
		return out
	}
	most := 0.0
	for k, i := range order {
		most = max(most, min(1, p[i]*float64(n-k)))
		out[i] = most
	}
	return out
}
