package occupancy

import (
	"fmt"
	"math"
)

// Mode chooses whose numbers are calculated.
type Mode uint8

const (
	// Correct: shared memory up to the opt-in limit, 64-bit products.
	Correct Mode = iota
	// Kineto: what torch.profiler writes. Shared memory up to the default
	// limit, so 0 blocks above it; 32-bit products, which overflow.
	Kineto
)

// Options choose whose numbers to calculate and how to print them. The zero
// value is the correct numbers in the classic format.
type Options struct {
	Mode   Mode
	Format Format
}

// Unlimited is the limit by a resource of which the kernel uses nothing.
const Unlimited = math.MaxInt32

// Kernel is one launch configuration. Dimensions are x, y, z.
type Kernel struct {
	Grid  [3]int32 // blocks
	Block [3]int32 // threads
	// Cluster is the thread-block cluster in blocks; the zero value means
	// unknown or none. Not modelled: see Result.ClusterIgnored.
	Cluster          [3]int32
	RegsPerThread    int32
	StaticSharedMem  int32 // bytes
	DynamicSharedMem int32 // bytes
	// Barriers is the number of block barriers that the kernel uses; zero
	// leaves them out, as Kineto does (no activity record carries them). They
	// bound occupancy from 9.0 on only.
	Barriers int32
	// Carveout is the shared memory of an SM that the kernel prefers, in bytes
	// (cudaFuncAttributePreferredSharedMemoryCarveout); zero is the largest. The
	// SM is set to the smallest size that it has and that holds this and one
	// block. Below 7.0 there is no choice, and any other value is an error.
	Carveout int32
}

// Result is the theoretical occupancy of a kernel. The By fields are the blocks
// that each resource alone would let an SM hold, or Unlimited.
type Result struct {
	ActiveBlocksPerSM int64 // the smallest of the By fields; 0: cannot be launched
	// Limiting is every resource whose limit is the smallest. (NVIDIA's
	// calculator keeps those of the second smallest when barriers are smallest.)
	Limiting Limit
	// ClusterIgnored is set for a kernel launched in clusters of more than one
	// block: ActiveBlocksPerSM is then an upper bound.
	ClusterIgnored bool

	ByWarps, ByRegs, BySharedMem, ByBlocks, ByBarriers int64

	WarpsPerBlock              int64 // rounded up to whole warps
	MaxWarpsPerSM              int64
	AllocatedRegsPerBlock      int64 // registers, with rounding
	AllocatedSharedMemPerBlock int64 // bytes, with reserve and rounding
}

// Theoretical is the share of the SM's warps that the active blocks fill, 0 to 1.
func (r *Result) Theoretical() float64 {
	if r.MaxWarpsPerSM == 0 {
		return 0
	}
	return float64(r.ActiveBlocksPerSM*r.WarpsPerBlock) / float64(r.MaxWarpsPerSM)
}

// Calculate gives the theoretical occupancy of k on dev. The grid does not
// matter to it. A kernel that cannot be launched because it asks for too much is
// no error: it has 0 active blocks and Limiting says why. Errors wrap ErrKernel
// for a configuration that cannot be, or those of Device.Check.
//
// In Kineto mode the number of threads of a block is a 32-bit product, which may
// overflow to one that passes.
func Calculate(dev *Device, k *Kernel, opts Options) (Result, error) {
	a, err := dev.arch(opts)
	if err != nil {
		return Result{}, err
	}
	threads, ok := product(k.Block, opts.Mode)
	// The regs bound keeps the products below within 64 bits; records carry 16 bits.
	if !ok || threads < 1 || threads > math.MaxInt32 || uint32(k.RegsPerThread) > math.MaxUint16 ||
		k.StaticSharedMem < 0 || k.DynamicSharedMem < 0 || k.Barriers < 0 || k.Carveout < 0 {
		return Result{}, k.fault()
	}
	if k.Barriers > 0 && a.barriers == unknownBarriers {
		return Result{}, fmt.Errorf("%w: the number of block barriers of an SM of %d.%d is not known; set Barriers to 0 to leave them out",
			ErrUnsupported, dev.ComputeMajor, dev.ComputeMinor)
	}

	if k.Carveout > 0 && (a.carveouts == nil || int64(k.Carveout) > dev.SharedMemPerSM) {
		return Result{}, carveoutFault(a, dev, k)
	}

	r := Result{
		WarpsPerBlock:  (threads + dev.WarpSize - 1) / dev.WarpSize,
		MaxWarpsPerSM:  dev.MaxThreadsPerSM / dev.WarpSize,
		ByBlocks:       a.maxBlocks,
		ByBarriers:     Unlimited,
		ClusterIgnored: k.Cluster != [3]int32{} && k.Cluster != [3]int32{1, 1, 1},
	}
	if threads <= dev.MaxThreadsPerBlock {
		r.ByWarps = r.MaxWarpsPerSM / r.WarpsPerBlock
	}
	regsPerWarp := roundUp(int64(k.RegsPerThread)*dev.WarpSize, a.regUnit)
	r.AllocatedRegsPerBlock = regsPerWarp * r.WarpsPerBlock
	r.ByRegs = byRegs(a, dev, int64(k.RegsPerThread), regsPerWarp, r.WarpsPerBlock)
	if a.runsOn >= 0 && r.ByRegs > 0 &&
		byRegs(lookup(a.major, a.runsOn), dev, int64(k.RegsPerThread), regsPerWarp, r.WarpsPerBlock) == 0 {
		r.ByRegs = 0
	}
	r.AllocatedSharedMemPerBlock = roundUp(
		int64(k.StaticSharedMem)+int64(k.DynamicSharedMem)+dev.ReservedSharedMemPerBlock, a.smemUnit)
	r.BySharedMem = bySharedMem(a, dev, r.AllocatedSharedMemPerBlock, int64(k.Carveout), opts)
	if k.Barriers > 0 && a.barriers > 0 {
		r.ByBarriers = a.barriers / int64(k.Barriers)
	}

	n := min(r.ByWarps, r.ByRegs, r.BySharedMem, r.ByBlocks, r.ByBarriers)
	r.ActiveBlocksPerSM = n
	r.Limiting = LimitWarps.when(r.ByWarps == n) | LimitRegs.when(r.ByRegs == n) |
		LimitSharedMem.when(r.BySharedMem == n) | LimitBlocks.when(r.ByBlocks == n) |
		LimitBarriers.when(r.ByBarriers == n)
	return r, nil
}

// byRegs: registers are handed to warps, and each part of the SM has its own.
// Whether one block fits is decided as if it were spread over all parts evenly.
func byRegs(a *arch, dev *Device, regs, regsPerWarp, warps int64) int64 {
	if regs > a.maxRegs || regsPerWarp*roundUp(warps, a.subPartitions) > dev.RegsPerBlock {
		return 0
	}
	if regsPerWarp == 0 {
		return Unlimited
	}
	return dev.RegsPerSM / a.subPartitions / regsPerWarp * a.subPartitions / warps
}

func carveoutFault(a *arch, dev *Device, k *Kernel) error {
	if a.carveouts == nil {
		return fmt.Errorf("%w: carve-out of %d bytes: the shared memory of an SM of %d.%d cannot be set", ErrKernel, k.Carveout, dev.ComputeMajor, dev.ComputeMinor)
	}
	return fmt.Errorf("%w: carve-out of %d bytes: an SM has %d bytes of shared memory at most", ErrKernel, k.Carveout, dev.SharedMemPerSM)
}

// bySharedMem: prefer is Kernel.Carveout.
func bySharedMem(a *arch, dev *Device, perBlock, prefer int64, opts Options) int64 {
	limit := dev.SharedMemPerBlock
	if needsOptin(a, opts) {
		limit = max(limit, dev.SharedMemPerBlockOptin)
	}
	if perBlock == 0 {
		return Unlimited
	}
	// The properties leave the reserve out, so it comes on top.
	if perBlock > limit+a.reserve(dev) {
		return 0
	}
	return smemOfSM(a, dev, perBlock, prefer) / perBlock
}

// smemOfSM is what the shared memory of an SM is set to, in bytes.
func smemOfSM(a *arch, dev *Device, perBlock, prefer int64) int64 {
	perSM := dev.SharedMemPerSM
	if prefer > 0 {
		perSM = prefer
	}
	if a.carveouts != nil {
		perSM = a.carveout(max(perSM, perBlock))
	}
	// carveout gives -1 only for a device whose block limit is above any carve-out.
	return max(perSM, 0)
}

// reserve is what the per-block limits of the device leave out.
func (a *arch) reserve(dev *Device) int64 {
	if a.reserved == 0 {
		return 0
	}
	return dev.ReservedSharedMemPerBlock
}

func (l Limit) when(cond bool) Limit {
	if cond {
		return l
	}
	return 0
}

func roundUp(v, unit int64) int64 { return (v + unit - 1) / unit * unit }

// product multiplies three dimensions: in 32 bits with overflow for Kineto;
// otherwise in 64, ok false if one is not positive or the product is too big.
func product(d [3]int32, mode Mode) (n int64, ok bool) {
	if mode == Kineto {
		return int64(d[0] * d[1] * d[2]), true
	}
	if d[0] < 1 || d[1] < 1 || d[2] < 1 {
		return 0, false
	}
	xy := int64(d[0]) * int64(d[1]) // below 2^62
	if xy > math.MaxInt64/int64(d[2]) {
		return 0, false
	}
	return xy * int64(d[2]), true
}

func (k *Kernel) fault() error {
	return fmt.Errorf("%w: block %v, %d registers a thread, %d+%d bytes of shared memory, %d barriers, carve-out of %d bytes: dimensions must be positive, the rest not negative, registers below 65536",
		ErrKernel, k.Block, k.RegsPerThread, k.StaticSharedMem, k.DynamicSharedMem, k.Barriers, k.Carveout)
}
