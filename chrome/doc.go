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
// [ReadFile], [ReadEach] and [Read] make a timeline of a trace of any producer,
// and say in findings what was odd about it or had to be mended. What things are
// called (categories, arguments, arrows, by vendor and version) is a table,
// rules.yaml, that a file can extend ([LoadRules]).
//
// Life cycle: a splitter cuts the list of events into blocks where an event seems
// to begin; workers take blocks apart, each from its beginning; one goroutine, the
// caller's, takes them in order, checks that each block was used up exactly (if
// not, the rest is read again together with what follows), and adds events to the
// timeline. Strict JSON costs one pass, in which keys and shared values that stood
// so in an event before are only compared with it (shape). Anything else is first
// mended into strict JSON, event by event, and then read like the rest. At the end begins and ends
// are paired, arrows are put on the events they stand on, times become absolute,
// and rows, processes and the producer are told.
//
// A trace that was read has a [timeline.Source], and is written as it stood: its
// members, rows and arguments, nothing added.
//
// [Scan] is the smaller reader below: it streams through a document that is
// (almost) JSON and hands out every top-level member and every event with its
// fields as raw [Value]s, to be parsed only where needed.
//
// # Traps
//
//   - In a document ts and dur are microseconds with three decimals, and ts is
//     relative to baseTimeNanoseconds; in memory everything is integer ns since
//     the Unix epoch. No time passes through a float64.
//   - baseTimeNanoseconds may stand after traceEvents, so a reader knows absolute
//     times only when it has seen everything.
//   - "External id" stands in [timeline.Event.External], never in the raw
//     arguments too: a document must not name a key twice. A trace that was read
//     has it in both, and only the arguments are written.
//   - Of a trace that was read, Kernels, Copies, Calls and Syncs hold what was
//     understood; a field that a document does not have is 0 there. Has tells for
//     those that have a bit; the raw arguments tell always.
//   - Values handed out by Scan are valid only until the handler returns.
//   - On the rows of a device, pid is the device's ordinal. In a container a
//     process may have the same number as a device; its metadata is then
//     written once, with both labels.
package chrome
