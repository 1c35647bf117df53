// Package bind is the half of the Ascend tracer that runs inside the traced process: it
// finds and binds libmspti, arms it, flushes it, and looks at each completed buffer for
// what only the process knows.
//
// Life cycle: Open finds a library and resolves its functions; Arm subscribes, registers
// the shim's buffer functions and enables the kinds; then Flush and Inspect as buffers
// come; Disarm, or the forced Flush at the end, drains and unsubscribes. Nothing is
// unloaded.
//
// Traps:
//   - Nothing is recorded before a subscription, and there is one a process. No callback
//     is given with it: of what the library passes to callbacks most is uninitialised.
//   - Buffers are requested under the library's lock, and completed on any thread with
//     three arguments. Neither may call the library.
//   - A flush hands over what is in buffers, and not what is still on its way from the
//     device. Disabling a kind waits for that; what comes later is thrown away. So the
//     end is: flush until nothing comes, disable, flush, unsubscribe, flush.
//   - The library records copies, fills and the older kind of collectives by standing in
//     for the runtime's functions, which takes place only where it was preloaded. The
//     variable LD_PRELOAD proves nothing: where aclrtMemcpy leads is looked up
//     (preload.go).
//   - Its iterator keeps its position for the thread and forgets it only at the end of a
//     buffer. It is used to confirm the sizes of records, once a kind, to the end of the
//     buffer, and never again after it failed.
//   - It tells no version, no time and no count of lost records.
package bind
