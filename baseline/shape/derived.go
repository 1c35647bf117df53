package shape

import (
	"math"

	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// derived holds figures against those they are made of, by Kineto's formulas: a
// kernel's blocks per SM are its blocks over the number of SMs, its warps per SM
// that times the warps of a block, a copy's bandwidth its bytes over its time.
func (s *scanner) derived() {
	fraction := s.hasFractions()
	for i := range uint32(s.figures.Len()) {
		f := s.figures.At(i)
		want, ok := s.follows(f, fraction)
		if !ok {
			continue
		}
		m := s.measure(Derived)
		m.Checked++
		// Nothing copied has no bandwidth, however small; a figure may be rounded.
		if math.Abs(f.value-want) > max(0.01*math.Abs(want), 2e-3) || f.key == bandwidth && want == 0 && f.value > 0 {
			x := s.example(f.event)
			x.Key, x.Want, x.Got = figureNames[f.key], formatFigure(want), formatFigure(f.value)
			m.bad(x)
		}
	}
}

// follows says what a figure follows to be, if what it is made of is known.
func (s *scanner) follows(f *figure, fraction bool) (want float64, ok bool) {
	e := s.t.Events.At(f.event)
	switch e.Kind {
	case timeline.Kernel:
		l := &s.t.Launches[s.t.Kernels.At(e.Detail).Launch]
		p := &s.t.Places[e.Place]
		if l.Has&event.HasDims == 0 || p.Has&event.HasDevice == 0 || int(p.Device) >= len(s.numSMs) || s.numSMs[p.Device] <= 0 {
			return 0, false
		}
		blocks := float64(l.Grid[0]) * float64(l.Grid[1]) * float64(l.Grid[2]) / float64(s.numSMs[p.Device])
		switch w := s.warpSize[p.Device]; {
		case f.key == blocksPerSM:
			return blocks, true
		case f.key == warpsPerSM && w > 0:
			return blocks * float64(l.Block[0]) * float64(l.Block[1]) * float64(l.Block[2]) / float64(w), true
		}
	case timeline.Memcpy, timeline.MemcpyPeer, timeline.Memset:
		if d := e.Duration(); d > 0 && fraction && f.key == bandwidth {
			b := s.t.Copies.At(e.Detail)
			return float64(b.Bytes) / float64(d), b.Has&event.HasBytes != 0
		}
	}
	return 0, false
}
