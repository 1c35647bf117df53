// Package kernels reads the occupancy of every kernel out of a trace: which launch
// configurations there are, how much time each took, how many warps it lets an SM
// hold, what limits that, and how full its waves of blocks are. On top of it stand
// two gates for continuous integration, which need a trace and no GPU: a minimum,
// and a ratchet against a file.
//
// # Life cycle
//
// [Read] streams a trace (JSON, compressed or not) once and returns a [Report];
// memory is bounded by the number of distinct configurations, not of kernels. The
// report is then plain data: [Report.WriteText], [Report.WriteJSON] and
// [Report.WriteCSV] print it, [Report.Below] and [Ratchet.Compare] judge it.
//
// # The model, and what it does not know
//
// A device holds NumSMs x ActiveBlocksPerSM blocks at once: a wave. Blocks are
// taken to last equally long and waves to follow each other, so that a grid of 2.1
// waves takes the time of 3, and the last is a tenth full. On average over the
// kernel's time the share of the SMs' places for warps that are taken is then
//
//	resident = theoretical occupancy x waves / ceil(waves)
//
// and the time lost is time x (1 - resident). For a grid of at most one wave, of
// blocks of whole warps, resident is Kineto's estimated achieved occupancy. All of it follows from the
// launch configuration: nothing was measured on the SM. Time lost says where to
// look first, not what can be won: a kernel that is bound by memory or keeps the
// tensor cores busy may be as fast as it can be at a low occupancy. Blocks of
// unequal length, blocks that are fewer on an SM and therefore faster, persistent
// kernels that launch one block an SM by design, and kernels that share the device
// with others are not in the model.
//
// # Traps
//
//   - The figures are those of occupancy.Correct. What the trace itself says is
//     kept beside them as text, with whether it follows from Kineto's arithmetic
//     (which has 0 % above 48 KiB of shared memory) or from this package's.
//   - A configuration of which a fact is missing, or whose device is unknown, has
//     no figures and a reason. So has one that the calculation says could not have
//     been launched: it ran, so a property of the device must be wrong.
//   - The compute capability of an AMD device looks like that of an NVIDIA one
//     (9.0 is an MI200); the warp size and ROCm's own keys tell them apart.
//   - Spills are in no trace of Kineto's: local memory is unknown, not 0, where the
//     kernel's arguments do not carry it.
package kernels
