package occupancy

// arch holds the limits that are a matter of the compute capability and that no
// device property reports.
type arch struct {
	major, minor  int64 // minor anyMinor: every minor without a row of its own
	maxBlocks     int64 // resident blocks of an SM
	maxRegs       int64 // registers of a thread; above it nothing runs
	subPartitions int64 // parts of an SM, each with its own share of the registers
	regUnit       int64 // registers; each warp's are rounded up to it
	smemUnit      int64 // bytes; each block's shared memory is rounded up to it
	reserved      int64 // bytes of shared memory that the driver takes of each block
	barriers      int64 // block barriers of an SM, or noBarrierLimit, or unknownBarriers
	optin         bool  // a kernel may opt in to more shared memory than the default
	// carveouts are the sizes in bytes, ascending, that the shared memory of an
	// SM can be set to; nil: the size is fixed and is the property's.
	carveouts []int64
	// runsOn is another minor of the same major on which the kernel's registers
	// must fit as well; -1: none.
	runsOn int64
}

const anyMinor = -1

const (
	noBarrierLimit  = -1 // block barriers do not bound occupancy
	unknownBarriers = -2
)

const kib = 1 << 10

var (
	carveoutVolta  = []int64{0, 8 * kib, 16 * kib, 32 * kib, 64 * kib, 96 * kib}
	carveoutTuring = []int64{32 * kib, 64 * kib}
	carveoutGA10x  = []int64{0, 8 * kib, 16 * kib, 32 * kib, 64 * kib, 100 * kib}
	carveoutGA100  = []int64{0, 8 * kib, 16 * kib, 32 * kib, 64 * kib, 100 * kib, 132 * kib, 164 * kib}
	carveoutHopper = []int64{0, 8 * kib, 16 * kib, 32 * kib, 64 * kib, 100 * kib, 132 * kib, 164 * kib, 196 * kib, 228 * kib}
)

// archs is ordered by major; a row of its own minor precedes its major's anyMinor.
//
// Sources: the resident blocks, registers of a thread, shared-memory sizes and
// the reserve are in the CUDA C++ Programming Guide ("Compute Capabilities",
// technical specifications) and the tuning guides of the architectures. The
// allocation units, the parts of an SM, the barriers and the rule that 6.0 shares
// the register limit of 6.1 are observable in NVIDIA's header-only calculator
// (cuda_occupancy.h). Verified against its results (see testdata/README.md) for
// 5.0, 5.2, 6.0, 6.1, 7.0, 7.5, 8.0, 8.6, 8.7, 8.9, 9.0, 10.0, 10.3 and 12.0
// with CUDA 13.0, and for 5.3, 6.2, 7.2 and 8.8 with CUDA 12.6. 10.1, 11.x and
// 12.1 are from the calculator's description alone. The calculator counts block
// barriers from 9.0 on; CUDA 12.6, where they were looked up, ends at 9.x, so those
// of 10.0 and later are not known here.
var archs = []arch{
	// Maxwell
	{major: 5, minor: anyMinor, maxBlocks: 32, maxRegs: 255, subPartitions: 4, regUnit: 256, smemUnit: 256, barriers: noBarrierLimit, runsOn: -1},
	// Pascal. The two halves of GP100's SM share its registers; a kernel that
	// would not fit the four parts of GP10x is refused on GP100 as well.
	{major: 6, minor: 0, maxBlocks: 32, maxRegs: 255, subPartitions: 2, regUnit: 256, smemUnit: 256, barriers: noBarrierLimit, runsOn: 1},
	{major: 6, minor: anyMinor, maxBlocks: 32, maxRegs: 255, subPartitions: 4, regUnit: 256, smemUnit: 256, barriers: noBarrierLimit, runsOn: -1},
	// Turing, Volta
	{major: 7, minor: 5, maxBlocks: 16, maxRegs: 256, subPartitions: 4, regUnit: 256, smemUnit: 256, optin: true, carveouts: carveoutTuring, barriers: noBarrierLimit, runsOn: -1},
	{major: 7, minor: anyMinor, maxBlocks: 32, maxRegs: 256, subPartitions: 4, regUnit: 256, smemUnit: 256, optin: true, carveouts: carveoutVolta, barriers: noBarrierLimit, runsOn: -1},
	// Ampere: GA100, Orin; Ada; the other Amperes
	{major: 8, minor: 0, maxBlocks: 32, maxRegs: 256, subPartitions: 4, regUnit: 256, smemUnit: 128, reserved: kib, optin: true, carveouts: carveoutGA100, barriers: noBarrierLimit, runsOn: -1},
	{major: 8, minor: 7, maxBlocks: 16, maxRegs: 256, subPartitions: 4, regUnit: 256, smemUnit: 128, reserved: kib, optin: true, carveouts: carveoutGA100, barriers: noBarrierLimit, runsOn: -1},
	{major: 8, minor: 9, maxBlocks: 24, maxRegs: 256, subPartitions: 4, regUnit: 256, smemUnit: 128, reserved: kib, optin: true, carveouts: carveoutGA10x, barriers: noBarrierLimit, runsOn: -1},
	{major: 8, minor: anyMinor, maxBlocks: 16, maxRegs: 256, subPartitions: 4, regUnit: 256, smemUnit: 128, reserved: kib, optin: true, carveouts: carveoutGA10x, barriers: noBarrierLimit, runsOn: -1},
	// Hopper
	{major: 9, minor: anyMinor, maxBlocks: 32, maxRegs: 256, subPartitions: 4, regUnit: 256, smemUnit: 128, reserved: kib, optin: true, carveouts: carveoutHopper, barriers: 64, runsOn: -1},
	// Blackwell
	{major: 10, minor: 1, maxBlocks: 24, maxRegs: 256, subPartitions: 4, regUnit: 256, smemUnit: 128, reserved: kib, optin: true, carveouts: carveoutHopper, barriers: unknownBarriers, runsOn: -1},
	{major: 10, minor: anyMinor, maxBlocks: 32, maxRegs: 256, subPartitions: 4, regUnit: 256, smemUnit: 128, reserved: kib, optin: true, carveouts: carveoutHopper, barriers: unknownBarriers, runsOn: -1},
	{major: 11, minor: 0, maxBlocks: 24, maxRegs: 256, subPartitions: 4, regUnit: 256, smemUnit: 128, reserved: kib, optin: true, carveouts: carveoutHopper, barriers: unknownBarriers, runsOn: -1},
	{major: 11, minor: anyMinor, maxBlocks: 32, maxRegs: 256, subPartitions: 4, regUnit: 256, smemUnit: 128, reserved: kib, optin: true, carveouts: carveoutHopper, barriers: unknownBarriers, runsOn: -1},
	{major: 12, minor: anyMinor, maxBlocks: 24, maxRegs: 256, subPartitions: 4, regUnit: 256, smemUnit: 128, reserved: kib, optin: true, carveouts: carveoutGA10x, barriers: unknownBarriers, runsOn: -1},
}

// lookup finds the limits of a compute capability, nil if there are none. A
// minor without a row of its own has its major's, as in NVIDIA's calculator.
func lookup(major, minor int64) *arch {
	if minor < 0 {
		return nil
	}
	for i := range archs {
		if a := &archs[i]; a.major == major && (a.minor == minor || a.minor == anyMinor) {
			return a
		}
	}
	return nil
}

// carveout is the smallest size of an SM's shared memory that holds size bytes,
// or -1.
func (a *arch) carveout(size int64) int64 {
	for _, c := range a.carveouts {
		if c >= size {
			return c
		}
	}
	return -1
}
