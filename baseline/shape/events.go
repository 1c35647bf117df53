package shape

import (
	"strconv"

	"github.com/flagos-ai/flagos-trace/timeline"
)

// events looks at every event by itself.
func (s *scanner) events() {
	t := s.t
	s.window()
	var (
		plausible, takesTime, mangled, scoped, real, inWindow = s.measure(Plausible), s.measure(TakesTime), s.measure(NamesDemangled),
			&Measure{}, s.measure(NamesReal), s.measure(InWindow)
		fraction = s.hasFractions()
		named    = s.measure(KernelsNamed)
		trace    = s.o.Longest
		places   = s.newPlaces()
	)
	*plausible = s.plausible
	for i := range uint32(t.Events.Len()) {
		e, src := t.Events.At(i), t.Source.Events.At(i)
		if src.Phase == 'M' {
			continue
		}
		c := s.class(e)
		if c == nil {
			continue
		}
		s.rowUsed[e.Row] = true
		if c.seen == nil {
			c.seen = make([]bool, t.Strings.Len())
		}
		if !c.seen[e.Name] {
			c.seen[e.Name] = true
			c.names++
		}
		span := e.Flags&timeline.Instant == 0 && src.Phase == 0
		d := e.Duration()
		if span {
			c.ns += d
			if c.duration == -2 {
				c.duration = d
			} else if c.duration != d {
				c.duration = -1
			}
		}
		switch {
		case !span:
		case e.Kind.OnDevice():
			s.o.DeviceNS += d
			places.see(i, e)
			if fraction {
				takesTime.Checked++
				if d <= 0 {
					x := s.example(i)
					x.Want, x.Got = "more than 0", micro(d)
					takesTime.bad(x)
				}
			}
			if e.Kind == timeline.Kernel {
				s.o.KernelNS += d
				m := s.mark(e.Name)
				mangled.Checked++
				named.Checked++
				if m&markPlaceholder != 0 {
					named.bad(s.example(i))
				}
				scoped.Checked++
				if m&markMangled != 0 {
					mangled.bad(s.example(i))
				}
				if m&markScoped == 0 {
					scoped.Broken++
				}
			}
			plausible.Checked++
		case e.Kind.IsAPI():
			real.Checked++
			if s.mark(e.Name)&markPlaceholder != 0 {
				real.bad(s.example(i))
			}
			plausible.Checked++
		}
		if span && s.o.HasTrace && c.name != "Trace" {
			s.o.Outside.Checked++
			out := e.Start < trace.Start || e.End > trace.End
			if out {
				s.o.Outside.bad(s.example(i))
			}
			// A Python function may have begun before the window.
			if c.name != "python_function" {
				inWindow.Checked++
				if out {
					x := s.example(i)
					x.Key = c.name
					inWindow.bad(x)
				}
			}
		}
	}
	if scoped.Checked > 0 {
		m := s.measure(NamesScoped)
		m.Checked = 1
		if scoped.Broken == scoped.Checked {
			m.bad(Example{Event: -1, Offset: -1})
		}
	}
	if s.o.DeviceNS > 0 {
		m := s.measure(KernelsDominate)
		m.Checked = 1
		if share := float64(s.o.KernelNS) / float64(s.o.DeviceNS); share <= kernelShare {
			m.bad(Example{Event: -1, Offset: -1, Want: "more than " + percent(kernelShare), Got: percent(share)})
		}
	}
}

// kernelShare is what kernels hold at least of the device time. Source: Torch-FL's
// fourth assertion.
const kernelShare = 0.40

func percent(x float64) string { return strconv.FormatFloat(x*100, 'f', 1, 64) + " %" }

// window finds the longest Trace span.
func (s *scanner) window() {
	t := s.t
	trace := uint32(0)
	for id := range uint32(t.Strings.Len()) {
		if t.Strings.At(id) == "Trace" {
			trace = id
		}
	}
	if trace == 0 {
		return
	}
	for i := range uint32(t.Events.Len()) {
		if e := t.Events.At(i); e.Category == trace && (!s.o.HasTrace || e.Duration() > s.o.Longest.End-s.o.Longest.Start) {
			s.o.Longest, s.o.HasTrace = timeline.Window{Start: e.Start, End: e.End}, true
		}
	}
}

// hasFractions reports whether times are finer than microseconds.
func (s *scanner) hasFractions() bool {
	for i := range uint32(s.t.Events.Len()) {
		if e := s.t.Events.At(i); e.Kind.OnDevice() && (e.Start%1000 != 0 || e.End%1000 != 0) {
			return true
		}
	}
	return false
}
