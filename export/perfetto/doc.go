// Package perfetto writes a trace in the form of Perfetto (https://ui.perfetto.dev): a
// stream of protobuf packets, a quarter of the size of the JSON, that its viewer need not
// guess at.
//
// A host process and its threads are what they are there, too. A device is a track
// with a track a stream. Spans that would overlap without nesting are on sub-rows:
// further tracks of the same name, which the viewer shows as one. On a device's rows
// only annotations hold other spans, so that work that ran inside the time of other
// work does not look as if that had called it.
//
// Arrows run from API calls to their work, and as the trace has them between others.
// Arguments are debug annotations: numbers as numbers, lists and objects as their JSON.
// Names, categories and texts are written once and then by number.
//
// Life cycle: Write does it all, row by row; beyond the trace and its call tree it
// holds the spans of one row.
//
// # Traps
//
//   - Packets are not in the order of time: readers sort them.
//   - Times are ns since the Unix epoch, on the clock that Perfetto takes for the time
//     since boot; a clock snapshot says that the two are one.
//   - pids and tids that are not numbers of 31 bits cannot be a process's: their rows
//     are tracks by name.
//   - Asynchronous events (b, n, e), objects and the like are left out and counted.
//
// The numbers of fields are those of Perfetto's public definitions (trace_packet.proto,
// track_event.proto, track_descriptor.proto, interned_data.proto,
// debug_annotation.proto, clock_snapshot.proto).
package perfetto
