// Package tracer describes a device tracer: one vendor library that reports
// what a device did.
//
// A tracer has two halves that never share a process by accident:
//
//   - the Binding runs inside the traced process. It finds and binds the
//     vendor's library, arms it, flushes it, and collects what only the process
//     knows (names behind pointers, strides of records, device attributes).
//     It is impure and lives in a sub-package (tracer/cupti/bind), so that the
//     command line tool does not carry it.
//   - the Decoder runs in the recorder, on a spool or a dump of buffers. It is a
//     pure function of its input: same bytes in, same events out.
//
// Life cycle of a Decoder: create one per process traced; tell it what the
// process knew (Strides, Name, CallbackName) in the order in which it stands in
// the spool; give it each buffer once; ask Report when all is read.
//
// Traps: buffers of several threads arrive in any order and a device record may
// come before the API record it belongs to, so nothing may be joined while
// decoding; that is the work of package correlate.
package tracer
