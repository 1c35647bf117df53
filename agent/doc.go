// Package agent is what lives inside the traced process: it chooses a tracer,
// arms it, keeps its buffers flowing into a spool, and survives the ways a
// process can end.
//
// Life cycle: New, once; then Inject, when the vendor's driver loads the library
// (or Start, when the program asks). From then on three threads run: the flusher
// asks the vendor library for finished buffers ten times a second and owns every
// call of the binding; the writer puts buffers, and what it finds in them, into
// the spool; the controller serves the socket beside it. While nothing is armed,
// paused or stopped, the first two sleep. At exit a C handler asks for the last, forced flush and waits for
// it, bounded.
//
// Everything the vendor library calls is C, in cmd/libflagos-trace; Shim is how
// this package sees it.
//
// Traps:
//   - The agent is a guest: it prints nothing, changes no exit code, takes no
//     signal, holds no lock across a vendor call, and whatever fails leaves the
//     program as it was.
//   - Inject runs inside cuInit. The devices are asked only after the first
//     buffer was requested, when the driver is up.
//   - The Go runtime ends a process in which it cannot make a thread or, for
//     files of package os and for timers, a descriptor. So threads are made and
//     descriptors tried before anything else, and neither os files nor timers are
//     used; see reserve and package guest.
//   - GOGC and GOMEMLIMIT of the program's environment are not heeded. GODEBUG is,
//     by the runtime itself, before any code here runs.
//   - The socket is beside the spool, for the same user alone, and never made over
//     a name that is there. A folder that others can write to gets none.
//   - In a forked child none of this runs; the C side sees to it.
//   - What is written is on disk at once, so after SIGKILL about a tenth of a
//     second is missing, and the End frame.
package agent
