// Package shape says what a trace is made of, without how much or how long: its
// categories with the arguments of their events, arrows, operators with the kinds
// of device work they start, API calls, rows, metadata; and which rules about the
// whole (every kernel has its call, device time belongs to the operator that
// started it, ...) it keeps. Two runs of a program have the same shape.
//
// Life cycle: [Observe] reads a document into an [Observation]: the [Shape], which
// a baseline file holds, and what only a comparison of two traces needs (examples,
// exact counts, device time). A [Watch] looks at the arguments while the document is
// read, which spares keeping them: they are the larger part of a timeline.
// [Shape.Merge] makes one shape of several runs' and
// marks what was not in all of them. [Read] and [Shape.Write] are the file, and
// Read takes Torch-FL's baseline file as it is, too.
//
// # Traps
//
//   - Categories have one name here whatever the vendor calls them: "cuda_runtime"
//     is also privateuse1_runtime, musa_runtime, ...; see [Canonical]. Spellings
//     are kept beside it.
//   - An argument is known by all events of its category in the trace: Every says
//     whether each event has it, Required whether a trace without it is worse.
//   - A [Measure] without anything checked says nothing; it does not hold.
//   - Kineto writes arrows with one end at API calls that start nothing. They are
//     no part of any measure. Nor are launches into a capture, which have no work, and
//     the work of graphs that are replayed outside of operators, which has none.
package shape
