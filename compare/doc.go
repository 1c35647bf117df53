// Package compare holds the time that devices spent in some traces against that in
// others: what is the same work, and whether it became slower.
//
// The traces may be of different vendors, of eager and of compiled programs, or of
// such that replay graphs. Match finds for every kernel, copy and fill of both
// sides the group it is compared in:
//
//   - by call path: the same operator below the same operators;
//   - by operator: the same operator, where one side has more operators around it;
//   - by ancestor: operators that differ below an operator both have (a
//     convolution of cuDNN's and one of MIOpen's). They meet at the lowest such;
//   - by kernel, then by class of kernel: work that no operator is linked to, that
//     comes from a graph's replay, or from a compiler;
//   - otherwise it is of one side only, and never counts as matched.
//
// Run compares repeated runs, by operator, kernel, class of kernel, module,
// annotation, step and category, and comes to a verdict.
//
// Which names mean the same is a table, rules.yaml, that a file can extend.
//
// Life cycle: read traces (chrome), build their trees (calltree), then Match or Run,
// whose results are only read and printed.
//
// # Traps
//
//   - Every span of device work is in one group, and in one row of each table; times
//     of rows add up to the device time of their side, to the nanosecond. Work that
//     runs at the same time counts in full: Overlap says how much of it did.
//   - Names in rows are those of the rules, not always those of the trace.
//   - Less time for less work is no improvement: Report.Less and More say what one side
//     does more of, and the verdict heeds them.
//   - One run says nothing about the spread of times: counts are exact, times below
//     the noise floor are inconclusive.
package compare
