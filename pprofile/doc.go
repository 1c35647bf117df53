// Package pprofile makes a pprof profile of traces: who spent the device's time,
// by call path.
//
// A sample is a kernel, copy or fill below the API call that started it, the
// operators around that call, and the modules and Python functions around those;
// or a span of a host thread with the time in which nothing inside it was running.
// Equal ones are added up. Values of a sample (see Values): device time and count,
// host time, launch delay, bytes, idle time of the device before. Labels: device, stream, rank, step, shape,
// module, thread, unlinked.
//
// Life cycle: New; Add a trace, and others, one after the other: nothing is kept of
// them but their call paths; then Profile, or WriteFolded.
//
// # How names become functions
//
//   - What a terminal would obey (escape sequences, marks of direction) is written as
//     Go's escapes: pprof prints names as they are.
//   - Below 512 frames everything is one, "(deeper)".
//   - A Python function is "dir/file.py:function", with its file and line, and
//     without the address that Python prints of an object, which no two runs share.
//   - A step is "ProfilerStep" whatever its number, which is a label.
//   - A kernel has its demangled name. The symbol is the function's system name
//     where the trace has it; else that is empty, which keeps pprof from cutting
//     template arguments, so that different kernels stay different.
//
// Mappings stand for where a function lives: the program, the operators, the vendor's
// API, the devices. Their names are the same in all profiles, so that profiles can be
// compared.
//
// # Traps
//
//   - Device time and host time are different axes of one stack: choose one with
//     pprof's -sample_index. The default is device time, or host time where there is
//     no device work.
//   - Work that runs at the same time counts in full, so that device time may be more
//     than the time that passed.
//   - The launch delay belongs to the first work of a call, the device's idle time to
//     the work that ended it (package measure).
//   - Work of a backward operator stands on the thread of autograd, which no Python
//     function called. The label module says whose it is.
package pprofile
