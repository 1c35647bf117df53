// Package bind is the half of the CUPTI tracer that runs inside the traced
// process: it finds and binds libcupti, arms it, flushes it, and looks at each
// completed buffer for what only the process knows.
//
// Life cycle: Open finds a library and resolves its functions; Arm registers the
// shim's buffer functions and enables the kinds; then Flush and Inspect as
// buffers come; Disarm at a stop. Nothing is unloaded or finalized, ever:
// finalizing would end other clients' sessions too, and buffers in flight must
// stay mapped.
//
// Traps:
//   - Only the activity API is used. A subscriber (cuptiSubscribe) exists once a
//     process, and taking it would break the program's own profilers.
//   - Open and Arm run inside cuInit, on the thread that called it. Neither calls
//     a function of the driver or the runtime there; versions and devices are
//     read later, by Devices.
//   - The callbacks and the clock are global to the process and the last caller
//     owns them. Arm may therefore be called again, and puts the clock back if
//     someone has replaced it.
//   - Kernel names are pointers into the library's memory and may be stale; they
//     are read in a way that survives any pointer (dl.Peeker).
package bind
