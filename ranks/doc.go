// Package ranks ties the traces of the ranks of one job together: which collectives
// are one, by how much clocks differ, who waited for whom.
//
// Life cycle: Collect reduces each trace to what its rank communicated, so that a
// thousand traces are read one after the other and let go of; MatchAll finds what is
// one operation; Align estimates the clocks and Rank.Apply moves the times; Analyze
// says what waited. Arrows draws the matches into a merged trace.
//
// # Clocks
//
// The end of an all-reduce, an all-gather, a reduce-scatter, an all-to-all, or a
// barrier is common to its group: no rank is done before it has the last one's data,
// and data takes microseconds. So the difference between two ranks' clocks is the
// median of the differences of ends, with a drift where the differences grow by more
// than they scatter. The uncertainty is the distance within which 95 % of the ends
// lie (all of few), what causes and effects contradict the estimate by, and what the
// drift may be off by over the record; from rank to rank uncertainties add up.
//
// Causes and effects bound the difference without any assumption: no rank ends before
// the last one began, and no receive before its send began. Where fewer than three
// ends are shared, as between stages of a pipeline, the middle of the bounds is the
// estimate and half their distance the uncertainty.
//
// Traps:
//   - A send may end before its receive begins: what fits into the library's buffers
//     is sent then. So may the root of a broadcast.
//   - Ends that differ between two ranks by the same in every operation, as a topology
//     may make them, cannot be told from a clock's offset. The uncertainty, which
//     comes from what scatters, does not hold them; the bounds do.
//   - Kernels without a group (in replayed CUDA graphs, in traces of some versions)
//     count as communication and are in no match.
//   - The number of a peer is one of its group in torch.
package ranks
