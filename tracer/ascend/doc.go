// Package ascend decodes the activity records of MSPTI, the profiling library of
// Huawei's Ascend devices (libmspti.so).
//
// The half that runs in the traced process is package tracer/ascend/bind; this one
// is pure. Records are packed, so that 64-bit fields stand on 4-byte boundaries: they
// are read by offset from the table in layout.go. The library tells no version, so
// whether the table holds is judged from the records themselves (judge.go).
//
// Life cycle: NewDecoder for one process, then as package tracer says.
//
// Traps:
//   - Nothing tells grid, block, registers, shared memory, context, queue times or
//     return values: events do not have them.
//   - Times of copies and fills are those of the host's call. They are marked
//     (event.HostSpan), and say nothing of the device.
//   - An API record carries the id that its thread took last, so a call that started
//     nothing repeats an earlier one's. Such ids are taken off (calls.go). What is left
//     of several rows with one id is nested, and the one that starts work is told by
//     its name.
//   - Kernels of a replayed graph repeat the id of the launch that was captured.
//   - External ids stand on stacks of the process, not of the thread: where threads
//     push at the same time they mix.
//   - Device times are converted with an anchor that is set anew every few seconds, so
//     kernels of one stream may overlap by microseconds.
//   - Kernels and collectives have the machine's numbers of devices, and
//     ASCEND_RT_VISIBLE_DEVICES gives those that the program uses. Copies and fills have
//     the program's.
package ascend
