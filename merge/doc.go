// Package merge makes one trace of several processes' traces.
//
// The rows of each process are kept apart, its devices' and its overhead's
// included: what shows as a process in the result is one host process, one
// device of one process, or the overhead of one. Correlation ids, and with them
// the arrows, are renumbered so that those of two processes never meet. Times
// are absolute in a timeline, so traces of one host need no shifting.
//
// Life cycle: Traces takes traces and leaves them alone; the result shares
// nothing with them.
//
// Traps:
//   - A device's ordinal is a process's own (CUDA_VISIBLE_DEVICES), so device 0 of
//     two ranks may be two devices. The events keep the ordinal; the rows tell.
//   - External ids are not renumbered: they mean something to the framework. They
//     are unique within one process only.
//   - Clocks of different hosts are not tied together here.
package merge
