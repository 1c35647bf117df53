package occupancy

import "math"

// threadsPerWarp is the constant that Kineto divides by, whatever the device.
const threadsPerWarp = 32

// Failed is the occupancy that Kineto carries on with when NVIDIA's calculator
// refuses the device or the kernel; Percent makes the -99 (or -100) of it that
// appears in such traces. It has no meaning in Correct mode, where a figure that
// cannot be calculated is left out.
const Failed float32 = -1

// BlocksPerSM is the number of blocks of the grid over the number of SMs, in
// the single precision that Kineto uses. In Kineto mode there is always an
// answer: the product of the grid is 32 bits wide and overflows, and numSMs 0, an
// unknown device, gives an infinity or, for a product of 0, NaN. In Correct mode
// ok is false where numSMs or a dimension is not positive.
func BlocksPerSM(numSMs int64, grid [3]int32, mode Mode) (v float32, ok bool) {
	n, ok := product(grid, mode)
	if mode != Kineto && (!ok || numSMs < 1) {
		return 0, false
	}
	return float32(n) / float32(numSMs), true
}

// WarpsPerSM is blocksPerSM times the warps of a block: threads over 32, not
// rounded up to whole warps, in the order and precision of Kineto. ok is as for
// BlocksPerSM.
func WarpsPerSM(blocksPerSM float32, block [3]int32, mode Mode) (v float32, ok bool) {
	n, ok := product(block, mode)
	if mode != Kineto && (!ok || math.IsNaN(float64(blocksPerSM)) || math.IsInf(float64(blocksPerSM), 0)) {
		return 0, false
	}
	// The conversion keeps the compiler from fusing or widening.
	return float32(blocksPerSM*float32(n)) / threadsPerWarp, true
}

// Achieved is the estimate of the achieved occupancy, as a share of the SM's
// threads: the active blocks, or the blocks there are for each SM if those are
// fewer. active is Result.ActiveBlocksPerSM of the same mode. A grid that
// overflows gives a negative one in Kineto mode. Where Calculate failed, use
// Failed in Kineto mode and nothing in Correct mode. ok is as for BlocksPerSM.
func Achieved(active int64, blocksPerSM float32, block [3]int32, maxThreadsPerSM int64, mode Mode) (v float32, ok bool) {
	n, ok := product(block, mode)
	if mode != Kineto && (!ok || maxThreadsPerSM < 1 || blocksPerSM != blocksPerSM) {
		return 0, false
	}
	blocks := blocksPerSM
	if float32(active) < blocks {
		blocks = float32(active)
	}
	return float32(blocks*float32(n)) / float32(maxThreadsPerSM), true
}

// Percent is "est. achieved occupancy %" of the share occ: in the Classic format
// 0.5 is added and the fraction cut off, toward zero, so that Failed gives -99; in
// the Shortest format it is rounded half away from zero, so that Failed gives
// -100. A value that no int32 holds (an overflowed grid, NaN) gives MinInt32 in
// Classic, the conversion's answer on x86-64.
func Percent(occ float32, format Format) int64 {
	// In double precision; a product of 24 bits by 7 is exact in it.
	p := float64(float64(occ) * 100)
	if format == Classic {
		p = math.Trunc(p + 0.5)
	} else {
		p = math.Round(p)
	}
	if !(p >= math.MinInt32 && p <= math.MaxInt32) {
		return math.MinInt32
	}
	return int64(p)
}
