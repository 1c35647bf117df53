// Package occupancy calculates how many thread blocks of a kernel fit on a
// streaming multiprocessor (SM), what limits them, and the figures derived from
// that which a trace carries for every kernel and copy: blocks per SM, warps
// per SM, estimated achieved occupancy and memory bandwidth. It has a table of
// devices by name, and answers what-if questions about them.
//
// # Life cycle
//
// Fill a [Device] once, from the driver or from a trace's deviceProperties, call
// [Device.FillReserved] when the source does not carry the reserved shared
// memory, and [Device.Check] it for the [Options] wanted. Then, for each kernel,
// [Calculate] gives a [Result], and [BlocksPerSM], [WarpsPerSM], [Achieved] and
// [Percent] the figures; [AppendPerSM] and [AppendBandwidth] print them. All of it
// is pure, safe for concurrent use, and allocates nothing unless there is an
// error to describe.
//
// For people there is a [Catalog]: [Builtin] holds the devices of devices.yaml,
// [Catalog.Read] adds a file, [Catalog.Lookup] finds an [Entry] of either vendor, and
// [Entry.Occupancy], [Entry.Steps] and [Entry.Sweep] answer in the same terms for
// both. [Table] does a CSV file of configurations. [CalculateAMD] is the calculator
// for AMD, from public documents; [Entry.Basis] tells what numbers rest on.
//
// # Two modes
//
// [Correct] answers what the hardware does: a kernel may use as much shared
// memory as the device lets it opt in to, and products are 64 bits wide.
// [Kineto] answers what torch.profiler writes, for comparing number with number:
// the shared-memory limit is the default of 48 KiB, so every kernel above it has
// an occupancy of 0, and the products of grid and block are 32 bits wide and
// overflow.
//
// # Traps
//
//   - Zero means unknown in Device. A property that a calculation needs and
//     does not have is an error that names it; nothing is guessed.
//   - Achieved is an estimate from the launch configuration alone: nothing was
//     measured on the SM. It ignores a partly filled last wave.
//   - Thread-block clusters are not modelled: all blocks of a cluster must fit
//     on one GPU processing cluster at once, which no property of an SM tells.
//     [Result.ClusterIgnored] says so, and the result is then an upper bound.
//     [ClusterBlocksPerSM] uses the number that an activity record may carry.
//   - The carve-out (the share of the unified L1 cache used as shared memory) is
//     taken to be the largest, as NVIDIA's calculator does by default, unless
//     [Kernel.Carveout] says another.
//   - [Limit] has a bit that NVIDIA's calculator does not have, for AMD's scalar
//     registers. Calculate never sets it.
package occupancy
