package occupancy

import "fmt"

// Axis is what a sweep varies.
type Axis string

// The axes.
const (
	AxisBlock Axis = "block" // threads of a block, in whole warps
	AxisRegs  Axis = "regs"  // registers of a thread, by the unit that they are allocated in
	AxisSmem  Axis = "smem"  // bytes of shared memory of a block, in KiB
)

// Point is one value of a sweep and what it gives.
type Point struct {
	Value  int64 // threads, registers or bytes
	Answer Answer
}

// Sweep varies one part of a configuration from the least to the most that the device
// takes; the rest stays. Shared memory is varied as a whole, static and dynamic.
func (e *Entry) Sweep(c Config, axis Axis) ([]Point, error) {
	base, err := e.Occupancy(c)
	if err != nil {
		return nil, err
	}
	threads, regs, smem, regUnit, _ := e.maxima(base.WarpSize)
	var values []int64
	set := func(c *Config, v int64) { c.Block = int32(v) }
	switch axis {
	case AxisBlock:
		values = steps(base.WarpSize, base.WarpSize, threads)
	case AxisRegs:
		values = steps(regUnit, regUnit, regs)
		set = func(c *Config, v int64) { c.Regs = int32(v) }
	case AxisSmem:
		values = steps(0, kib, smem)
		set = func(c *Config, v int64) { c.StaticSmem, c.DynamicSmem = 0, int32(v) }
	default:
		return nil, fmt.Errorf("%w: no axis %q: use %s, %s or %s", ErrKernel, axis, AxisBlock, AxisRegs, AxisSmem)
	}
	points := make([]Point, 0, len(values))
	for _, v := range values {
		try := c
		set(&try, v)
		a, err := e.Occupancy(try)
		if err != nil {
			return nil, err
		}
		points = append(points, Point{v, a})
	}
	return points, nil
}

// steps are from, from+by and so on, with last as the end in any case.
func steps(from, by, last int64) (out []int64) {
	for v := from; v < last; v += by {
		out = append(out, v)
	}
	return append(out, last)
}

// Value is where a configuration stands on an axis.
func (c *Config) Value(axis Axis) int64 {
	switch axis {
	case AxisRegs:
		return int64(c.Regs)
	case AxisSmem:
		return c.Shared()
	}
	return int64(c.Block)
}
