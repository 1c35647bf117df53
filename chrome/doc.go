// Package chrome speaks the Trace Event Format in the dialect of Kineto, the
// library behind torch.profiler: it writes a timeline as such a document and
// scans documents of that family.
//
// # Writing
//
// [WriteFile] and [Write] turn a [timeline.Trace] into strict JSON: one event a
// line, keys, key order and number formats as torch 2.11 has them, plus the
// arguments that later versions of Kineto added (see [Compat]). The output is a
// pure function of trace and options: the same trace gives the same bytes,
// whatever the number of workers.
//
// Life cycle: a plan is made in one pass over the trace (which rows, devices and
// launch configurations occur, where the text is cut into segments); segments are
// then rendered, and compressed, by several goroutines and written in order.
// Memory beyond the trace is bounded by the segments in flight, not by the trace.
//
// # Reading
//
// [Scan] streams through a document of any size, in object or bare-array form,
// compressed or not, and hands out every top-level member and every event with
// its fields as raw [Value]s, to be parsed only where needed.
//
// # Traps
//
//   - In a document ts and dur are microseconds with three decimals, and ts is
//     relative to baseTimeNanoseconds; in memory everything is integer ns since
//     the Unix epoch. No time passes through a float64.
//   - baseTimeNanoseconds may stand after traceEvents, so a reader knows absolute
//     times only when it has seen everything.
//   - "External id" stands in [timeline.Event.External], never in the raw
//     arguments too: a document must not name a key twice.
//   - Values handed out by Scan are valid only until the handler returns.
//   - On the rows of a device, pid is the device's ordinal. In a container a
//     process may have the same number as a device; its metadata is then
//     written once, with both labels.
package chrome
