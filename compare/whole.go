package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/flagos-ai/flagos-trace/baseline/verdict"
	"github.com/flagos-ai/flagos-trace/calltree"
)

const deviceTime = "device time"

// whole lists what is measured of whole runs.
func (r *Report) whole(of [2][]*measured) {
	allSteps := true
	for _, runs := range of {
		for _, m := range runs {
			allSteps = allSteps && m.Whole.Steps > 0
		}
	}
	add := func(name, unit string, decides bool, value func(*Whole) float64) {
		m := Metric{Name: name, Unit: unit, Decides: decides}
		for _, x := range of[Base] {
			m.Base = append(m.Base, value(&x.Whole))
		}
		for _, x := range of[New] {
			m.New = append(m.New, value(&x.Whole))
		}
		r.Whole = append(r.Whole, m)
	}
	add(deviceTime, "ns", true, func(w *Whole) float64 { return float64(w.DeviceNS) })
	if allSteps {
		add("time of a step", "ns", true, func(w *Whole) float64 { return float64(w.StepsNS) / float64(w.Steps) })
	}
	// From the first work to the last is how long the program took, where no steps tell.
	add("first to last work", "ns", !allSteps, func(w *Whole) float64 { return float64(w.SpanNS) })
	add("busy", "ns", false, func(w *Whole) float64 { return float64(w.BusyNS) })
	add("idle", "ns", false, func(w *Whole) float64 { return float64(w.SpanNS - w.BusyNS) })
	add("overlapped work", "ns", false, func(w *Whole) float64 { return float64(w.OverlapNS) })
	add("mean launch delay", "ns", false, func(w *Whole) float64 { return float64(w.DelayNS) / float64(max(w.Launches, 1)) })
	add("kernels, copies and fills", "1", false, func(w *Whole) float64 { return float64(w.Works) })
	for side, runs := range of {
		for _, m := range runs {
			r.total[side] += float64(m.Whole.DeviceNS) / float64(len(runs))
		}
	}
}

// notes says what the reader should know before believing a figure, and what makes
// figures those of different work.
func (r *Report) notes(of [2][]*measured) {
	vendors := map[string]bool{}
	for _, runs := range [2][]string{vendorsOf(r, Base), vendorsOf(r, New)} {
		for _, v := range runs {
			vendors[v] = true
		}
	}
	base, now := devicesOf(r.Base), devicesOf(r.New)
	switch {
	case len(vendors) > 1:
		r.Notes = append(r.Notes, "the devices are of several vendors: kernels differ, compare operators")
	case len(base) > 0 && len(now) > 0 && !slices.Equal(base, now):
		r.Notes = append(r.Notes, fmt.Sprintf("the devices differ, %s against %s: times tell of them, too", strings.Join(base, " and "), strings.Join(now, " and ")))
	}
	if n := [2]int{len(r.Base), len(r.New)}; min(n[Base], n[New]) == 1 && n[Base] != n[New] {
		r.Notes = append(r.Notes, fmt.Sprintf("%d v %d runs: the mean of the several is held against the one as a single run is, without a test, by the noise floor; give two runs or more of each side", n[Base], n[New]))
	}
	steps := map[int64]bool{}
	for _, runs := range of {
		for _, m := range runs {
			steps[m.Whole.Steps] = true
		}
	}
	if len(steps) > 1 {
		r.Incomparable = append(r.Incomparable, "the runs have different numbers of steps: record as many, or cut the same steps out of both")
	}
	if rows := r.table("operator"); r.Matched.Total[Base].Works > 0 && r.Matched.Total[New].Works > 0 {
		differ := 0
		for _, row := range rows {
			if counts, ok := row.counts(); ok && counts[Base] != counts[New] {
				differ++
			}
		}
		if differ > 0 {
			r.Notes = append(r.Notes, fmt.Sprintf("%d of %d operators start other numbers of kernels, copies and fills", differ, len(rows)))
		}
	}
}

// devicesOf returns the names of a side's devices, each once.
func devicesOf(runs []verdict.Side) (list []string) {
	for i := range runs {
		list = append(list, runs[i].Devices...)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func vendorsOf(r *Report, s Side) (list []string) {
	runs := r.Base
	if s == New {
		runs = r.New
	}
	for _, d := range runs {
		if d.Vendor != "" {
			list = append(list, d.Vendor)
		}
	}
	return list
}

// matched sums up the matching.
func (r *Report) matched(m *Matching) {
	r.Matched = MatchedWork{Total: m.Total, Linked: m.Linked, LinkedMatched: m.Matched, Met: m.Met, ByLevel: map[string][2]Sum{}}
	r.OneSided = []OneSidedWork{}
	for i := range m.Groups {
		g := &m.Groups[i]
		s := r.Matched.ByLevel[g.Level.String()]
		s[Base].add(g.Sums[Base])
		s[New].add(g.Sums[New])
		r.Matched.ByLevel[g.Level.String()] = s
		if g.Level != OneSided {
			continue
		}
		side := Base
		if g.Sums[New].Works > 0 {
			side = New
		}
		one := OneSidedWork{Side: side.String(), Name: m.Name(g), Sum: g.Sums[side]}
		if g.Path != calltree.Top {
			one.Path = m.Paths.String(g.Path)
		}
		r.OneSided = append(r.OneSided, one)
	}
	slices.SortStableFunc(r.OneSided, func(a, b OneSidedWork) int { return cmp.Compare(b.DeviceNS, a.DeviceNS) })
}
