// Package host reads what the host side of a recording leaves: the operators,
// annotations and Python calls of the framework, their threads, and the window
// that was recorded.
//
// Life cycle: [ReadKineto] or [ReadKinetoFile] once for each document; then the
// [Host] is only read. Package correlate joins it with what the device did.
//
// Traps:
//   - The document is Kineto's; what its device side says (kernels, API calls,
//     annotations on the device, arrows to them) is left out, for the device
//     tracer knows it better, and counted in Host.Skipped.
//   - External ids may be any int64, 0 included: HasExternal says whether there
//     is one. It does not stand in Op.Args as well.
//   - A document that ends early is returned as far as it goes, with an error
//     that wraps chrome.ErrTruncated. If it ended before it gave its base time,
//     Host.HasBase is false and no time is meaningful.
package host
