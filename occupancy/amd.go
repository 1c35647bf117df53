package occupancy

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// AMDDevice is an AMD GPU: an architecture and a number of compute units.
type AMDDevice struct {
	GFX    string // LLVM's name of the architecture, such as gfx942
	NumCUs int64  // 0: unknown; not needed for occupancy
}

// AMDKernel is a launch configuration as the code object's metadata states it.
type AMDKernel struct {
	Threads  int64 // of a work-group
	WaveSize int64 // threads; 0: 64, or 32 from gfx10 on
	// VGPRs of a thread: .vgpr_count, which from gfx90a on has the accumulation
	// registers in it. On gfx908, where they are apart, the larger number.
	VGPRs int64
	SGPRs int64 // of a wave: .sgpr_count, without those of the trap handler
	LDS   int64 // bytes of a work-group, static and dynamic
	// CUMode keeps a work-group on one compute unit from gfx10 on (clang -mcumode),
	// where it may otherwise use both of a work-group processor.
	CUMode bool
}

// AMDResult is the theoretical occupancy of a kernel on an AMD GPU: from public
// documents, not verified on hardware. The By fields are the work-groups that each
// resource alone would let a unit hold, or Unlimited. A unit is a compute unit, or
// from gfx10 on a work-group processor, unless CUMode is set.
type AMDResult struct {
	Groups   int64 // resident work-groups of a unit; 0: cannot be launched
	Limiting Limit

	ByWaves, ByVGPRs, BySGPRs, ByLDS, ByGroups int64

	WaveSize        int64
	WavesPerGroup   int64
	MaxWavesPerUnit int64
	AllocatedVGPRs  int64 // of a thread, with rounding
	AllocatedSGPRs  int64 // of a wave, with rounding and trap handler
	AllocatedLDS    int64 // bytes of a work-group, with rounding
	WGP             bool  // the unit is a work-group processor
}

// Check says whether the architecture is known: nil, or an error that wraps
// ErrUnsupported.
func (d *AMDDevice) Check() error {
	if d.arch() != nil {
		return nil
	}
	var known []string
	for _, a := range amdArchs {
		known = append(known, a.gfx...)
	}
	return fmt.Errorf("%w: %q (limits are known for %s)", ErrUnsupported, d.GFX, strings.Join(known, ", "))
}

func (d *AMDDevice) arch() *amdArch {
	for i := range amdArchs {
		if slices.Contains(amdArchs[i].gfx, d.GFX) {
			return &amdArchs[i]
		}
	}
	return nil
}

// CalculateAMD gives the theoretical occupancy of k on d. As with Calculate, too much
// of a resource is no error; errors wrap ErrKernel or ErrUnsupported.
func CalculateAMD(d *AMDDevice, k *AMDKernel) (AMDResult, error) {
	a := d.arch()
	if a == nil {
		return AMDResult{}, d.Check()
	}
	wave := k.WaveSize
	if wave == 0 {
		if wave = 64; a.rdna {
			wave = 32
		}
	}
	switch {
	case wave != 64 && (wave != 32 || !a.rdna):
		return AMDResult{}, fmt.Errorf("%w: waves of %d threads: %s has %s", ErrKernel, wave, d.GFX, a.waves())
	case k.Threads < 1 || k.Threads > math.MaxInt32 || k.VGPRs < 0 || k.VGPRs > math.MaxUint16 || k.SGPRs < 0 || k.SGPRs > math.MaxUint16 || k.LDS < 0 || k.LDS > math.MaxInt32*2:
		return AMDResult{}, fmt.Errorf("%w: %d threads, %d vector and %d scalar registers, %d bytes of LDS: threads must be positive, the rest not negative, registers below 65536",
			ErrKernel, k.Threads, k.VGPRs, k.SGPRs, k.LDS)
	case k.CUMode && !a.rdna:
		return AMDResult{}, fmt.Errorf("%w: CU mode begins with gfx10; %s has no work-group processors", ErrKernel, d.GFX)
	}

	simds, lds, barriers := int64(4), a.lds, int64(16)
	r := AMDResult{WaveSize: wave, WavesPerGroup: (k.Threads + wave - 1) / wave, ByVGPRs: Unlimited, BySGPRs: Unlimited, ByLDS: Unlimited}
	switch {
	case a.rdna && k.CUMode:
		simds = 2
	case a.rdna:
		lds, barriers, r.WGP = 2*a.lds, 32, true
	}
	r.MaxWavesPerUnit = simds * a.wavesPerSIMD
	if k.Threads <= amdMaxThreads {
		r.ByWaves = r.MaxWavesPerUnit / r.WavesPerGroup
	}
	// A work-group of one wave needs no barrier.
	if r.ByGroups = barriers; r.WavesPerGroup == 1 {
		r.ByGroups = r.MaxWavesPerUnit
	}

	vgprs, unit := a.vgprs, a.vgprUnit
	if wave == 32 {
		vgprs, unit = 2*vgprs, 2*unit
	}
	if k.VGPRs > 0 {
		r.AllocatedVGPRs = roundUp(k.VGPRs, unit)
		r.ByVGPRs = 0
		if k.VGPRs <= a.maxVGPRs {
			r.ByVGPRs = vgprs / r.AllocatedVGPRs * simds / r.WavesPerGroup
		}
	}
	if k.SGPRs > 0 {
		if a.sgprs > 0 {
			r.AllocatedSGPRs = roundUp(k.SGPRs+a.sgprTrap, a.sgprUnit)
			r.BySGPRs = a.sgprs / r.AllocatedSGPRs * simds / r.WavesPerGroup
		}
		if k.SGPRs > a.maxSGPRs {
			r.BySGPRs = 0
		}
	}
	if k.LDS > 0 {
		r.AllocatedLDS = roundUp(k.LDS, a.ldsUnit)
		r.ByLDS = 0
		if k.LDS <= a.maxLDS {
			r.ByLDS = lds / r.AllocatedLDS
		}
	}

	n := min(r.ByWaves, r.ByVGPRs, r.BySGPRs, r.ByLDS, r.ByGroups)
	r.Groups = n
	r.Limiting = LimitWarps.when(r.ByWaves == n) | LimitRegs.when(r.ByVGPRs == n) | LimitScalarRegs.when(r.BySGPRs == n) |
		LimitSharedMem.when(r.ByLDS == n) | LimitBlocks.when(r.ByGroups == n)
	return r, nil
}

// amdMaxThreads of a work-group (ROCm).
const amdMaxThreads = 1024

func (a *amdArch) waves() string {
	if a.rdna {
		return "32 or 64"
	}
	return "64"
}
