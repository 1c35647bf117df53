// Package calltree says who called whom in a trace, and whose the device's work
// is: for every host thread a forest of its spans (operators, annotations, Python
// functions, API calls), and for every kernel, copy and fill the API call that
// started it and the operator that it belongs to.
//
// It takes any timeline, recorded or read, of any producer.
//
// Life cycle: New(trace) does everything in a few linear passes; the Tree is then
// only read, by any number of goroutines.
//
//	tree := calltree.New(trace)
//	for n := range tree.Nodes() {           // threads one by one, parents first
//		tree.Name(n), tree.Parent(n), tree.SelfTime(n), tree.SelfDevice(n)
//	}
//	for w := range tree.Works() {           // device work, in the order of events
//		tree.WorkEvent(w)                   // index in Trace.Events
//		tree.Call(w), tree.Operator(w)      // None where there is none
//		tree.Why(w)                         // a timeline.Unlinked constant, "" if linked
//		tree.Enclosing(tree.Context(w), calltree.Module)
//	}
//
// Nodes are numbers: the descendants of n are n+1 up to End(n), which is not one of
// them. Everything about a node stands in columns, and a node costs some 40 bytes.
//
// Paths (NewPaths) names the place of a node by what stands above it. One Paths may
// take the nodes of several trees: equal places then have equal numbers.
//
// # Rules
//
// A span is inside the innermost one that is open, on its thread, at its middle:
// so rounding and clocks that are a little apart do not tear what belongs together.
// Of spans with one beginning the longer is outside; of operators of one length, too,
// that of the lower External id, for ids are given when operators begin; and where
// even that does not tell, the one that stands first in the document.
//
// Work belongs to the operator that its External id names (Kineto's rule, and what
// torch's key_averages adds up); where it names none that is there, to the
// innermost operator around its API call. Of several calls with one correlation id
// the outer one counts where they nest, else the latest before the work; of several
// operators with one External id, the one around the call, or the nearest.
// Versions of Kineto until 2024 gave an External id equal to the correlation id to
// what had none: it is believed only where the operator is around the call.
//
// # Traps
//
//   - Work without an operator may well have a call, and with it a thread, a step
//     and a module: ask Context, not Operator.
//   - SelfDevice of an annotation is 0, but in traces whose External ids name
//     annotations. The time under it is Device, which sums over its descendants:
//     work that a thread started for another (autograd) is not among them.
//     Forward leads from a backward operator to its forward one.
//   - SelfTime counts a moment once where children overlap.
//   - torch of some versions puts the Python functions of its only Python thread on
//     a row of their own, pid 0 and tid 0: they are joined with the thread whose
//     spans lie in them.
package calltree
