// Package agent is what lives inside the traced process: it chooses a tracer,
// arms it, keeps its buffers flowing into a spool, and survives the ways a
// process can end.
//
// Life cycle: New, once; then Inject, when the vendor's driver loads the library
// (or Start, when the program asks). From then on three threads run: the flusher
// asks the vendor library for finished buffers twenty times a second and owns every
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
//   - The Go runtime ends a process in which it cannot make a thread or have memory,
//     or, for files of package os and for timers, a descriptor. So it is started by a
//     library in C, which puts aside the threads it will need and some memory, and
//     does not start it where the process cannot have them, or would be left too
//     little for the program itself (cmd/libflagos-trace/stub). Descriptors are tried before anything
//     else, and neither os files nor timers are used; see reserve and package guest.
//   - What that does not cover: the runtime still ends the process if it needs more
//     than the 32 MiB put aside after the program has used up its limit of memory,
//     and if a filter of system calls (seccomp) that the program sets forbids what
//     the runtime lives on (futex, madvise, rt_sigprocmask, sigaltstack). A control
//     group's limit of memory ends any program that goes beyond, with the agent's
//     few MiB or without.
//   - GOGC, GOMEMLIMIT and GOMAXPROCS of the program's environment are not heeded.
//     GODEBUG and GOTRACEBACK are, by the runtime itself, before any code here runs:
//     it reads the environment the process was started with, which cannot be hidden
//     from it and left to the program's other threads at the same time.
//   - The socket is beside the spool, for the same user alone, and never made over
//     a name that is there. A folder that others can write to gets none.
//   - A profiler of the program's own may have a session, see Sessions: then the
//     library's clock is the session's, nothing is flushed by force, and disarming
//     leaves on what it needs.
//   - In a forked child none of this runs; the C side sees to it.
//   - What is written is on disk at once, so after SIGKILL a tenth to a fifth of a
//     second is missing, and the End frame.
package agent
