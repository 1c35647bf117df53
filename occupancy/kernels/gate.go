package kernels

import (
	"cmp"
	"fmt"
	"slices"
)

// Minimum is a gate: the occupancy that kernels must have, in percent.
type Minimum struct {
	// Percent is held against the theoretical occupancy, AchievedPercent against
	// the estimated achieved one; 0 is not asked for.
	Percent, AchievedPercent float64
	// Share is the least share of all kernels' time, in percent, that a kernel's
	// configurations below the minimum must have together for it to matter.
	Share float64
}

// Shortfall is a kernel below the minimum.
type Shortfall struct {
	Name  string
	Share float64 // of all kernels' time, of its configurations below, percent
	// Below is how many configurations are below. Worst is the one with the lowest
	// occupancy of the kind; the first in the report where they are equal.
	Below int
	Worst *Configuration
	// Achieved says which occupancy it is that is too low.
	Achieved     bool
	Is, Required float64 // percent
}

// String is the finding as a line.
func (s *Shortfall) String() string {
	kind := "theoretical occupancy"
	if s.Achieved {
		kind = "estimated achieved occupancy"
	}
	c := s.Worst
	where := ""
	if c.Known&FactDevice != 0 {
		where = fmt.Sprintf(" on device %d", c.Device)
	}
	more := ""
	if s.Below > 1 {
		more = fmt.Sprintf(", the lowest of %d configurations below", s.Below)
	}
	return fmt.Sprintf("%s: %s %.1f %% is below %.4g %% (%s; block %s, grid %s, %d registers, %d bytes of shared memory%s%s; %.1f %% of the time)",
		printable(s.Name), kind, s.Is, s.Required, c.Figures.Limiting, short(c.Block), short(c.Grid), c.Registers, c.SharedMem, where, more, s.Share)
}

// Below finds the kernels below a minimum, those with the largest share of the
// time first, and counts what could not be judged because it has no figures and
// what could. Shares are of all kernels of the trace, whatever is selected.
func (r *Report) Below(m Minimum) (found []Shortfall, judged, unjudged Count) {
	for i := range r.Configurations {
		c := &r.Configurations[i]
		into := &judged
		if c.Figures == nil {
			into = &unjudged
		}
		into.Calls += c.Calls
		into.Time = saturate(into.Time, c.Time)
	}
	if m.Percent > 0 {
		found = r.below(found, m.Percent, m.Share, false)
	}
	if m.AchievedPercent > 0 {
		found = r.below(found, m.AchievedPercent, m.Share, true)
	}
	slices.SortStableFunc(found, func(a, b Shortfall) int {
		return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(a.Name, b.Name))
	})
	return found, judged, unjudged
}

func (r *Report) below(found []Shortfall, required, least float64, achieved bool) []Shortfall {
	type kernel struct {
		name   string
		device int64
	}
	index := map[kernel]int{}
	var groups []Shortfall
	var times []int64
	for i := range r.Configurations {
		c := &r.Configurations[i]
		if c.Figures == nil {
			continue
		}
		is := 100 * c.Figures.Theoretical()
		if achieved {
			is = 100 * float64(c.Figures.Achieved)
		}
		if is >= required {
			continue
		}
		k := kernel{c.Name, c.Device}
		at, ok := index[k]
		if !ok {
			at = len(groups)
			index[k] = at
			groups = append(groups, Shortfall{Name: c.Name, Worst: c, Achieved: achieved, Is: is, Required: required})
			times = append(times, 0)
		}
		g := &groups[at]
		g.Below++
		times[at] = saturate(times[at], c.Time)
		if is < g.Is {
			g.Is, g.Worst = is, c
		}
	}
	for i := range groups {
		if r.Kernels.Time > 0 {
			groups[i].Share = 100 * float64(times[i]) / float64(r.Kernels.Time)
		}
		if groups[i].Share >= least {
			found = append(found, groups[i])
		}
	}
	return found
}
