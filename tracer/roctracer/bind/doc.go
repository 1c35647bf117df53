// Package bind is the half of the roctracer tracer that runs inside the traced process:
// it finds libroctracer64, opens a pool for records of the device, has calls shown to the
// agent's C part, and names operations.
//
// Life cycle: Open; Arm and Disarm, any number of times; Flush and Inspect between them.
// The pool is closed by nobody: its memory may be in use.
//
// Traps:
//   - The order of calls is the library's: properties, callback, pool, activity, start;
//     and stop before the last flush.
//   - The library does not wait for the device: records of work that still runs come
//     with a later flush, or not at all. The flush at the end asks until nothing comes.
//   - A record of a call is made by the agent and has the library's time, so that calls
//     and work are on one clock.
package bind
