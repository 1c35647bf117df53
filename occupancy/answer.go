package occupancy

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Config is a launch configuration to ask any device of the catalogue about. Fields
// that a vendor does not have must be zero.
type Config struct {
	Block int32 // threads
	// Regs of a thread; 0 leaves registers out. On AMD the vector registers.
	Regs              int32
	StaticSmem        int32 // bytes of a block
	DynamicSmem       int32 // bytes of a block
	Carveout          int32 // NVIDIA; Kernel.Carveout
	ClusterBlocks     int32 // NVIDIA from 9.0 on: blocks of a cluster; 0 or 1: no clusters
	ScalarRegs        int32 // AMD: scalar registers of a wave
	WaveSize          int32 // AMD; AMDKernel.WaveSize
	CUMode            bool  // AMD; AMDKernel.CUMode
	MaxActiveClusters int32 // of a record: clusters that the device can hold at once; 0: unknown
}

// Shared is the shared memory of a block in bytes, static and dynamic.
func (c *Config) Shared() int64 { return int64(c.StaticSmem) + int64(c.DynamicSmem) }

// Answer is the theoretical occupancy of a Config on an Entry, in one form for both
// vendors. On AMD a block is a work-group, a warp a wave, an SM a unit (see AMDResult).
type Answer struct {
	Blocks        int64 // of an SM; 0: cannot be launched
	WarpSize      int64 // threads
	WarpsPerBlock int64
	MaxWarps      int64 // of an SM
	Limiting      Limit
	Limits        [6]int64 // blocks by resource, Unlimited where it does not bound; see By
	AllocatedRegs int64    // NVIDIA: of a block; AMD: of a thread. With rounding
	AllocatedSGPR int64    // AMD: of a wave, with rounding
	AllocatedSmem int64    // bytes of a block, with reserve and rounding
	ReservedSmem  int64    // bytes of it that the driver takes
	SmemPerSM     int64    // bytes that the blocks of an SM share; of the carve-out where there is one
	// Breaks says for a configuration that cannot be launched which limits it breaks.
	Breaks []string
	// ClusterBlocks is the number of blocks of an SM, on average over the device, when
	// it is full of clusters, by the record's own number of clusters; negative:
	// unknown. It is Blocks at most.
	ClusterBlocks float64
}

// By is the blocks that one resource alone would allow.
func (a *Answer) By(l Limit) int64 {
	for i := range a.Limits {
		if l == 1<<i {
			return a.Limits[i]
		}
	}
	return Unlimited
}

// Theoretical is the share of the SM's warps that the blocks fill, 0 to 1.
func (a *Answer) Theoretical() float64 {
	if a.MaxWarps == 0 {
		return 0
	}
	return float64(a.Blocks*a.WarpsPerBlock) / float64(a.MaxWarps)
}

// Occupancy answers for one configuration. Errors wrap ErrKernel or those of
// Device.Check; asking for too much is none, see Answer.Breaks.
func (e *Entry) Occupancy(c Config) (Answer, error) {
	if e.AMD != nil {
		return e.amd(c)
	}
	if c.ScalarRegs != 0 || c.WaveSize != 0 || c.CUMode {
		return Answer{}, fmt.Errorf("%w: scalar registers, wave size and CU mode are of AMD devices; %s is none", ErrKernel, e.Name)
	}
	switch a := lookup(e.NVIDIA.ComputeMajor, e.NVIDIA.ComputeMinor); {
	case c.ClusterBlocks < 0 || c.MaxActiveClusters < 0:
		return Answer{}, fmt.Errorf("%w: a cluster of %d blocks, %d of them active: neither can be negative", ErrKernel, c.ClusterBlocks, c.MaxActiveClusters)
	case c.ClusterBlocks > 1 && a != nil && a.major < 9:
		return Answer{}, fmt.Errorf("%w: a cluster of %d blocks: clusters begin with compute capability 9.0; %s has %d.%d",
			ErrKernel, c.ClusterBlocks, e.Name, e.NVIDIA.ComputeMajor, e.NVIDIA.ComputeMinor)
	case c.ClusterBlocks > maxCluster:
		return Answer{}, fmt.Errorf("%w: a cluster of %d blocks: %d is the most that any device takes", ErrKernel, c.ClusterBlocks, maxCluster)
	}
	k := Kernel{Block: [3]int32{c.Block, 1, 1}, RegsPerThread: c.Regs, StaticSharedMem: c.StaticSmem, DynamicSharedMem: c.DynamicSmem, Carveout: c.Carveout}
	r, err := Calculate(e.NVIDIA, &k, Options{})
	if err != nil {
		return Answer{}, err
	}
	out := Answer{
		Blocks: r.ActiveBlocksPerSM, WarpSize: e.NVIDIA.WarpSize, WarpsPerBlock: r.WarpsPerBlock, MaxWarps: r.MaxWarpsPerSM,
		Limiting: r.Limiting, Limits: [6]int64{r.ByWarps, r.ByRegs, r.BySharedMem, r.ByBlocks, r.ByBarriers, Unlimited},
		AllocatedRegs: r.AllocatedRegsPerBlock, AllocatedSmem: r.AllocatedSharedMemPerBlock, ClusterBlocks: -1,
		ReservedSmem: e.NVIDIA.ReservedSharedMemPerBlock,
		SmemPerSM:    smemOfSM(lookup(e.NVIDIA.ComputeMajor, e.NVIDIA.ComputeMinor), e.NVIDIA, r.AllocatedSharedMemPerBlock, int64(c.Carveout)),
	}
	if c.ClusterBlocks > 1 {
		if v, ok := ClusterBlocksPerSM(int64(c.MaxActiveClusters), int64(c.ClusterBlocks), e.NVIDIA.NumSMs); ok {
			out.ClusterBlocks = min(v, float64(out.Blocks))
		}
	}
	if out.SmemPerSM == 0 { // no carve-out holds a block
		out.SmemPerSM = e.NVIDIA.SharedMemPerSM
	}
	if out.Blocks == 0 {
		out.Breaks = e.NVIDIA.breaks(&k, &r)
	}
	return out, nil
}

// maxCluster is the largest cluster: 16 blocks, and only on Hopper with
// cudaFuncAttributeNonPortableClusterSizeAllowed; 8 are portable. Source: CUDA C++
// Programming Guide, "Thread Block Clusters", and NVIDIA Hopper Tuning Guide.
const maxCluster = 16

// ClusterBlocksPerSM is the number of resident blocks of an SM, on average over the
// device, when it holds maxActive clusters of size blocks. How many clusters fit
// depends on how SMs are grouped, which no property tells: maxActive is what the
// activity record of a kernel says (maxActiveClusters). ok is false where anything is
// unknown (not positive).
func ClusterBlocksPerSM(maxActive, size, numSMs int64) (v float64, ok bool) {
	if !positive31(maxActive) || !positive31(size) || !positive31(numSMs) {
		return 0, false
	}
	return float64(maxActive*size) / float64(numSMs), true
}

// breaks describes why r has no blocks.
func (d *Device) breaks(k *Kernel, r *Result) (out []string) {
	a := lookup(d.ComputeMajor, d.ComputeMinor)
	threads := int64(k.Block[0])
	if r.ByWarps == 0 {
		if threads > d.MaxThreadsPerBlock {
			out = append(out, fmt.Sprintf("threads: %d in a block; at most %d", threads, d.MaxThreadsPerBlock))
		} else {
			out = append(out, fmt.Sprintf("threads: a block of %d needs %d warps; an SM holds %d", threads, r.WarpsPerBlock, r.MaxWarpsPerSM))
		}
	}
	if r.ByRegs == 0 {
		regs := int64(k.RegsPerThread)
		if regs > a.maxRegs {
			out = append(out, fmt.Sprintf("registers: %d a thread; at most %d", regs, a.maxRegs))
		} else {
			text := fmt.Sprintf("registers: %d a thread for %d warps", regs, r.WarpsPerBlock)
			warps := roundUp(r.WarpsPerBlock, a.subPartitions)
			if a.runsOn >= 0 {
				warps = roundUp(r.WarpsPerBlock, lookup(a.major, a.runsOn).subPartitions)
			}
			if warps != r.WarpsPerBlock {
				text += fmt.Sprintf(" (which count as %d)", warps)
			}
			text += fmt.Sprintf(" are %d with rounding; a block may have %d", roundUp(regs*d.WarpSize, a.regUnit)*warps, d.RegsPerBlock)
			out = append(out, text)
		}
	}
	if r.BySharedMem == 0 {
		limit := max(d.SharedMemPerBlock, d.SharedMemPerBlockOptin)
		out = append(out, fmt.Sprintf("shared memory: %d bytes; a block may have %d", int64(k.StaticSharedMem)+int64(k.DynamicSharedMem), limit))
	}
	return out
}

func (e *Entry) amd(c Config) (Answer, error) {
	if c.ClusterBlocks > 1 || c.Carveout != 0 || c.MaxActiveClusters != 0 {
		return Answer{}, fmt.Errorf("%w: clusters and carve-outs are of NVIDIA devices; %s is none", ErrKernel, e.Name)
	}
	if c.StaticSmem < 0 || c.DynamicSmem < 0 {
		return Answer{}, fmt.Errorf("%w: %d+%d bytes of LDS: neither can be negative", ErrKernel, c.StaticSmem, c.DynamicSmem)
	}
	k := AMDKernel{Threads: int64(c.Block), WaveSize: int64(c.WaveSize), VGPRs: int64(c.Regs), SGPRs: int64(c.ScalarRegs), LDS: c.Shared(), CUMode: c.CUMode}
	r, err := CalculateAMD(e.AMD, &k)
	if err != nil {
		return Answer{}, err
	}
	out := Answer{
		Blocks: r.Groups, WarpSize: r.WaveSize, WarpsPerBlock: r.WavesPerGroup, MaxWarps: r.MaxWavesPerUnit, Limiting: r.Limiting,
		Limits:        [6]int64{r.ByWaves, r.ByVGPRs, r.ByLDS, r.ByGroups, Unlimited, r.BySGPRs},
		AllocatedRegs: r.AllocatedVGPRs, AllocatedSGPR: r.AllocatedSGPRs, AllocatedSmem: r.AllocatedLDS, ClusterBlocks: -1,
		SmemPerSM: e.AMD.arch().lds,
	}
	if r.WGP {
		out.SmemPerSM *= 2
	}
	if out.Blocks == 0 {
		out.Breaks = e.AMD.breaks(&k, &r)
	}
	return out, nil
}

func (d *AMDDevice) breaks(k *AMDKernel, r *AMDResult) (out []string) {
	a := d.arch()
	if r.ByWaves == 0 {
		out = append(out, fmt.Sprintf("threads: %d in a work-group; at most %d", k.Threads, amdMaxThreads))
	}
	if r.ByVGPRs == 0 {
		text := fmt.Sprintf("vector registers: %d a thread; at most %d", k.VGPRs, a.maxVGPRs)
		if k.VGPRs <= a.maxVGPRs {
			text = fmt.Sprintf("vector registers: %d a thread with rounding; too many for the %d waves of a work-group", r.AllocatedVGPRs, r.WavesPerGroup)
		}
		out = append(out, text)
	}
	if r.BySGPRs == 0 {
		text := fmt.Sprintf("scalar registers: %d a wave; at most %d", k.SGPRs, a.maxSGPRs)
		if k.SGPRs <= a.maxSGPRs {
			text = fmt.Sprintf("scalar registers: %d a wave with rounding; too many for the %d waves of a work-group", r.AllocatedSGPRs, r.WavesPerGroup)
		}
		out = append(out, text)
	}
	if r.ByLDS == 0 {
		out = append(out, fmt.Sprintf("LDS: %d bytes; a work-group may have %d", k.LDS, a.maxLDS))
	}
	return out
}

// maxima are the largest values that a thread or block of the device may ask for.
func (e *Entry) maxima(waveSize int64) (threads, regs, smem, regUnit, smemUnit int64) {
	if e.AMD != nil {
		a := e.AMD.arch()
		unit := a.vgprUnit
		if waveSize == 32 {
			unit *= 2
		}
		return amdMaxThreads, a.maxVGPRs, a.maxLDS, unit, a.ldsUnit
	}
	a := lookup(e.NVIDIA.ComputeMajor, e.NVIDIA.ComputeMinor)
	// 255 is what an instruction can name, whatever the calculator lets pass.
	return e.NVIDIA.MaxThreadsPerBlock, min(a.maxRegs, 255), max(e.NVIDIA.SharedMemPerBlock, e.NVIDIA.SharedMemPerBlockOptin),
		max(a.regUnit/e.NVIDIA.WarpSize, 1), a.smemUnit
}

// Words are what the vendor calls things.
type Words struct{ Block, Warp, SM, Smem, Regs string }

// Words are those of the device's vendor; of a unit, those of the configuration.
func (e *Entry) Words(c Config) Words {
	if e.AMD == nil {
		return Words{"block", "warp", "SM", "shared memory", "registers"}
	}
	w := Words{"work-group", "wave", "CU", "LDS", "vector registers"}
	if a := e.AMD.arch(); a != nil && a.rdna && !c.CUMode {
		w.SM = "WGP"
	}
	return w
}

// Names of the limits in the words of the vendor, as a list in a sentence.
func (l Limit) Names(w Words) string {
	var parts []string
	for i, name := range []string{w.Warp + "s", w.Regs, w.Smem, w.Block + "s", "barriers", "scalar registers"} {
		if l&(1<<i) != 0 {
			parts = append(parts, name)
		}
	}
	if n := len(parts); n > 2 {
		return strings.Join(parts[:n-1], ", ") + " and " + parts[n-1]
	}
	return strings.Join(parts, " and ")
}

// clampInt32 is v, or the largest int32.
func clampInt32(v int64) int32 { return int32(min(v, math.MaxInt32)) }

// Basis is what the numbers of a device rest on.
type Basis string

// The bases.
const (
	BasisCalculator Basis = "nvidia-calculator" // checked against NVIDIA's calculator for this compute capability
	BasisRules      Basis = "nvidia-rules"      // its rules, of which no results were at hand for this capability
	BasisDocuments  Basis = "documents"         // public documents of AMD and LLVM; not verified on hardware
)

// checkedCapabilities are those of the results in testdata.
var checkedCapabilities = [][2]int64{{5, 0}, {5, 2}, {5, 3}, {6, 0}, {6, 1}, {6, 2}, {7, 0}, {7, 2}, {7, 5}, {8, 0}, {8, 6}, {8, 7}, {8, 8}, {8, 9},
	{9, 0}, {10, 0}, {10, 3}, {12, 0}}

// Basis of the entry's numbers.
func (e *Entry) Basis() Basis {
	switch {
	case e.AMD != nil:
		return BasisDocuments
	case slices.Contains(checkedCapabilities, [2]int64{e.NVIDIA.ComputeMajor, e.NVIDIA.ComputeMinor}):
		return BasisCalculator
	}
	return BasisRules
}
