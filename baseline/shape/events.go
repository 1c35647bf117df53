package shape

import (
	"math"
	"strconv"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/event"
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
		trace    = s.o.Longest
		at       uint32
	)
	bad := func(key string, v chrome.Value, l *limits) {
		x := s.example(at)
		x.Key, x.Want, x.Got = key, l.String(), string(v)
		plausible.bad(x)
	}
	for i := range uint32(t.Events.Len()) {
		e, src := t.Events.At(i), t.Source.Events.At(i)
		if src.Phase == 'M' {
			continue
		}
		c := s.class(i, e)
		if c == nil {
			continue
		}
		if c.n == 0 {
			c.first = i
		}
		s.rowUsed[e.Row] = true
		if !c.seen[e.Name] {
			c.seen[e.Name] = true
			c.names++
		}
		at = i
		c.take(i, t.Args.At(src.Args), bad)
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
			if fraction {
				takesTime.Checked++
				if d <= 0 {
					takesTime.bad(s.example(i))
				}
			}
			if e.Kind == timeline.Kernel {
				s.o.KernelNS += d
				m := s.mark(e.Name)
				mangled.Checked++
				scoped.Checked++
				if m&markMangled != 0 {
					mangled.bad(s.example(i))
				}
				if m&markScoped == 0 {
					scoped.Broken++
				}
			}
			plausible.Checked++
			s.derived(i, e, c, fraction)
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
		c.n++
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

// derived holds figures against those they are made of, by Kineto's formulas: a
// kernel's blocks per SM are its blocks over the number of SMs, its warps per SM
// that times the warps of a block, a copy's bandwidth its bytes over its time.
func (s *scanner) derived(i uint32, e *timeline.Event, c *class, fraction bool) {
	check := func(key string, want float64) float64 {
		v := c.of(key)
		if v == nil {
			return 0
		}
		got, ok := number(v)
		if !ok {
			return 0
		}
		m := s.measure(Derived)
		m.Checked++
		if math.Abs(got-want) > max(0.01*math.Abs(want), 2e-3) {
			x := s.example(i)
			x.Key, x.Want, x.Got = key, strconv.FormatFloat(want, 'g', 7, 64), string(v)
			m.bad(x)
		}
		return got
	}
	switch e.Kind {
	case timeline.Kernel:
		l := &s.t.Launches[s.t.Kernels.At(e.Detail).Launch]
		p := &s.t.Places[e.Place]
		if l.Has&event.HasDims == 0 || p.Has&event.HasDevice == 0 || int(p.Device) >= len(s.numSMs) || s.numSMs[p.Device] <= 0 {
			return
		}
		blocks := float64(l.Grid[0]) * float64(l.Grid[1]) * float64(l.Grid[2]) / float64(s.numSMs[p.Device])
		check("blocks per SM", blocks)
		if w := s.warpSize[p.Device]; w > 0 {
			check("warps per SM", blocks*float64(l.Block[0])*float64(l.Block[1])*float64(l.Block[2])/float64(w))
		}
	case timeline.Memcpy, timeline.MemcpyPeer, timeline.Memset:
		if d := e.Duration(); d > 0 && fraction {
			if b := s.t.Copies.At(e.Detail); b.Has&event.HasBytes != 0 {
				check("memory bandwidth (GB/s)", float64(b.Bytes)/float64(d))
			}
		}
	}
}
