// Package timeline is the trace in memory: the one model between whatever is
// recorded or read and whatever is printed, compared or written.
//
// Events stand in columns, in blocks that are never moved, and strings are
// interned, so that ten million events cost little more than their content.
// Details that only some kinds have (a kernel's launch configuration, a copy's
// size) stand in tables of their own, equal launch configurations once.
//
// Life cycle: fill a Trace with Append and the tables' Add; then only read it.
// Indices returned by Append and Add stay valid.
//
// Traps:
//   - Times are int64 nanoseconds since the Unix epoch.
//   - External ids may be any int64, 0 included; Event.HasExternal says whether
//     there is one. Correlation 0 means none.
//   - A trace that was read (Trace.Source is set) keeps arguments as they stood:
//     see Source before changing or merging one.
//   - A flow between an API call and its device work is not stored: the two
//     events carry FlowOut and FlowIn and the same Correlation.
package timeline
