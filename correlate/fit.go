package correlate

import (
	"errors"
	"fmt"
	"math"

	"github.com/flagos-ai/flagos-trace/timeline"
)

// ErrNoFit is returned when a clock was to be fitted and nothing ties the two
// clocks together.
var ErrNoFit = errors.New("cannot fit the device clock to the host's")

// maxOutside is the part of the calls that may lie outside their operators after
// a fit. A host trace of the same run has none, but for a few at a jump of a clock.
const maxOutside = 0.05

// Fit asks for a linear clock fitted so that every API call lies inside the
// operator that its External id names.
type Fit struct {
	// NSPerTick fixes the length of a tick; 0 means that it is fitted too.
	NSPerTick float64
	// Known explains some of the times already: those are mapped by it, and take
	// no part in the fit. Nil if there are none.
	Known Clock
}

// constraint says that in host time a call must begin after lo and end before
// hi; start and end are its ticks, counted from the first call's.
type constraint struct {
	start, end float64
	lo, hi     float64
}

// fit finds the clock. For a given tick length the offsets that keep all calls
// inside their operators form an interval, whose width is a concave function of
// the length: the widest one leaves most room on both sides, and its middle is
// the offset.
func (b *Builder) fit() (Clock, error) {
	cs, t0, ns0 := b.constraints()
	if len(cs) == 0 {
		return nil, fmt.Errorf("%w: no API call's External id names an operator of the host trace (a session without CPU activities has none); import without a host trace and give the length of a tick", ErrNoFit)
	}
	slope := b.o.Fit.NSPerTick
	if slope == 0 {
		guess, ok := roughSlope(cs)
		if !ok {
			return nil, fmt.Errorf("%w: all %d calls that External ids name are at one point in time; give the length of a tick", ErrNoFit, len(cs))
		}
		slope = widest(cs, guess/4, guess*4)
	}
	lo, hi := offsets(cs, slope)
	outside := b.outside(cs, slope, (lo+hi)/2)
	if float64(outside) > maxOutside*float64(len(cs)) {
		return nil, fmt.Errorf("%w: with the best fit (%.6g ns a tick) %d of %d calls lie outside the operators that their External ids name; is the host trace of another run, or the tick another?",
			ErrNoFit, slope, outside, len(cs))
	}
	if outside > 0 {
		b.noted["calls_outside_their_operator_after_fit"] = outside
	}
	if c := b.t.Completeness; c != nil {
		u := math.Abs(hi-lo) / 2
		c.Clock = timeline.Clock{Source: "fit", NSPerTick: slope, UncertaintyNS: &u}
	}
	return Linear{T0: t0, NS0: ns0 + int64(math.Round((lo+hi)/2)), Slope: slope}, nil
}

// constraints collects the calls whose operator is known. Ticks and times are
// relative to the first, so that float64 holds them exactly enough.
func (b *Builder) constraints() (cs []constraint, t0 uint64, ns0 int64) {
	operators := b.hosts().operators
	for i := b.first; i < uint32(b.t.Events.Len()); i++ {
		e := b.t.Events.At(i)
		if !e.Kind.IsAPI() {
			continue
		}
		x := b.operators.get(e.Correlation)
		host, ok := operators.get(x.id)
		if !x.has || !ok {
			continue
		}
		if k := b.o.Fit.Known; k != nil {
			if _, ok := k.Map(uint64(e.Start)); ok {
				continue
			}
		}
		op := b.t.Events.At(host)
		if len(cs) == 0 {
			t0, ns0 = uint64(e.Start), op.Start
		}
		cs = append(cs, constraint{
			start: float64(int64(uint64(e.Start) - t0)), end: float64(int64(uint64(e.End) - t0)),
			lo: float64(op.Start - ns0), hi: float64(op.End - ns0),
		})
	}
	return cs, t0, ns0
}

// roughSlope takes the tick length from the two calls farthest apart.
func roughSlope(cs []constraint) (float64, bool) {
	first, last := cs[0], cs[0]
	for _, c := range cs {
		if c.start < first.start {
			first = c
		}
		if c.start > last.start {
			last = c
		}
	}
	if last.start == first.start {
		return 0, false
	}
	s := (last.lo + last.hi - first.lo - first.hi) / (last.start + last.end - first.start - first.end)
	return s, s > 0 && !math.IsInf(s, 0)
}

// offsets returns the bounds of the offset for a tick length; lo > hi where no
// offset keeps every call inside its operator.
func offsets(cs []constraint, slope float64) (lo, hi float64) {
	lo, hi = math.Inf(-1), math.Inf(1)
	for _, c := range cs {
		lo = max(lo, c.lo-slope*c.start)
		hi = min(hi, c.hi-slope*c.end)
	}
	return lo, hi
}

// widest searches the tick length with the widest interval of offsets.
func widest(cs []constraint, a, z float64) float64 {
	width := func(s float64) float64 { lo, hi := offsets(cs, s); return hi - lo }
	for range 200 {
		m1, m2 := a+(z-a)/3, z-(z-a)/3
		if width(m1) < width(m2) {
			a = m1
		} else {
			z = m2
		}
	}
	return (a + z) / 2
}

func (b *Builder) outside(cs []constraint, slope, offset float64) (n uint64) {
	for _, c := range cs {
		if slope*c.start+offset < c.lo || slope*c.end+offset > c.hi {
			n++
		}
	}
	return n
}
