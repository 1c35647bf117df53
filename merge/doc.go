// Package merge makes one trace of several: of processes, of ranks, recorded or read.
//
// The rows of each part are kept apart, its devices' and its overhead's included: what
// shows as a process in the result is one host process, one device of one process, or
// the overhead of one. Ids of parts that would meet - correlation ids, and with them
// the arrows, ids of other arrows, of asynchronous events - are renumbered; where they
// do not meet they stay. Times are absolute in a timeline, so that bases are added
// back by reading; Part.Clock moves a part's times beyond that.
//
// Of traces that were read the result keeps everything as it stood: arguments byte for
// byte but for the correlation ids in them, further members of events, names and sort
// indices of rows and processes, labels with the part's own before them. A pid keeps
// its number where no other part has it; a text such as "Spans" gets the part's label
// behind it. Members of the document that all parts have in the same words stay;
// the others stand in the record of the merge, the member KeyMerge, together with what
// was renumbered by how much. Infos reads that record, and Extract takes a part out
// again by it: the same document as before, byte for byte.
//
// Life cycle: Traces takes traces and leaves them alone; the result shares nothing
// with them. A merged trace can be a part; its parts stay parts.
//
// Traps:
//   - A device's ordinal is a process's own (CUDA_VISIBLE_DEVICES), so device 0 of
//     two ranks may be two devices. The events keep the ordinal; the rows tell.
//   - External ids and "Ev Idx" are not renumbered: they mean something to the
//     framework. They are unique within one process only.
//   - The completeness record of a merge (flagosTrace) is there if that of a part is.
//     Without one, a document would claim to be of this tool.
//   - Clocks are estimated elsewhere (package ranks); here they are applied.
package merge
