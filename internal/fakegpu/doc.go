// Package fakegpu builds look-alikes of a GPU vendor's libraries, so that the
// real recorder can be run from end to end on a machine without a GPU: the
// driver (libcuda.so.1), the runtime (libcudart.so.13) and the activity library
// (libcupti.so.13, libcupti.so.12), with a workload to run on them. They are
// written in C and compiled with the machine's C compiler when a test or the
// demo asks for them; nothing of them is part of the released program.
//
// # What is real and what is not
//
// Real: the names and signatures of the functions, the sequence of events a
// recorder lives through (cuInit loading it before any context exists, buffers
// asked for in the middle of an API call on the program's thread and completed
// on a worker thread or inside a flush), the record layouts and sizes of each
// library version, the order of records within a call (external ids, device
// work, the call itself), correlation ids, per-thread buffers, clocks. Not real:
// no kernel computes anything, no copy moves bytes, and how long they take comes
// from a formula. A number measured here says nothing about a GPU.
//
// # Use
//
//	p := fakegpu.Get(t)                                 // builds once, skips without gcc
//	cmd := exec.Command(p.Workload, "--kernels", "90")
//	cmd.Env = append(os.Environ(), p.Env(fakegpu.CUPTI13)...)
//	cmd.Env = append(cmd.Env, "CUDA_INJECTION64_PATH="+agent, "FAKECUPTI_DROP_EVERY=10")
//
// Switches are environment variables, FAKEGPU_* for the device and FAKECUPTI_*
// for the activity library; README.md lists them all.
//
// # Life cycle
//
// Build compiles into a directory named by the hash of the sources and of the
// compiler's version, under a lock, in a temporary folder that is renamed when
// it is complete: test binaries of several packages may ask at the same time,
// and a changed source never meets an old library. Old directories are not
// removed.
//
// # Traps
//
//   - The libraries must not be mixed with the vendor's own: Env puts them first
//     in LD_LIBRARY_PATH, but a program with an RPATH of its own finds others.
//   - A flush in a forked child hangs by default, as the real library's does.
//   - A switch that cannot be parsed ends the program with SIGABRT and a line on
//     stderr: a test must not pass because its switch was misspelt. Unknown names
//     of switches are not noticed, however.
//   - Record sizes are those of FAKECUPTI_VERSION: recordings play only under the
//     version that they were made with.
package fakegpu
