// Package roctracer decodes the activity records of roctracer, as the DTK of Hygon's
// DCU ships it. It is pure; the half that runs in the traced process is package
// tracer/roctracer/bind.
//
// Records of the device tell times, a name and a size, and nothing of how a kernel was
// launched. That stands in the arguments of the call, which the library shows to a
// function of ours as the call begins; the agent writes them as records beside the
// library's, of the same 64 bytes (see layout.go), and they are joined here by
// correlation id: a launch is told before its kernel can begin, and both pass through
// one queue.
//
// Life cycle: as package tracer says.
//
// Traps:
//   - What a record of the device is stands in its kind in ROCm and, for some of them,
//     in its op in DTK.
//   - Registers are not told by anyone and are absent; so is shared memory where the
//     arguments of a call cannot be read for certain.
//   - Ids of operations change with every release: names come from the library.
package roctracer
