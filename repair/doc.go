// Package repair mends what is wrong with a trace of any producer, counts each
// repair in the trace's completeness record, and changes nothing else.
//
// Life cycle: read a trace with chrome.Read, call [Document], write the timeline
// with chrome.WriteFile. What reading had to mend in the text (brackets, quotes,
// control characters, times as strings) is counted among the repairs. Repairing
// what was written changes nothing, byte for byte.
//
// The repairs, in the order in which they are made; each has a name to choose it
// by and is in a file of that name:
//
//   - text: JSON is strict, the list of events closed, keys stand once. Always made:
//     a document cannot be written otherwise.
//   - times: times since the Unix epoch become relative to baseTimeNanoseconds, which
//     says what was subtracted.
//   - names: mangled names of kernels become C++ names; API calls without a name get
//     the one of their callback id.
//   - clock: device work that begins before its launch is shifted, with everything
//     on its device, by the smallest offset that the pairs agree on.
//   - durations: a span that runs into the next by no more than times are rounded
//     is cut there.
//   - overlaps: spans that overlap by more go to sub-rows.
//   - flows: arrows with one end get the other where ids tell it for certain, or go.
//
// Traps:
//   - Nothing is invented: what has no certain repair stays and is in
//     [Report.Remaining]. Missing events stay missing.
//   - A record that a repair adds to another producer's trace has no verdict and no
//     tool: see timeline.Completeness.Recorded.
//   - A bare list of events has no place for a record; where something was
//     repaired it becomes an object with traceEvents.
//   - Kineto's arrows that begin or end at API calls which launch nothing are normal
//     and stay, unless Options.HostFlows asks for their removal.
package repair
