package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/flagos-ai/flagos-trace/timeline"
)

// maxMemoryPoints is how many points a chart has, about.
const maxMemoryPoints = 1200

// torch's c10::DeviceType.
var deviceTypes = map[int64]string{0: "CPU", 1: "CUDA", 6: "HIP", 9: "MTIA", 12: "XPU", 20: "PrivateUse1"}

type memoryKey struct{ deviceType, device int64 }

type memoryPoint struct{ at, allocated, reserved int64 }

type memorySeries struct {
	points      timeline.Blocks[memoryPoint]
	hasReserved bool
}

// memory reads what allocators had handed out, from torch's events of memory
// (profile_memory=True).
func memory(t *timeline.Trace) []MemoryChart {
	if t.Source == nil {
		return nil // nothing was read
	}
	series := map[memoryKey]*memorySeries{}
	var last memoryKey
	var s *memorySeries
	for from, to := range t.Source.Events.Filled() {
		for i := from; i < to; i++ {
			args := t.Source.Events.At(i).Args
			if args == 0 {
				continue
			}
			e := t.Events.At(i)
			if e.Flags&timeline.Instant == 0 || e.Kind != timeline.Host && e.Kind != timeline.Other {
				continue
			}
			a := readMemory(t.Args.At(args))
			if a.allocated < 0 {
				continue
			}
			if s == nil || a.memoryKey != last {
				last, s = a.memoryKey, series[a.memoryKey]
				if s == nil {
					s = &memorySeries{}
					series[last] = s
				}
			}
			s.hasReserved = s.hasReserved || a.reserved > 0
			s.points.Add(memoryPoint{e.Start, a.allocated, max(a.reserved, 0)})
		}
	}
	var keys []memoryKey
	for k := range series {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b memoryKey) int {
		return cmp.Or(cmp.Compare(b.deviceType, a.deviceType), cmp.Compare(a.device, b.device))
	})
	var out []MemoryChart
	for _, k := range keys {
		c := series[k].chart(t.Window.Start)
		c.Label = k.label()
		out = append(out, c)
	}
	return out
}

func (k memoryKey) label() string {
	name, ok := deviceTypes[k.deviceType]
	switch {
	case !ok && k.deviceType < 0:
		name = "device"
	case !ok:
		name = fmt.Sprintf("device type %d", k.deviceType)
	}
	if k.device >= 0 {
		return fmt.Sprintf("%s %d", name, k.device)
	}
	return name
}

// chart samples a series: of each bin the lowest and the highest point. Times count from
// zero.
func (s *memorySeries) chart(zero int64) MemoryChart {
	s.sort()
	n := uint32(s.points.Len())
	c := MemoryChart{Events: int64(n)}
	put := func(i uint32) {
		p := s.points.At(i)
		c.At = append(c.At, p.at-zero)
		c.Allocated = append(c.Allocated, p.allocated)
		if s.hasReserved {
			c.Reserved = append(c.Reserved, p.reserved)
		}
	}
	for i := range n {
		p := s.points.At(i)
		if p.allocated > c.PeakAllocated || i == 0 {
			c.PeakAllocated, c.PeakAt = p.allocated, p.at-zero
		}
		c.PeakReserved = max(c.PeakReserved, p.reserved)
	}
	if n <= maxMemoryPoints {
		for i := range n {
			put(i)
		}
		return c
	}
	b := newBins(s.points.At(0).at, s.points.At(n-1).at+1, maxMemoryPoints/2)
	for i := uint32(0); i < n; {
		begin := b.start + (s.points.At(i).at-b.start)/b.ns*b.ns // of its bin
		low, high := i, i
		for ; i < n && s.points.At(i).at-begin < b.ns; i++ {
			if s.points.At(i).allocated < s.points.At(low).allocated {
				low = i
			}
			if s.points.At(i).allocated > s.points.At(high).allocated {
				high = i
			}
		}
		put(min(low, high))
		if low != high {
			put(max(low, high))
		}
	}
	return c
}

// sort puts points into the order of their times, in which they mostly are.
func (s *memorySeries) sort() {
	n := uint32(s.points.Len())
	i := uint32(1)
	for i < n && s.points.At(i-1).at <= s.points.At(i).at {
		i++
	}
	if i >= n {
		return
	}
	all := make([]memoryPoint, n)
	for i := range n {
		all[i] = *s.points.At(i)
	}
	slices.SortStableFunc(all, func(a, b memoryPoint) int { return cmp.Compare(a.at, b.at) })
	for i := range n {
		*s.points.At(i) = all[i]
	}
}
