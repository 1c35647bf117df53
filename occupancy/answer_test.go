package occupancy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func device(t testing.TB, name string) *Entry {
	t.Helper()
	e, err := Builtin().Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestAnswer(t *testing.T) {
	for _, c := range []struct {
		device string
		config Config
		blocks int64
		limit  Limit
		breaks string // of one that cannot be launched
	}{
		{"h100", Config{Block: 256, Regs: 64, StaticSmem: 32 << 10}, 4, LimitRegs, ""},
		{"h100", Config{Block: 256, Regs: 32, StaticSmem: 32 << 10, Carveout: 100 << 10}, 3, LimitSharedMem, ""},
		{"h100", Config{Block: 256, DynamicSmem: 227 << 10, Carveout: 8 << 10}, 1, LimitSharedMem, ""},
		{"t4", Config{Block: 64, DynamicSmem: 8 << 10, Carveout: 1}, 4, LimitSharedMem, ""}, // the smallest is 32 KiB
		{"h100", Config{Block: 1025}, 0, LimitWarps, "threads: 1025 in a block; at most 1024"},
		{"h100", Config{Block: 1024, Regs: 65}, 0, LimitRegs, "registers: 65 a thread for 32 warps are 73728 with rounding; a block may have 65536"},
		{"h100", Config{Block: 800, Regs: 80}, 0, LimitRegs, "25 warps (which count as 28) are 71680"},
		{"p100", Config{Block: 800, Regs: 80}, 0, LimitRegs, "25 warps (which count as 28) are 71680"},
		{"h100", Config{Block: 32, Regs: 300}, 0, LimitRegs, "registers: 300 a thread; at most 256"},
		{"v100", Config{Block: 32, StaticSmem: 96<<10 + 1}, 0, LimitSharedMem, "shared memory: 98305 bytes; a block may have 98304"},
		{"gtx-1080", Config{Block: 32, StaticSmem: 48<<10 + 1}, 0, LimitSharedMem, "a block may have 49152"},
		{"mi300x", Config{Block: 256, Regs: 128, DynamicSmem: 16 << 10}, 4, LimitRegs | LimitSharedMem, ""},
		{"mi300x", Config{Block: 1024, Regs: 129}, 0, LimitRegs, "136 a thread with rounding; too many for the 16 waves"},
		{"mi300x", Config{Block: 1024, Regs: 513}, 0, LimitRegs, "513 a thread; at most 512"},
		{"mi300x", Config{Block: 2048}, 0, LimitWarps, "2048 in a work-group; at most 1024"},
		{"mi300x", Config{Block: 64, StaticSmem: 65 << 10}, 0, LimitSharedMem, "LDS: 66560 bytes; a work-group may have 65536"},
		{"mi300x", Config{Block: 64, ScalarRegs: 200}, 0, LimitScalarRegs, "scalar registers: 200 a wave; at most 108"},
	} {
		a, err := device(t, c.device).Occupancy(c.config)
		if err != nil || a.Blocks != c.blocks || a.Limiting != c.limit || (len(a.Breaks) == 0) != (c.breaks == "") || !strings.Contains(strings.Join(a.Breaks, "\n"), c.breaks) {
			t.Errorf("%s %+v: %+v, %v, want %d blocks by %v, %q", c.device, c.config, a, err, c.blocks, c.limit, c.breaks)
		}
	}
	for _, c := range []struct {
		device string
		config Config
		text   string
	}{
		{"h100", Config{}, "block [0 1 1]"},
		{"h100", Config{Block: -1}, "block [-1 1 1]"},
		{"h100", Config{Block: 32, Carveout: -1}, "carve-out of -1"},
		{"h100", Config{Block: 32, Carveout: 229 << 10}, "233472 bytes of shared memory at most"},
		{"p100", Config{Block: 32, Carveout: 1}, "cannot be set"},
		{"a100", Config{Block: 32, ClusterBlocks: 2}, "clusters begin with compute capability 9.0"},
		{"h100", Config{Block: 32, ClusterBlocks: 17}, "16 is the most"},
		{"h100", Config{Block: 32, ClusterBlocks: -1}, "negative"},
		{"h100", Config{Block: 32, WaveSize: 64}, "AMD"},
		{"mi300x", Config{Block: 32, ClusterBlocks: 2}, "NVIDIA"},
		{"mi300x", Config{Block: 32, DynamicSmem: -1, StaticSmem: 1}, "negative"},
		{"mi300x", Config{Block: 0}, "0 threads"},
	} {
		if a, err := device(t, c.device).Occupancy(c.config); !errors.Is(err, ErrKernel) || !strings.Contains(err.Error(), c.text) || a.Blocks != 0 {
			t.Errorf("%s %+v: %+v, %v, want %q", c.device, c.config, a, err, c.text)
		}
	}
}

func TestClusters(t *testing.T) {
	e := device(t, "h100")
	for _, c := range []struct {
		config Config
		want   float64
	}{
		{Config{Block: 384, Regs: 168, ClusterBlocks: 2}, -1},
		{Config{Block: 384, Regs: 168, ClusterBlocks: 2, MaxActiveClusters: 66}, 1},
		{Config{Block: 384, Regs: 168, ClusterBlocks: 2, MaxActiveClusters: 33}, 0.5},
		{Config{Block: 384, Regs: 168, ClusterBlocks: 2, MaxActiveClusters: 1000}, 1}, // no more than fit
		{Config{Block: 384, Regs: 168, ClusterBlocks: 1, MaxActiveClusters: 66}, -1},
	} {
		if a, err := e.Occupancy(c.config); err != nil || a.ClusterBlocks != c.want || a.Blocks != 1 {
			t.Errorf("%+v: %+v, %v, want %v", c.config, a, err, c.want)
		}
	}
	if a, err := device(t, "9.0").Occupancy(Config{Block: 32, ClusterBlocks: 2, MaxActiveClusters: 5}); err != nil || a.ClusterBlocks != -1 {
		t.Errorf("without a number of SMs: %+v, %v", a, err)
	}
}

// checkSteps: every step raises the occupancy, and what it allows is the most that does.
func checkSteps(t *testing.T, e *Entry, c Config) {
	base, err := e.Occupancy(c)
	if err != nil {
		return
	}
	list, err := e.Steps(c)
	if err != nil {
		t.Fatalf("%s %+v: %v", e.Name, c, err)
	}
	for _, s := range list {
		again, err := e.Occupancy(s.Config)
		if err != nil || again.Blocks != s.Answer.Blocks || s.Answer.Theoretical() <= base.Theoretical() || s.Answer.Blocks == 0 || s.Changed == 0 {
			t.Fatalf("%s %+v: step %+v, %v", e.Name, c, s, err)
		}
		if s.Changed&LimitWarps != 0 {
			continue
		}
		for _, more := range []struct {
			limit Limit
			add   func(c *Config)
		}{
			{LimitRegs, func(c *Config) { c.Regs++ }}, {LimitScalarRegs, func(c *Config) { c.ScalarRegs++ }}, {LimitSharedMem, func(c *Config) { c.DynamicSmem++ }},
		} {
			if s.Changed&more.limit == 0 {
				continue
			}
			try := s.Config
			more.add(&try)
			if a, err := e.Occupancy(try); err == nil && a.By(more.limit) > base.Blocks {
				t.Fatalf("%s %+v: step %+v: one more of %v would do", e.Name, c, s.Config, more.limit)
			}
		}
	}
}

func TestSteps(t *testing.T) {
	for _, c := range []struct {
		device string
		config Config
		want   string
	}{
		{"h100", Config{Block: 256, Regs: 64, StaticSmem: 32 << 10}, "256/48/32768=5"},
		{"h100", Config{Block: 256, Regs: 32}, ""},
		{"h100", Config{Block: 384, Regs: 168, DynamicSmem: 200 << 10}, "384/80/115712=2"},
		{"h100", Config{Block: 96, Regs: 32}, "64/32/0=32"},
		{"h100", Config{Block: 1024, Regs: 80}, "1024/64/0=1 768/80/0=1"},
		{"mi300x", Config{Block: 256, Regs: 128, StaticSmem: 16 << 10}, "256/96/12800=5"},
	} {
		e := device(t, c.device)
		list, err := e.Steps(c.config)
		var got []string
		for _, s := range list {
			got = append(got, fmt.Sprintf("%d/%d/%d=%d", s.Config.Block, s.Config.Regs, s.Config.Shared(), s.Answer.Blocks))
		}
		if text := strings.Join(got, " "); err != nil || text != c.want {
			t.Errorf("%s %+v: %s, %v, want %s", c.device, c.config, text, err, c.want)
		}
		checkSteps(t, e, c.config)
	}
}

func TestSweep(t *testing.T) {
	for _, name := range []string{"h100", "gtx-980", "mi300x", "rx-7900-xtx"} {
		e := device(t, name)
		c := Config{Block: 256, Regs: 48, StaticSmem: 1 << 10, DynamicSmem: 3 << 10}
		base, err := e.Occupancy(c)
		if err != nil {
			t.Fatal(err)
		}
		for _, axis := range []Axis{AxisBlock, AxisRegs, AxisSmem} {
			points, err := e.Sweep(c, axis)
			if err != nil || len(points) < 11 {
				t.Fatalf("%s, %s: %d points, %v", name, axis, len(points), err)
			}
			if !slices.IsSortedFunc(points, func(a, b Point) int { return int(a.Value - b.Value) }) {
				t.Errorf("%s, %s: not ascending", name, axis)
			}
			i := slices.IndexFunc(points, func(p Point) bool { return p.Value == c.Value(axis) })
			if i < 0 || points[i].Answer.Blocks != base.Blocks || points[i].Answer.Limiting != base.Limiting {
				t.Errorf("%s, %s: at %d: %+v, want %+v", name, axis, i, points, base)
			}
			last := points[len(points)-1].Answer
			if axis == AxisSmem && last.By(LimitSharedMem) < 1 || axis == AxisBlock && last.By(LimitWarps) < 1 {
				t.Errorf("%s, %s: at the end: %+v", name, axis, last)
			}
		}
	}
	if _, err := device(t, "h100").Sweep(Config{Block: 32}, "warps"); !errors.Is(err, ErrKernel) || !strings.Contains(err.Error(), "warps") {
		t.Error(err)
	}
}

// FuzzEntry: whatever is asked, an answer keeps to the device, and its steps are true.
func FuzzEntry(f *testing.F) {
	f.Add("h100", int32(256), int32(64), int32(32768), int32(0), int32(0), int32(0), int32(0))
	f.Add("mi300x", int32(256), int32(128), int32(0), int32(16384), int32(0), int32(0), int32(96))
	f.Add("v100", int32(1000), int32(255), int32(1), int32(98304), int32(50000), int32(1), int32(0))
	f.Add("rx-7900-xtx", int32(65), int32(12), int32(1), int32(2), int32(0), int32(64), int32(0))
	f.Fuzz(func(t *testing.T, name string, block, regs, static, dynamic, carveout, cluster, sgprs int32) {
		e, err := Builtin().Lookup(name)
		if err != nil {
			return
		}
		c := Config{Block: block, Regs: regs, StaticSmem: static, DynamicSmem: dynamic, Carveout: carveout, ClusterBlocks: cluster, ScalarRegs: sgprs}
		a, err := e.Occupancy(c)
		if err != nil {
			return
		}
		if a.Blocks < 0 || a.Blocks*a.WarpsPerBlock > a.MaxWarps || a.Theoretical() > 1 || a.Limiting == 0 || a.Blocks*a.AllocatedSmem > max(a.SmemPerSM, 0) ||
			a.Blocks != slices.Min(a.Limits[:]) || (a.Blocks == 0) != (len(a.Breaks) > 0) {
			t.Fatalf("%s %+v: %+v", name, c, a)
		}
		checkSteps(t, e, c)
		if _, err := e.Sweep(c, AxisBlock); err != nil {
			t.Fatal(err)
		}
	})
}
