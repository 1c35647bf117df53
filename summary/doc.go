// Package summary says what a trace holds, in tables: operators, kernels, modules,
// annotations, steps, copies, collectives, API calls; how long devices were busy, with
// what, and why they were not; how calls became work; the longest gaps; what waits for
// what; and what is missing to say more.
//
// Life cycle: Files reads traces, each reduced as soon as it was read, so that
// memory is that of a few traces and some kilobytes for each of the rest. A Summary is
// plain data: WriteJSON prints it, Tables makes rows and columns of it for people and
// for CSV.
//
//	s, err := summary.Files(paths, summary.Options{})
//	s.WriteJSON(w)
//	for _, t := range s.Tables() { t.Sort("device_ns"); t.WriteCSV(w) }
//
// # What adds up
//
// Each span of device work is in one row of the operators (or in Unlinked, by the
// reason), of the kernels and copies, of modules, of annotations and of steps, so that
// device_ns of each table adds up to that of the whole. Work that runs at the same time
// counts in full there. Of each device every nanosecond of the window is in one field
// of Busy or one of Idle. Checks holds these sums, taken anew from what is printed.
//
// # Rules
//
// A kernel communicates if the trace says what it communicates, or by its name. A gap
// of a device belongs to the work that ends it: until the API call that started that
// work began the device waited for the host; from there on for the launch. Had the call
// begun before the gap, then the device waited for another stream, if that is where the
// work before the gap ran and the new work's own stream was free already, and else for
// its queue: the work stood behind other work of its stream.
//
// # Traps
//
//   - What a trace does not hold is absent (nil, left out), and named in Missing; a
//     zero was measured.
//   - CPUSelfNS holds the profiler's own time; torch's key_averages takes it out.
//   - The bandwidth of a collective counts the time until the last rank had begun, too,
//     unless the traces of the other ranks are there.
//   - Options that select operators or kernels narrow the tables. How busy devices were
//     is of all work.
package summary
