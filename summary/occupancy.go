package summary

import (
	"cmp"
	"slices"
	"strings"

	"github.com/flagos-ai/flagos-trace/occupancy/kernels"
)

// Occupancy says what launch configurations leave unused of the devices. It follows
// from the configurations by the model of package occupancy/kernels; nothing was
// measured on the device. Kernels of communication are left out: they take few SMs by
// design.
type Occupancy struct {
	// Kernels counts the selected kernels, CalculableNS and Calculable are those of which
	// the occupancy could be calculated.
	Kernels      int64 `json:"kernels"`
	KernelsNS    int64 `json:"kernels_ns"`
	Calculable   int64 `json:"calculable"`
	CalculableNS int64 `json:"calculable_ns"`
	// LostNS is the time of the calculable kernels times the share of the SMs' places for
	// warps that stayed empty.
	LostNS int64 `json:"lost_ns"`
	// NotCalculable is the time of the rest by the reason.
	NotCalculable map[string]int64 `json:"not_calculable,omitempty"`
	// Configurations are those with the most time lost.
	Configurations []Configuration `json:"configurations"`
}

// Configuration is a launch configuration of a kernel on a kind of device.
type Configuration struct {
	Name         string   `json:"name"`
	Device       string   `json:"device_name,omitempty"`
	Grid         [3]int32 `json:"grid"`
	Block        [3]int32 `json:"block"`
	Registers    int32    `json:"registers"`
	SharedMemory int32    `json:"shared_memory_bytes"`
	Calls        int64    `json:"calls"`
	TimeNS       int64    `json:"time_ns"`
	LostNS       int64    `json:"lost_ns"`
	// Theoretical and Resident are shares from 0 to 1.
	Theoretical float64 `json:"theoretical"`
	Resident    float64 `json:"resident"`
	Waves       float64 `json:"waves"`
	Limiting    string  `json:"limiting"`
}

// maxConfigurations is how many are kept in the end.
const maxConfigurations = 50

type configurationKey struct {
	name, device          string
	grid, block           [3]int32
	registers, sharedSize int32
}

// occupied is what is added up of occupancy.
type occupied struct {
	sums   Occupancy
	byKind map[configurationKey]*Configuration
}

// occupancy calculates the occupancy of the kernels.
func (p *part) occupancy() {
	r, err := kernels.FromEvents(p.t, func(yield func(uint32) bool) {
		for w := range p.x.Works() {
			if p.works[w].selected && p.works[w].kind != communication && !yield(p.x.WorkEvent(w)) {
				return
			}
		}
	}, kernels.Options{})
	if err != nil {
		return // there are no kernels
	}
	s := &p.occupied.sums
	s.Kernels, s.KernelsNS = int64(r.Kernels.Calls), r.Kernels.Time
	s.Calculable, s.CalculableNS, s.LostNS = int64(r.Calculable.Calls), r.Calculable.Time, r.Lost
	s.NotCalculable = map[string]int64{}
	p.occupied.byKind = map[configurationKey]*Configuration{}
	for i := range r.Configurations {
		c := &r.Configurations[i]
		if c.Figures == nil {
			s.NotCalculable[c.Reason] += c.Time
			continue
		}
		k := configurationKey{c.Name, c.DeviceName(), c.Grid, c.Block, c.Registers, c.SharedMem}
		v := row(p.occupied.byKind, k)
		v.Calls += int64(c.Calls)
		v.TimeNS += c.Time
		v.LostNS += c.Figures.Lost
		v.Theoretical, v.Resident, v.Waves, v.Limiting = c.Figures.Theoretical(), c.Figures.Resident, c.Figures.Waves, c.Figures.Limiting.String()
	}
}

func (o *occupied) add(p *occupied) {
	o.sums.Kernels += p.sums.Kernels
	o.sums.KernelsNS += p.sums.KernelsNS
	o.sums.Calculable += p.sums.Calculable
	o.sums.CalculableNS += p.sums.CalculableNS
	o.sums.LostNS += p.sums.LostNS
	for why, ns := range p.sums.NotCalculable {
		if o.sums.NotCalculable == nil {
			o.sums.NotCalculable = map[string]int64{}
		}
		o.sums.NotCalculable[why] += ns
	}
	if o.byKind == nil {
		o.byKind = map[configurationKey]*Configuration{}
	}
	mergeRows(o.byKind, p.byKind, func(to, from *Configuration) {
		to.Calls += from.Calls
		to.TimeNS += from.TimeNS
		to.LostNS += from.LostNS
	}, func(k configurationKey) (configurationKey, func(*Configuration)) {
		k.name, k.device = strings.Clone(k.name), strings.Clone(k.device)
		return k, func(*Configuration) {}
	})
}

// result is nil where there is no kernel.
func (o *occupied) result() *Occupancy {
	if o.sums.Kernels == 0 {
		return nil
	}
	for k, c := range o.byKind {
		c.Name, c.Device, c.Grid, c.Block, c.Registers, c.SharedMemory = k.name, k.device, k.grid, k.block, k.registers, k.sharedSize
	}
	out := o.sums
	out.Configurations = values(o.byKind, func(a, b *Configuration) int {
		return cmp.Or(cmp.Compare(b.LostNS, a.LostNS), cmp.Compare(b.TimeNS, a.TimeNS), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Device, b.Device),
			slices.Compare(a.Grid[:], b.Grid[:]), slices.Compare(a.Block[:], b.Block[:]), cmp.Compare(a.Registers, b.Registers), cmp.Compare(a.SharedMemory, b.SharedMemory))
	})
	out.Configurations = out.Configurations[:min(len(out.Configurations), maxConfigurations)]
	return &out
}
