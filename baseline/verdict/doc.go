// Package verdict is what a comparison of traces comes to: assertions with their
// outcome, findings with what was expected and what was got, and one verdict with
// an exit status. It knows nothing of traces, so that comparisons of structure and
// of performance, and gates over several of them, share it and its printing.
//
// Life cycle: a comparison fills a [Result] with Add and Assert, calls
// [Result.Judge] once, and prints it with WriteText, WriteMarkdown or WriteJSON.
// The form of the JSON is [Schema].
//
// Traps:
//   - Only [Holds] is a pass. What was not recorded, what the vendor's library
//     cannot deliver, and what the base says nothing about are outcomes of their own.
//   - A finding's Subject, together with its Assertion, is its identity over time:
//     no counts and no event numbers belong into it.
//   - Notes are told and decide nothing.
package verdict
