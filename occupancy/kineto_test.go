package occupancy

import (
	"math"
	"testing"
)

// TestKinetoKernels holds every figure against what torch.profiler wrote.
func TestKinetoKernels(t *testing.T) {
	opts := Options{Mode: Kineto}
	above48K := 0
	rows(t, "testdata/kineto-h200-kernels.tsv", "\t", func(line int, col func(string) string) {
		num := func(name string) int32 { return int32(number(t, col(name))) }
		k := &Kernel{
			Grid:          [3]int32{num("grid_x"), num("grid_y"), num("grid_z")},
			Block:         [3]int32{num("block_x"), num("block_y"), num("block_z")},
			RegsPerThread: num("regs"), DynamicSharedMem: num("smem"),
		}
		dev := h200()
		dev.ReservedSharedMemPerBlock = 0 // as in a trace
		dev.FillReserved()
		blocks, _ := BlocksPerSM(dev.NumSMs, k.Grid, opts.Mode)
		warps, _ := WarpsPerSM(blocks, k.Block, opts.Mode)
		if got := string(AppendPerSM(nil, blocks, Classic)); got != col("blocks_per_sm") {
			t.Errorf("line %d: blocks per SM %s, want %s", line, got, col("blocks_per_sm"))
		}
		if got := string(AppendPerSM(nil, warps, Classic)); got != col("warps_per_sm") {
			t.Errorf("line %d: warps per SM %s, want %s", line, got, col("warps_per_sm"))
		}
		percent := func(opts Options) int64 {
			r, err := Calculate(dev, k, opts)
			if err != nil {
				t.Fatalf("line %d: %v", line, err)
			}
			occ, ok := Achieved(r.ActiveBlocksPerSM, blocks, k.Block, dev.MaxThreadsPerSM, opts.Mode)
			if !ok {
				t.Fatalf("line %d: no occupancy", line)
			}
			return Percent(occ, opts.Format)
		}
		want := number(t, col("occupancy_pct"))
		if got := percent(opts); got != want {
			t.Errorf("line %d: occupancy %d %%, want %d %%", line, got, want)
		}
		// Only what is above the default limit may differ in Correct mode.
		correct := percent(Options{})
		if k.DynamicSharedMem > 48<<10 {
			above48K++
			if want != 0 || correct == 0 && blocks > 0.5 {
				t.Errorf("line %d: %d bytes of shared memory: Kineto %d %%, correct %d %%", line, k.DynamicSharedMem, want, correct)
			}
		} else if correct != want {
			t.Errorf("line %d: occupancy %d %% in Correct mode, want %d %%", line, correct, want)
		}
	})
	if above48K == 0 {
		t.Error("no kernel above 48 KiB of shared memory")
	}
}

func TestKinetoBandwidth(t *testing.T) {
	n := rows(t, "testdata/kineto-h200-bandwidth.tsv", "\t", func(line int, col func(string) string) {
		got, ok := AppendBandwidth(nil, uint64(number(t, col("bytes"))), number(t, col("duration_ns")), Options{})
		if !ok || string(got) != col("bandwidth") {
			t.Errorf("line %d: %s, want %s", line, got, col("bandwidth"))
		}
	})
	if n == 0 {
		t.Error("no rows")
	}
}

func TestPerSMModes(t *testing.T) {
	inf := float32(math.Inf(1))
	for _, c := range []struct {
		name    string
		sms     int64
		grid    [3]int32
		kineto  float32
		correct float32
		ok      bool
	}{
		{"plain", 132, [3]int32{256, 1, 1}, 1.939394, 1.939394, true},
		{"product overflows to a negative", 2, [3]int32{1 << 16, 1 << 15, 1}, -(1 << 30), 1 << 30, true},
		{"product overflows to 0", 2, [3]int32{1 << 16, 1 << 16, 1}, 0, 1 << 31, true},
		{"unknown device", 0, [3]int32{256, 1, 1}, inf, 0, false},
		{"product beyond 64 bits", 1, [3]int32{math.MaxInt32, math.MaxInt32, math.MaxInt32}, math.MaxInt32, 0, false},
		{"empty grid", 132, [3]int32{0, 1, 1}, 0, 0, false},
		{"negative grid", 1, [3]int32{-1, -1, 1}, 1, 0, false},
	} {
		if v, ok := BlocksPerSM(c.sms, c.grid, Kineto); !ok || v != c.kineto {
			t.Errorf("%s: Kineto: %v, %v, want %v", c.name, v, ok, c.kineto)
		}
		if v, ok := BlocksPerSM(c.sms, c.grid, Correct); ok != c.ok || v != c.correct {
			t.Errorf("%s: Correct: %v, %v, want %v, %v", c.name, v, ok, c.correct, c.ok)
		}
	}
	if v, ok := WarpsPerSM(inf, [3]int32{64, 1, 1}, Kineto); !ok || v != inf {
		t.Errorf("warps of an unknown device in Kineto mode: %v, %v", v, ok)
	}
	if v, ok := WarpsPerSM(inf, [3]int32{64, 1, 1}, Correct); ok {
		t.Errorf("warps of an unknown device in Correct mode: %v", v)
	}
	if v, ok := WarpsPerSM(1, [3]int32{33, 1, 1}, Correct); !ok || v != 33./32 {
		t.Errorf("warps are rounded: %v, %v", v, ok)
	}
}

func TestPercent(t *testing.T) {
	for _, c := range []struct {
		occ               float32
		classic, shortest int64
	}{
		{0, 0, 0}, {0.004, 0, 0}, {0.005, 0, 0}, {0.0050001, 1, 1}, {0.125, 13, 13}, {0.25, 25, 25}, {0.375, 38, 38},
		{1, 100, 100}, {Failed, -99, -100}, {-0.125, -12, -13},
		{float32(math.NaN()), math.MinInt32, math.MinInt32}, {-1e9, math.MinInt32, math.MinInt32},
	} {
		if got := Percent(c.occ, Classic); got != c.classic {
			t.Errorf("%v: classic %d, want %d", c.occ, got, c.classic)
		}
		if got := Percent(c.occ, Shortest); got != c.shortest {
			t.Errorf("%v: shortest %d, want %d", c.occ, got, c.shortest)
		}
	}
}
