package ranks

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/flagos-ai/flagos-trace/timeline"
)

// ErrUnaligned: the clocks of some ranks cannot be tied to the others'.
var ErrUnaligned = errors.New("the clocks cannot be aligned")

// AlignOptions of Align. The zero value is good.
type AlignOptions struct {
	// MaxUncertainty is how uncertain an offset may be, ns; 0 stands for
	// DefaultMaxUncertainty.
	MaxUncertainty int64
	// OneHost leaves the times of ranks of one named host as they are, where the
	// collectives do not speak against it: they have one clock.
	OneHost bool
}

// DefaultMaxUncertainty is what an offset may be uncertain by: a step of training
// lasts some hundred times as long.
const DefaultMaxUncertainty = int64(time.Millisecond)

// Aligned says how each rank's times are to be moved.
type Aligned struct {
	// Clocks stand parallel to the ranks. Of those that could not be aligned the
	// method is AlignNone.
	Clocks []timeline.Alignment
	// Refused are the ranks that could not be aligned, as indices, in order.
	Refused []int
}

// Align puts the clocks of all ranks onto that of the first. matches are those of
// MatchAll. It goes from rank to rank over what they have in common, along the way
// on which the uncertainties, which add up, are least.
//
// Where some ranks cannot be aligned the error wraps ErrUnaligned and says why; the
// result is valid all the same, with those as they are.
func Align(ranks []*Rank, matches []Match, o AlignOptions) (*Aligned, error) {
	if o.MaxUncertainty <= 0 {
		o.MaxUncertainty = DefaultMaxUncertainty
	}
	a := aligner{ranks: ranks, matches: matches, o: o, of: make([][]int, len(ranks)), res: &Aligned{Clocks: make([]timeline.Alignment, len(ranks))}}
	if len(ranks) == 0 {
		return a.res, nil
	}
	for i := range matches {
		for _, s := range matches[i].Sides {
			a.of[s.Rank] = append(a.of[s.Rank], i)
		}
	}
	a.spent = make([]bool, len(matches))
	a.walk()
	return a.res, a.finish()
}

type aligner struct {
	ranks   []*Rank
	matches []Match
	o       AlignOptions
	of      [][]int // matches of each rank
	// spent are the matches that led on from some rank already. What another side of
	// one could add is a way over two clocks where there is one over one.
	spent []bool
	res   *Aligned
	state []state
}

// state is what is known of a rank's clock so far.
type state struct {
	known, final bool
	clock        timeline.Alignment
	uncertain    int64
	why          string // not known: what was tried last
}

// walk finds the best way from the first rank to every other.
func (a *aligner) walk() {
	a.state = make([]state, len(a.ranks))
	a.state[0] = state{known: true, clock: timeline.Alignment{Method: timeline.AlignReference}}
	for {
		next := -1
		for i := range a.state {
			if s := &a.state[i]; s.known && !s.final && (next < 0 || s.uncertain < a.state[next].uncertain) {
				next = i
			}
		}
		if next < 0 {
			return
		}
		a.state[next].final = true
		a.from(next)
	}
}

// from estimates the clocks of all ranks that have something in common with rank u.
func (a *aligner) from(u int) {
	pairs := map[int]*pair{}
	for _, m := range a.of[u] {
		if a.spent[m] {
			continue
		}
		a.spent[m] = true
		sides := a.matches[m].Sides
		k, _ := slices.BinarySearchFunc(sides, u, func(s Side, r int) int { return s.Rank - r })
		first := &a.ranks[u].Ops[sides[k].Op]
		kind := a.ranks[u].Whats[first.What].Kind
		for _, s := range sides {
			if s.Rank == u || a.state[s.Rank].final {
				continue
			}
			p := pairs[s.Rank]
			if p == nil {
				p = &pair{}
				pairs[s.Rank] = p
			}
			p.shared = append(p.shared, shared{first, &a.ranks[s.Rank].Ops[s.Op], kind})
		}
	}
	for _, v := range slices.Sorted(maps.Keys(pairs)) {
		a.reach(u, v, pairs[v])
	}
}

// reach offers rank v the way over rank u.
func (a *aligner) reach(u, v int, p *pair) {
	s, base := &a.state[v], &a.state[u]
	w := a.ranks[v].Window
	p.unfold()
	f, ok := p.estimate(span{w.Start, w.End})
	defer p.fold()
	name := a.ranks[u].Name()
	switch {
	case !ok && len(p.d)+len(p.bounds) == 0:
		return // nothing but what says nothing of clocks
	case !ok:
		s.refuse("with %s it has only operations that bound its clock on one side", name)
		return
	case math.Abs(f.drift) > maxDrift:
		s.refuse("its clock would run %.0f millionths differently from that of %s: one was stepped while recording, or the operations are not the same", f.drift*1e6, name)
		return
	}
	total := base.uncertain + f.uncertain
	if total > a.o.MaxUncertainty {
		s.refuse("its offset from %s, %s, is uncertain by %s, over %d operations", name, duration(f.offset), duration(total), f.n)
		return
	}
	if s.known && s.uncertain <= total {
		return
	}
	uncertain := total
	c := timeline.Alignment{
		Method: timeline.AlignCollectives, AtNS: f.at, UncertaintyNS: &uncertain, Collectives: f.n,
		// From the second's clock to the first's, and from there on by the first's own.
		OffsetNS: base.clock.Map(f.at+f.offset) - f.at,
		DriftPPM: f.drift*1e6 + base.clock.DriftPPM,
	}
	if f.causality {
		c.Method = timeline.AlignCausality
	}
	if f.driftSE > 0 {
		ppm := 3 * f.driftSE * 1e6
		c.DriftUncertaintyPPM = &ppm
	}
	if u == 0 {
		if f.lowest > math.MinInt64 {
			c.LowestNS = &f.lowest
		}
		if f.highest < math.MaxInt64 {
			c.HighestNS = &f.highest
		}
	}
	*s = state{known: true, clock: c, uncertain: total}
}

func (s *state) refuse(format string, args ...any) {
	if !s.known {
		s.why = fmt.Sprintf(format, args...)
	}
}

// finish says what was found.
func (a *aligner) finish() error {
	reference := a.ranks[0].Name()
	var reasons []string
	for i := range a.state {
		s := &a.state[i]
		r := a.ranks[i]
		if !s.known {
			if s.why == "" {
				s.why = a.noWay(i)
			}
			if a.o.OneHost && a.oneHost(i) {
				a.res.Clocks[i] = timeline.Alignment{Method: timeline.AlignSameHost, Reference: reference}
				continue
			}
			a.res.Clocks[i] = timeline.Alignment{Method: timeline.AlignNone, Reason: s.why}
			a.res.Refused = append(a.res.Refused, i)
			reasons = append(reasons, r.Name()+": "+s.why)
			continue
		}
		c := s.clock
		if i > 0 {
			c.Reference = reference
		}
		if i > 0 && a.o.OneHost && a.oneHost(i) && abs(c.OffsetNS) <= 2**c.UncertaintyNS {
			c = timeline.Alignment{Method: timeline.AlignSameHost, Reference: reference, UncertaintyNS: c.UncertaintyNS, Collectives: c.Collectives}
		}
		a.res.Clocks[i] = c
	}
	if len(reasons) == 0 {
		return nil
	}
	more := ""
	if n := len(reasons); n > 5 {
		more = fmt.Sprintf("; and %d more", n-5)
		reasons = reasons[:5]
	}
	return fmt.Errorf("%w: %s%s", ErrUnaligned, strings.Join(reasons, "; "), more)
}

func (a *aligner) oneHost(i int) bool {
	return a.ranks[i].Host != "" && a.ranks[i].Host == a.ranks[0].Host
}

// noWay says why nothing leads to a rank.
func (a *aligner) noWay(i int) string {
	r := a.ranks[i]
	k := twin(a.ranks, i)
	switch {
	case k >= 0:
		return fmt.Sprintf("its trace %s says that it is of the same rank as %s", r.File, a.ranks[k].File)
	case len(r.Ops) == 0 && r.Unnamed > 0:
		return fmt.Sprintf("its trace does not say what its %d kernels of communication do (no Collective name)", r.Unnamed)
	case len(r.Ops) == 0:
		return "its trace has no collectives"
	case len(a.of[i]) == 0:
		return fmt.Sprintf("none of its %d collectives is in another trace", len(r.Ops))
	}
	others := map[int]bool{}
	for _, m := range a.of[i] {
		for _, s := range a.matches[m].Sides {
			if s.Rank != i {
				others[s.Rank] = true
			}
		}
	}
	if others[0] {
		return fmt.Sprintf("what it has in common with %s says nothing of the clocks", a.ranks[0].Name())
	}
	return fmt.Sprintf("nothing ties the %d ranks that it works with to %s", len(others), a.ranks[0].Name())
}

// Distributed reports whether traces are those of ranks of one job: one of them says
// that there are several, or communicates.
func Distributed(ranks []*Rank) bool {
	return slices.ContainsFunc(ranks, func(r *Rank) bool { return r.WorldSize > 1 || len(r.Ops) > 0 || r.Unnamed > 0 })
}

// Apply moves a rank's times by a clock.
func (r *Rank) Apply(c *timeline.Alignment) {
	for i := range r.Ops {
		r.Ops[i].Start, r.Ops[i].End = c.Map(r.Ops[i].Start), c.Map(r.Ops[i].End)
	}
	for i := range r.Steps {
		r.Steps[i].Start, r.Steps[i].End = c.Map(r.Steps[i].Start), c.Map(r.Steps[i].End)
	}
	r.Window.Start, r.Window.End, r.Last = c.Map(r.Window.Start), c.Map(r.Window.End), c.Map(r.Last)
}

func duration(ns int64) string { return time.Duration(ns).String() }
