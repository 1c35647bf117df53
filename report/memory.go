package report

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/internal/hugepage"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// maxMemoryPoints is how many points a chart has, about.
const maxMemoryPoints = 1200

// torch's c10::DeviceType.
var deviceTypes = map[int64]string{0: "CPU", 1: "CUDA", 6: "HIP", 9: "MTIA", 12: "XPU", 20: "PrivateUse1"}

type memoryKey struct{ deviceType, device int64 }

type memoryPoint struct{ at, allocated, reserved int64 }

type memorySeries struct {
	points      []memoryPoint
	hasReserved bool
}

// memory reads what allocators had handed out, from torch's events of memory
// (profile_memory=True).
func memory(t *timeline.Trace) []MemoryChart {
	series := map[memoryKey]*memorySeries{}
	for i := range uint32(t.Events.Len()) {
		e := t.Events.At(i)
		if e.Flags&timeline.Instant == 0 || e.Kind != timeline.Host && e.Kind != timeline.Other {
			continue
		}
		args := t.RawArgs(i)
		if !bytes.Contains(args, allocatedKey) {
			continue
		}
		p, k := memoryPoint{at: e.Start, allocated: -1}, memoryKey{-1, -1}
		for m := chrome.WalkMembers(args); m.Next(); {
			to := p.member(&k, m.Key)
			if to == nil {
				continue
			}
			if v, ok := m.Value.Int(); ok {
				*to = v
			}
		}
		if p.allocated < 0 {
			continue
		}
		s := series[k]
		if s == nil {
			s = &memorySeries{}
			series[k] = s
		}
		p.reserved = max(p.reserved, 0)
		s.hasReserved = s.hasReserved || p.reserved > 0
		s.points = hugepage.Append(s.points, p)
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

// member is where the value of a key of an event's arguments goes; nil: nowhere.
func (p *memoryPoint) member(k *memoryKey, key []byte) *int64 {
	switch string(key) {
	case "Total Allocated":
		return &p.allocated
	case "Total Reserved":
		return &p.reserved
	case "Device Type":
		return &k.deviceType
	case "Device Id":
		return &k.device
	}
	return nil
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
	slices.SortStableFunc(s.points, func(a, b memoryPoint) int { return cmp.Compare(a.at, b.at) })
	c := MemoryChart{Events: int64(len(s.points))}
	put := func(p *memoryPoint) {
		c.At = append(c.At, p.at-zero)
		c.Allocated = append(c.Allocated, p.allocated)
		if s.hasReserved {
			c.Reserved = append(c.Reserved, p.reserved)
		}
	}
	for i := range s.points {
		p := &s.points[i]
		if p.allocated > c.PeakAllocated || i == 0 {
			c.PeakAllocated, c.PeakAt = p.allocated, p.at-zero
		}
		c.PeakReserved = max(c.PeakReserved, p.reserved)
	}
	if len(s.points) <= maxMemoryPoints {
		for i := range s.points {
			put(&s.points[i])
		}
		return c
	}
	first, last := s.points[0].at, s.points[len(s.points)-1].at
	b := newBins(first, last+1, maxMemoryPoints/2)
	for i := 0; i < len(s.points); {
		bin := (s.points[i].at - b.start) / b.ns
		low, high := i, i
		for ; i < len(s.points) && (s.points[i].at-b.start)/b.ns == bin; i++ {
			if s.points[i].allocated < s.points[low].allocated {
				low = i
			}
			if s.points[i].allocated > s.points[high].allocated {
				high = i
			}
		}
		put(&s.points[min(low, high)])
		if low != high {
			put(&s.points[max(low, high)])
		}
	}
	return c
}
