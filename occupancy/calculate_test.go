package occupancy

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
)

func TestMissing(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Device)
		opts   Options
		err    error
		names  string
	}{
		{"complete", func(*Device) {}, Options{}, nil, ""},
		{"nothing", func(d *Device) { *d = Device{} }, Options{}, ErrMissing, "compute capability"},
		{"two", func(d *Device) { d.RegsPerSM, d.SharedMemPerBlockOptin = 0, 0 }, Options{}, ErrMissing, "RegsPerSM, SharedMemPerBlockOptin"},
		{"Kineto needs no opt-in", func(d *Device) { d.SharedMemPerBlockOptin = 0 }, Options{Mode: Kineto}, nil, ""},
		{"reserve", func(d *Device) { d.ReservedSharedMemPerBlock = 0 }, Options{}, ErrMissing, "ReservedSharedMemPerBlock"},
		{"no SMs", func(d *Device) { d.NumSMs = 0 }, Options{}, nil, ""},
		{"no SMs for Kineto", func(d *Device) { d.NumSMs = 0 }, Options{Mode: Kineto}, ErrMissing, "NumSMs"},
		{"negative", func(d *Device) { d.WarpSize = -32 }, Options{}, ErrDevice, "WarpSize is -32"},
		{"too big", func(d *Device) { d.RegsPerSM = 1 << 31 }, Options{}, ErrDevice, "RegsPerSM"},
		{"no carve-out", func(d *Device) { d.SharedMemPerSM = 229 << 10 }, Options{}, ErrDevice, "carve-out"},
		{"Kepler", func(d *Device) { d.ComputeMajor = 3 }, Options{}, ErrUnsupported, "3.0 (limits are known from 5.0 to 12.x)"},
		{"future", func(d *Device) { d.ComputeMajor = 13 }, Options{}, ErrUnsupported, "13.0"},
		{"negative minor", func(d *Device) { d.ComputeMinor = -1 }, Options{}, ErrUnsupported, "9.-1"},
	} {
		d := h200()
		c.change(d)
		_, err := Calculate(d, &Kernel{Block: [3]int32{32, 1, 1}}, c.opts)
		if !errors.Is(err, c.err) || err != nil && !strings.Contains(err.Error(), c.names) {
			t.Errorf("%s: %v, want %v with %q", c.name, err, c.err, c.names)
		}
		if check := d.Check(c.opts); (check == nil) != (err == nil) {
			t.Errorf("%s: Check: %v, Calculate: %v", c.name, check, err)
		}
	}
}

func TestFillReserved(t *testing.T) {
	for _, c := range []struct {
		major, minor, have, want int64
		ok                       bool
	}{
		{7, 5, 0, 0, true}, {8, 0, 0, 1024, true}, {9, 0, 2048, 2048, true}, {12, 1, 0, 1024, true}, {0, 0, 0, 0, false}, {99, 0, 0, 0, false},
	} {
		d := Device{ComputeMajor: c.major, ComputeMinor: c.minor, ReservedSharedMemPerBlock: c.have}
		if ok := d.FillReserved(); ok != c.ok || d.ReservedSharedMemPerBlock != c.want {
			t.Errorf("%d.%d with %d: %d, %v, want %d, %v", c.major, c.minor, c.have, d.ReservedSharedMemPerBlock, ok, c.want, c.ok)
		}
	}
}

func TestKernelErrors(t *testing.T) {
	for _, c := range []struct {
		name                string
		k                   Kernel
		correctOK, kinetoOK bool
	}{
		{"no threads", Kernel{}, false, false},
		{"negative block", Kernel{Block: [3]int32{-8, -8, 1}}, false, true},
		{"block overflows 32 bits to 0", Kernel{Block: [3]int32{1 << 16, 1 << 16, 1}}, false, false},
		{"block overflows 32 bits to 1", Kernel{Block: [3]int32{math.MaxInt32, math.MaxInt32, 1}}, false, true},
		{"negative registers", Kernel{Block: [3]int32{1, 1, 1}, RegsPerThread: -1}, false, false},
		{"negative shared memory", Kernel{Block: [3]int32{1, 1, 1}, StaticSharedMem: -1}, false, false},
		{"too much of everything", Kernel{Block: [3]int32{math.MaxInt32, 1, 1}, RegsPerThread: math.MaxUint16,
			StaticSharedMem: math.MaxInt32, DynamicSharedMem: math.MaxInt32}, true, true},
	} {
		for mode, want := range map[Mode]bool{Correct: c.correctOK, Kineto: c.kinetoOK} {
			r, err := Calculate(h200(), &c.k, Options{Mode: mode})
			if (err == nil) != want || err != nil && !errors.Is(err, ErrKernel) {
				t.Errorf("%s: mode %d: %v", c.name, mode, err)
			}
			if c.correctOK && r.ActiveBlocksPerSM != 0 {
				t.Errorf("%s: %d blocks", c.name, r.ActiveBlocksPerSM)
			}
		}
	}
	b200 := *tableDevices[[2]int64{10, 0}]
	if _, err := Calculate(&b200, &Kernel{Block: [3]int32{32, 1, 1}, Barriers: 1}, Options{}); !errors.Is(err, ErrUnsupported) {
		t.Errorf("barriers of 10.0: %v", err)
	}
}

func TestClusterAndTheoretical(t *testing.T) {
	k := Kernel{Block: [3]int32{384, 1, 1}, RegsPerThread: 168, DynamicSharedMem: 200 << 10}
	for _, c := range []struct {
		cluster [3]int32
		ignored bool
	}{{[3]int32{}, false}, {[3]int32{1, 1, 1}, false}, {[3]int32{2, 1, 1}, true}} {
		k.Cluster = c.cluster
		r, err := Calculate(h200(), &k, Options{})
		if err != nil || r.ClusterIgnored != c.ignored {
			t.Errorf("%v: ignored %v, %v", c.cluster, r.ClusterIgnored, err)
		}
		if r.ActiveBlocksPerSM != 1 || r.Theoretical() != 12./64 {
			t.Errorf("%d blocks, theoretical %v, want 1 and 0.1875", r.ActiveBlocksPerSM, r.Theoretical())
		}
	}
	if (&Result{}).Theoretical() != 0 {
		t.Error("theoretical occupancy of nothing")
	}
}

func TestLimitString(t *testing.T) {
	for l, want := range map[Limit]string{
		0: "none", LimitWarps: "WARPS", LimitWarps | LimitRegs: "WARPS|REGS", LimitSharedMem | LimitBlocks: "SMEM|BLOCKS",
		LimitWarps | LimitRegs | LimitSharedMem | LimitBlocks | LimitBarriers: "WARPS|REGS|SMEM|BLOCKS|BARRIERS",
	} {
		if l.String() != want {
			t.Errorf("%d: %s, want %s", l, l, want)
		}
	}
}

// TestArchTable keeps the order that lookup relies on.
func TestArchTable(t *testing.T) {
	for i := range archs {
		a := &archs[i]
		if i > 0 && (a.major < archs[i-1].major || a.major == archs[i-1].major && archs[i-1].minor == anyMinor) {
			t.Errorf("row %d (%d.%d) cannot be reached", i, a.major, a.minor)
		}
		if !slices.IsSorted(a.carveouts) || a.maxBlocks < 1 || a.regUnit < 1 || a.smemUnit < 1 || a.subPartitions < 1 || a.barriers == 0 {
			t.Errorf("row %d: %+v", i, *a)
		}
		if a.runsOn >= 0 && (lookup(a.major, a.runsOn) == nil || lookup(a.major, a.runsOn).runsOn >= 0) {
			t.Errorf("row %d: runsOn %d", i, a.runsOn)
		}
	}
}

func FuzzCalculate(f *testing.F) {
	f.Add(int64(9), int64(0), int64(2048), int64(65536), int64(32), int64(233472), int64(232448), int64(1024), int32(256), int32(1), int32(64), int32(1024), int32(0), false)
	f.Add(int64(6), int64(0), int64(2048), int64(65536), int64(32), int64(65536), int64(49152), int64(0), int32(1024), int32(1), int32(255), int32(0), int32(2), true)
	f.Add(int64(7), int64(5), int64(1), int64(1), int64(math.MaxInt32), int64(1), int64(math.MaxInt32), int64(math.MaxInt32), int32(math.MaxInt32), int32(math.MaxInt32), int32(65535), int32(math.MaxInt32), int32(1), false)
	f.Fuzz(func(t *testing.T, major, minor, threads, regs, warp, smem, optin, reserved int64, bx, by, kregs, ksmem, barriers int32, kineto bool) {
		d := &Device{ComputeMajor: major, ComputeMinor: minor, NumSMs: 1, MaxThreadsPerBlock: 1024, MaxThreadsPerSM: threads,
			RegsPerBlock: regs, RegsPerSM: regs, WarpSize: warp, SharedMemPerBlock: 49152, SharedMemPerBlockOptin: optin,
			SharedMemPerSM: smem, ReservedSharedMemPerBlock: reserved}
		k := &Kernel{Block: [3]int32{bx, by, 1}, RegsPerThread: kregs, StaticSharedMem: ksmem, DynamicSharedMem: ksmem, Barriers: barriers}
		var opts Options
		if kineto {
			opts.Mode = Kineto
		}
		r, err := Calculate(d, k, opts)
		if err != nil {
			if r != (Result{}) {
				t.Fatalf("a result with error %v: %+v", err, r)
			}
			return
		}
		limits := []int64{r.ByWarps, r.ByRegs, r.BySharedMem, r.ByBlocks, r.ByBarriers}
		if slices.Min(limits) < 0 || slices.Max(limits) > Unlimited || r.ActiveBlocksPerSM != slices.Min(limits) || r.Limiting == 0 {
			t.Fatalf("limits %v, %d blocks by %v", limits, r.ActiveBlocksPerSM, r.Limiting)
		}
		if o := r.Theoretical(); o < 0 || o > 1 {
			t.Fatalf("theoretical occupancy %v", o)
		}
		if r.ActiveBlocksPerSM*r.AllocatedRegsPerBlock > d.RegsPerSM {
			t.Fatalf("%d blocks of %d registers on an SM of %d", r.ActiveBlocksPerSM, r.AllocatedRegsPerBlock, d.RegsPerSM)
		}
		if r.AllocatedRegsPerBlock < 0 || r.AllocatedSharedMemPerBlock < 0 {
			t.Fatalf("allocated %d registers, %d bytes", r.AllocatedRegsPerBlock, r.AllocatedSharedMemPerBlock)
		}
	})
}
