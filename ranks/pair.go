package ranks

import (
	"math"
	"slices"
)

// pair is what two ranks have in common: what must be added to the second's times
// to put them on the first's clock.
type pair struct {
	shared []shared
	at     []int64 // ends by the second's clock, of joint operations
	d      []int64 // the first's end minus the second's, parallel to at
	bounds []bound
}

// bound is a limit that causes and effects set to the offset at a time of the
// second's clock.
type bound struct {
	at    int64
	limit int64
	upper bool
}

// shared is an operation that both have. kind is the first's.
type shared struct {
	first, second *Op
	kind          Kind
}

// unfold takes the operations apart, and fold lets go of that: a thousand ranks
// that share thousands of operations are otherwise too much.
func (p *pair) unfold() {
	for _, o := range p.shared {
		first, second := o.first, o.second
		lower := bound{second.End, first.Start - second.End, false}
		upper := bound{second.Start, first.End - second.Start, true}
		switch o.kind {
		case Joint:
			p.at, p.d = append(p.at, second.End), append(p.d, first.End-second.End)
			p.bounds = append(p.bounds, lower, upper)
		case Send:
			// A receive cannot end before its send began; a send can end before its
			// receive began, into a buffer.
			p.bounds = append(p.bounds, lower)
		case Recv:
			p.bounds = append(p.bounds, upper)
		}
	}
}

func (p *pair) fold() { *p = pair{} }

// fit is an estimate of the second's clock by the first's.
type fit struct {
	at        int64 // by the second's clock
	offset    int64 // there
	drift     float64
	driftSE   float64 // standard error of drift; 0 if none was fitted
	spread    int64   // of the operations, ns
	lowest    int64
	highest   int64
	n         int
	causality bool
	uncertain int64 // within the window, ns
}

const (
	// minEnds is how many joint operations an offset by their ends takes: with fewer
	// nothing tells how far they scatter.
	minEnds = 3
	// minDrift is how many a drift takes.
	minDrift = 12
	// significance is how many standard errors make a drift more than scatter.
	significance = 4
	// maxDrift is beyond what clocks that are being adjusted do: Linux slews by 500
	// millionths at most, and a crystal may be off by 100 on top.
	maxDrift = 600e-6
)

// estimate fits the clock; ok is false where nothing can be said.
func (p *pair) estimate(w span) (f fit, ok bool) {
	f.n = len(p.d)
	if f.n >= minEnds {
		f.at = median(slices.Clone(p.at))
		f.drift, f.driftSE = p.drift()
		rest := make([]int64, f.n)
		for i := range p.d {
			rest[i] = p.d[i] - f.driftBy(p.at[i])
		}
		f.offset = median(slices.Clone(rest))
		for i := range rest {
			rest[i] = abs(rest[i] - f.offset)
		}
		slices.Sort(rest)
		f.spread = quantile(rest, 0.95)
	}
	f.lowest, f.highest = int64(math.MinInt64), int64(math.MaxInt64)
	if f.n < minEnds && len(p.bounds) > 0 {
		at := make([]int64, len(p.bounds))
		for i := range p.bounds {
			at[i] = p.bounds[i].at
		}
		f.at = median(at)
	}
	for _, b := range p.bounds {
		limit := b.limit - f.driftBy(b.at)
		if b.upper {
			f.highest = min(f.highest, limit)
		} else {
			f.lowest = max(f.lowest, limit)
		}
	}
	bounded := f.lowest > math.MinInt64 && f.highest < math.MaxInt64
	if f.n < minEnds {
		if !bounded {
			return f, false
		}
		f.causality = true
		f.n = len(p.bounds)
		f.offset = f.lowest + (f.highest-f.lowest)/2
		f.spread = abs(f.highest-f.lowest)/2 + 1
	}
	f.uncertain = max(f.spread, 1)
	if f.lowest > math.MinInt64 {
		f.uncertain = max(f.uncertain, f.lowest-f.offset)
	}
	if f.highest < math.MaxInt64 {
		f.uncertain = max(f.uncertain, f.offset-f.highest)
	}
	far := max(abs(w.start-f.at), abs(w.end-f.at))
	f.uncertain += int64(math.Ceil(3 * f.driftSE * float64(far)))
	return f, true
}

func (f *fit) driftBy(at int64) int64 { return int64(math.Round(float64(at-f.at) * f.drift)) }

// drift fits how much faster the first's clock runs: the median of the slopes between
// operations half the record apart. 0 where it cannot be told from the scatter.
func (p *pair) drift() (slope, se float64) {
	n := len(p.d)
	if n < minDrift {
		return 0, 0
	}
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return compare(p.at[a], p.at[b]) })
	half := n / 2
	slopes := make([]float64, 0, half)
	for i := range half {
		a, b := order[i], order[i+n-half]
		if dt := p.at[b] - p.at[a]; dt > 0 {
			slopes = append(slopes, float64(p.d[b]-p.d[a])/float64(dt))
		}
	}
	if len(slopes) < minDrift/2 {
		return 0, 0
	}
	slices.Sort(slopes)
	slope = slopes[len(slopes)/2]
	off := make([]float64, len(slopes))
	for i, s := range slopes {
		off[i] = math.Abs(s - slope)
	}
	slices.Sort(off)
	// 1.4826 makes a standard deviation of the median of distances, and 1.2533 the
	// standard error of a median of a mean's, of normal scatter.
	se = 1.2533 * 1.4826 * off[len(off)/2] / math.Sqrt(float64(len(off)))
	if math.Abs(slope) <= significance*se {
		return 0, 0
	}
	return slope, se
}
