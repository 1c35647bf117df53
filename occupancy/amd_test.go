package occupancy

import (
	"errors"
	"testing"
)

// TestAMDAgainstLLVM: waves of a SIMD by one resource, as the tests of LLVM's AMDGPU
// backend state them for kernels of that use (occupancy-levels.ll): a wave of each
// work-group at most, so the size of the work-group is that of a wave. LLVM counts
// scalar registers of its own in (extra); that the trap handler takes some is as on
// ROCm.
func TestAMDAgainstLLVM(t *testing.T) {
	gfx := []struct {
		name  string
		wave  int64
		extra int64
	}{{"gfx900", 64, 0}, {"gfx950", 64, 6}, {"gfx1010", 64, 0}, {"gfx1010", 32, 0}, {"gfx1030", 64, 0}, {"gfx1030", 32, 0}, {"gfx1100", 64, 0}, {"gfx1100", 32, 0}}
	for _, c := range []struct {
		vgprs, sgprs int64
		want         [8]int64
	}{
		{24, 0, [8]int64{10, 8, 20, 20, 16, 16, 16, 16}},
		{28, 0, [8]int64{9, 8, 18, 20, 16, 16, 16, 16}},
		{32, 0, [8]int64{8, 8, 16, 20, 16, 16, 16, 16}},
		{36, 0, [8]int64{7, 8, 14, 20, 12, 16, 16, 16}},
		{40, 0, [8]int64{6, 8, 12, 20, 12, 16, 16, 16}},
		{44, 0, [8]int64{5, 8, 11, 20, 10, 16, 16, 16}},
		{48, 0, [8]int64{5, 8, 10, 20, 10, 16, 16, 16}},
		{56, 0, [8]int64{4, 8, 9, 18, 9, 16, 12, 16}},
		{64, 0, [8]int64{4, 8, 8, 16, 8, 16, 10, 16}},
		{72, 0, [8]int64{3, 7, 7, 14, 7, 12, 10, 16}},
		{80, 0, [8]int64{3, 6, 6, 12, 6, 12, 9, 16}},
		{84, 0, [8]int64{3, 5, 6, 11, 5, 10, 9, 16}},
		{88, 0, [8]int64{2, 5, 5, 11, 5, 10, 8, 16}},
		{96, 0, [8]int64{2, 5, 5, 10, 5, 10, 8, 16}},
		{100, 0, [8]int64{2, 4, 5, 9, 4, 9, 7, 12}},
		{112, 0, [8]int64{2, 4, 4, 9, 4, 9, 6, 12}},
		{128, 0, [8]int64{2, 4, 4, 8, 4, 8, 5, 10}},
		{144, 0, [8]int64{1, 3, 3, 7, 3, 7, 5, 10}},
		{168, 0, [8]int64{1, 3, 3, 6, 3, 5, 4, 9}},
		{200, 0, [8]int64{1, 2, 2, 5, 2, 4, 3, 7}},
		{256, 0, [8]int64{1, 2, 2, 4, 2, 4, 2, 5}},
		{0, 80, [8]int64{8, 7, 20, 20, 16, 16, 16, 16}},
		{0, 88, [8]int64{7, 7, 20, 20, 16, 16, 16, 16}},
		{0, 100, [8]int64{6, 6, 20, 20, 16, 16, 16, 16}},
		{0, 101, [8]int64{6, 6, 20, 20, 16, 16, 16, 16}},
	} {
		for i, g := range gfx {
			k := AMDKernel{Threads: g.wave, WaveSize: g.wave, VGPRs: c.vgprs, SGPRs: c.sgprs}
			if k.SGPRs > 0 {
				k.SGPRs += g.extra
			}
			r, err := CalculateAMD(&AMDDevice{GFX: g.name}, &k)
			if err != nil || r.Groups/4 != c.want[i] || r.Groups%4 != 0 {
				t.Errorf("%s, waves of %d, %d vector and %d scalar registers: %d waves of 4 SIMDs, %v, want %d of each", g.name, g.wave, c.vgprs, c.sgprs, r.Groups, err, c.want[i])
			}
		}
	}
}

// TestAMDLDSAgainstLLVM: 8252 bytes of LDS in work-groups of many sizes, from the same
// tests; the fullest SIMD counts there.
func TestAMDLDSAgainstLLVM(t *testing.T) {
	gfx := []struct {
		name string
		wave int64
	}{{"gfx900", 64}, {"gfx950", 64}, {"gfx1010", 64}, {"gfx1010", 32}, {"gfx1030", 32}, {"gfx1100", 64}, {"gfx1100", 32}}
	for threads, want := range map[int64][7]int64{
		32:   {2, 5, 4, 4, 4, 4, 4},
		64:   {2, 5, 4, 8, 8, 4, 8},
		96:   {4, 8, 8, 12, 12, 8, 12},
		128:  {4, 8, 8, 15, 15, 8, 15},
		192:  {6, 8, 12, 20, 15, 12, 15},
		256:  {7, 8, 15, 20, 16, 15, 16},
		512:  {10, 8, 20, 20, 16, 16, 16},
		1024: {8, 8, 20, 16, 16, 16, 16},
	} {
		for i, g := range gfx {
			r, err := CalculateAMD(&AMDDevice{GFX: g.name}, &AMDKernel{Threads: threads, WaveSize: g.wave, LDS: 8252})
			if got := (r.Groups*r.WavesPerGroup + 3) / 4; err != nil || got != want[i] {
				t.Errorf("%s, waves of %d, %d threads: %d, %v, want %d (%+v)", g.name, g.wave, threads, got, err, want[i], r)
			}
		}
	}
}

func TestAMD(t *testing.T) {
	for _, c := range []struct {
		name    string
		gfx     string
		k       AMDKernel
		groups  int64
		limit   Limit
		perUnit int64
	}{
		{"wave by architecture", "gfx942", AMDKernel{Threads: 65}, 16, LimitWarps | LimitBlocks, 32},
		{"wave by architecture", "gfx1100", AMDKernel{Threads: 33}, 32, LimitWarps | LimitBlocks, 64},
		{"CU mode", "gfx1100", AMDKernel{Threads: 256, LDS: 32 << 10, CUMode: true}, 2, LimitSharedMem, 32},
		{"WGP mode", "gfx1100", AMDKernel{Threads: 256, LDS: 32 << 10}, 4, LimitSharedMem, 64},
		{"LDS of gfx942", "gfx942", AMDKernel{Threads: 256, LDS: 64<<10 + 1}, 0, LimitSharedMem, 32},
		{"LDS of gfx950", "gfx950", AMDKernel{Threads: 256, LDS: 160 << 10}, 1, LimitSharedMem, 32},
		{"accumulation registers", "gfx90a", AMDKernel{Threads: 256, VGPRs: 512}, 1, LimitRegs, 32},
		{"too many registers", "gfx1100", AMDKernel{Threads: 256, VGPRs: 257}, 0, LimitRegs, 64},
		{"too many scalar registers", "gfx942", AMDKernel{Threads: 256, SGPRs: 109}, 0, LimitScalarRegs, 32},
		{"too many threads", "gfx942", AMDKernel{Threads: 1025}, 0, LimitWarps, 32},
	} {
		r, err := CalculateAMD(&AMDDevice{GFX: c.gfx}, &c.k)
		if err != nil || r.Groups != c.groups || r.Limiting != c.limit || r.MaxWavesPerUnit != c.perUnit {
			t.Errorf("%s: %s %+v: %+v, %v", c.name, c.gfx, c.k, r, err)
		}
	}
	for _, c := range []struct {
		gfx string
		k   AMDKernel
		err error
	}{
		{"gfx803", AMDKernel{Threads: 64}, ErrUnsupported},
		{"gfx942", AMDKernel{}, ErrKernel},
		{"gfx942", AMDKernel{Threads: -1}, ErrKernel},
		{"gfx942", AMDKernel{Threads: 64, VGPRs: -1}, ErrKernel},
		{"gfx942", AMDKernel{Threads: 64, LDS: -1}, ErrKernel},
		{"gfx942", AMDKernel{Threads: 64, WaveSize: 32}, ErrKernel},
		{"gfx1100", AMDKernel{Threads: 64, WaveSize: 16}, ErrKernel},
		{"gfx942", AMDKernel{Threads: 64, CUMode: true}, ErrKernel},
	} {
		if r, err := CalculateAMD(&AMDDevice{GFX: c.gfx}, &c.k); !errors.Is(err, c.err) || r != (AMDResult{}) {
			t.Errorf("%s %+v: %+v, %v, want %v", c.gfx, c.k, r, err, c.err)
		}
	}
}
